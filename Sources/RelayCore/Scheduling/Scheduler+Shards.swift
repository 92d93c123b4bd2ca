// Taking shards over from other relays while others go on, and letting go of them. A relay that has
// a store for itself holds every shard from its start: then ``Scheduler/held`` is nil, and all this
// costs a look at that.
extension Scheduler {
  /// Begins with no shard, so with nothing to decide; see ``take(_:)``.
  package init(
    shardsOf upstreams: [UpstreamNumber: UpstreamPolicy], limits: Limits = Limits(), seed: UInt64,
    now: Now
  ) {
    self.init(upstreams: upstreams, limits: limits, epoch: 0, seed: seed, now: now)
    held = HeldShards()
  }

  // MARK: - Taking

  /// Takes over a shard, whose waiting envelopes are then handed over by
  /// ``restore(_:latest:)`` and ``restore(_:heads:latest:)``, they alone, and set off by
  /// ``taken(_:now:wasClockSetBack:)``.
  ///
  /// Until then nothing of it may be accepted or changed.
  ///
  /// - Precondition: This scheduler began without shards, and does not hold this one.
  package mutating func take(_ lease: ShardLease) {
    precondition(held?.holds(lease.shard) == false, "a shard is taken once")
    held?.take(lease)
  }

  /// Notes the shard of a client, before anything of the client is handed over.
  ///
  /// What is accepted of other clients is left to those who hold their shards.
  package mutating func note(_ client: ClientNumber, in shard: Int) {
    held?.note(client, in: shard)
  }

  /// Starts the lanes of a shard, after all that waits in it was handed over.
  package mutating func taken(_ shard: Int, now: Now, wasClockSetBack: Bool = false) {
    // A page that was read before may show what has ended elsewhere since.
    for number in lanes(of: shard) { leaveToNextSweep(number) }
    let held = held
    startLanes(now: now, wasClockSetBack: wasClockSetBack) { held?.shard(of: $0) == shard }
  }

  // MARK: - Releasing

  /// Lets go of a shard, and of everything in memory that belongs to it.
  ///
  /// None of its envelopes is attempted from now on. Attempts that are being sent keep their slots
  /// until they end, tell what they show of their upstream, and are not recorded. What was asked
  /// to be made durable before is answered in vain.
  ///
  /// - Precondition: The actions so far were taken by ``takeActions()``.
  package mutating func release(_ shard: Int, now: Now) {
    guard held?.holds(shard) == true else { return }
    let gone = lanes(of: shard)
    for (serial, client) in changing where held?.shard(of: client) == shard {
      changing[serial] = nil
      changingParked.remove(serial)
      latestRequeues.remove(serial)
    }
    releaseFlights(of: Set(gone), now: now)
    for number in gone { forget(number) }
    for (upstream, count) in held?.release(shard) ?? [:] {
      waitingFor[upstream, default: 0] -= count
    }
    for upstream in upstreams.keys.sorted() { fillSlots(of: upstream, now: now) }
    beginSweepIfNeeded()
  }

  private func lanes(of shard: Int) -> [LaneNumber] {
    lanes.compactMap { number, lane in
      held?.shard(of: lane.client) == shard ? number : nil
    }
  }

  /// What was only announced is given up; what is being sent is waited for.
  private mutating func releaseFlights(of gone: Set<LaneNumber>, now: Now) {
    for (serial, flight) in inFlight.sorted(by: { $0.key < $1.key })
    where gone.contains(flight.lane) {
      if flight.stage == .announced {
        _ = endFlight(serial, now: now)
        giveUpProbe(serial, of: flight.upstream, now: now)
      } else {
        releasedFlights[flight.lane, default: []].insert(serial)
      }
    }
  }

  private mutating func forget(_ number: LaneNumber) {
    guard let lane = lanes[number] else { return }
    noteHeadChange(of: number)
    windowEntries -= lane.window.count
    waitingTotal -= lane.waiting
    clientsWaiting[lane.client] = nil
    starving[lane.order].remove(number)
    blocked.remove(number)
    heldBack[number] = nil
    for upstream in upstreams.keys { upstreams[upstream]?.connectionBackoff.remove(number) }
    lanes[number] = nil
    parkedTimes[number] = nil
  }

  // MARK: - What comes late

  /// Whether this scheduler decides for a client.
  func decides(for client: ClientNumber) -> Bool {
    guard let held else { return true }
    return held.shard(of: client) != nil
  }

  /// The epoch under which a client's changes are written.
  func epoch(of client: ClientNumber) -> Int64 {
    guard let held else { return epoch }
    return held.epoch(of: client) ?? 0
  }

  /// Whether a change was asked for under the epoch that its shard has now.
  func isCurrent(_ transition: Transition) -> Bool {
    guard let held else { return true }
    var client = lanes[transition.lane]?.client ?? changing[transition.serial]
    if case .requeue(let entry) = transition.change { client = entry.client }
    return client.flatMap { held.epoch(of: $0) } == transition.epoch
  }

  /// Counts envelopes of a client that begin to wait for an upstream, or cease to.
  mutating func countWaiting(
    _ count: Int, for upstream: UpstreamNumber, of client: ClientNumber
  ) {
    waitingFor[upstream, default: 0] += count
    held?.count(count, for: upstream, of: client)
  }

  /// Acts on the end of an attempt of a lane that was let go: it is not recorded, and the lane, if
  /// it was taken again, goes on.
  ///
  /// - Returns: false if the lane is the one that the attempt began in.
  mutating func wasLetGo(_ serial: Serial, _ flight: Flight, now: Now) -> Bool {
    guard !releasedFlights.isEmpty, releasedFlights[flight.lane]?.remove(serial) != nil else {
      return false
    }
    guard releasedFlights[flight.lane]?.isEmpty == true else { return true }
    releasedFlights[flight.lane] = nil
    if lanes[flight.lane]?.phase == .inFlight { settleHead(of: flight.lane, now: now) }
    return true
  }

  /// Lets a lane stand until an attempt has ended that was under way when it was let go.
  ///
  /// - Returns: Whether it does.
  mutating func standsForLetGo(_ number: LaneNumber) -> Bool {
    guard !releasedFlights.isEmpty, releasedFlights[number] != nil else { return false }
    setPhase(of: number, .inFlight)
    return true
  }
}
