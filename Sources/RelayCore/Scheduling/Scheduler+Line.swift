// Adding envelopes to lanes, and moving a lane on from one to the next.

extension Scheduler {
  /// Adds an accepted, durable envelope.
  ///
  /// - Parameter order: Its lane's order.
  /// - Returns: Its position: the number of envelopes in its lane up to it, itself included. A
  ///   parked one has none: 0.
  package mutating func accepted(
    _ entry: LineEntry, order: LaneOrder = .strict, now: Now
  ) -> Int {
    guard decides(for: entry.client) else { return 0 }
    guard entry.standing != .parked else {
      admitParked(entry, order: order)
      return 0
    }
    guard order == .strict else { return acceptedNewest(entry, now: now) }
    let position = admit(entry, order: order)
    if lanes[entry.lane]?.isEmptyHanded == true, lanes[entry.lane]?.head != nil {
      settleHead(of: entry.lane, now: now, isNews: true)
    }
    return position
  }

  /// Counts an envelope, and puts it into its lane's window if that is complete and has room.
  mutating func admit(_ entry: LineEntry, order: LaneOrder) -> Int {
    if lanes[entry.lane] == nil {
      lanes[entry.lane] = Lane(
        client: entry.client, order: order, seenThrough: order.rank(of: entry.serial) - 1)
    }
    let hasRoom = hasRoom
    let (sweep, windowMin) = (sweep, limits.laneWindowMin)
    let fits = lanes.update(entry.lane) {
      $0.admit(entry, during: sweep, hasRoom: hasRoom, windowMin: windowMin)
    }
    if fits == true { windowEntries += 1 }
    clientsWaiting[entry.client, default: 0] += 1
    countWaiting(1, for: entry.upstream, of: entry.client)
    waitingTotal += 1
    return lanes[entry.lane]?.standingCount ?? 0
  }

  var hasRoom: Bool { windowEntries < limits.windowEntriesMax }

  /// Settles a lane's phase by its head, and starts what follows from it.
  ///
  /// - Parameter isNews: Whether the head was accepted just now, which is a reason to try an
  ///   unreachable upstream sooner.
  /// - Parameter hasTurn: Whether the head already had a slot.
  mutating func settleHead(
    of number: LaneNumber, now: Now, isNews: Bool = false, hasTurn: Bool = false
  ) {
    noteHeadChange(of: number)
    putHeadInOrder(of: number)
    guard let head = lanes[number]?.head, let client = lanes[number]?.client else {
      starve(number)
      return
    }
    guard !standsForLetGo(number) else { return }
    guard !batches.isUnderWay(head.serial) else {
      // Those before it in its batch have left the lane.
      setPhase(of: number, .inFlight)
      return
    }
    guard changing[head.serial] == nil else {
      // A change of it was on its way to the disk before it became the head.
      setPhase(of: number, .recording)
      return
    }
    guard !isReserved(head) else { return standStill(number, hasTurn: hasTurn) }
    guard lanes[number]?.unwritable != head.serial else {
      setPhase(of: number, .unwritable)
      blocked.insert(number)
      return
    }
    switch head.standing {
    case .parked: preconditionFailure("a parked envelope stands in no window")
    case .held: setPhase(of: number, .held)
    case .blocked:
      setPhase(of: number, .blocked)
      blocked.insert(number)
    case .queued:
      if blockIfInDoubt(head, now: now) { return }
      limitWait(of: number, now: now)
      if let dueAt = lanes[number]?.dueAt, dueAt > now.wall {
        wait(number, until: dueAt, now: now)
      } else if !isConfigured(head.upstream) {
        setPhase(of: number, .unconfigured)
      } else if isPaused(lane: number, of: client) {
        setPhase(of: number, .paused)
      } else {
        setPhase(of: number, .ready)
        queue(
          number, of: client, for: head.upstream, now: now, isNews: isNews, hasTurn: hasTurn)
      }
    }
  }

  /// Says where a lane stands.
  mutating func setPhase(of number: LaneNumber, _ phase: Lane.Phase) {
    lanes.update(number) { $0.phase = phase }
  }

  private mutating func wait(_ number: LaneNumber, until time: WallTime, now: Now) {
    let dueAt = now.monotonic(at: time)
    setPhase(of: number, .waiting(until: dueAt))
    startTimer(of: number, until: dueAt, now: now)
  }

  private mutating func queue(
    _ number: LaneNumber, of client: ClientNumber, for upstream: UpstreamNumber, now: Now,
    isNews: Bool, hasTurn: Bool
  ) {
    let isHastened =
      isNews && upstreams[upstream]?.reachability.hasten(now: now.monotonic) == true
    if isHastened || hasTurn {
      upstreams.update(upstream) { $0.ready.prepend(number, of: client) }
    } else {
      upstreams.update(upstream) { $0.ready.append(number, of: client) }
    }
    fillSlots(of: upstream, now: now)
  }

  /// Moves a lane on to its next envelope, since the head has left.
  ///
  /// - Parameter isAnswered: Whether the upstream has taken or refused the head, so that its
  ///   backoff ends.
  mutating func advance(_ number: LaneNumber, isAnswered: Bool, now: Now) {
    guard let head = lanes.update(number, { $0.window.popFirst() }) ?? nil else { return }
    windowEntries -= 1
    batches.forget(head.serial)
    // The window may have been cut short in front of it. Then a page that is on its way shows it as
    // one that the lane has not seen.
    if lanes[number]?.hasSeen(head.serial) == false { sweep?.ended.insert(head.serial) }
    if isAnswered || lanes[number]?.order == .strict {
      upstreams.update(head.upstream) { _ = $0.connectionBackoff.remove(number) }
      lanes.update(number) { $0.forgetFailures(at: head.upstream) }
    }
    settleHead(of: number, now: now)
  }

  /// Counts envelopes of a lane that no longer wait.
  mutating func countOut(_ count: Int = 1, of number: LaneNumber, for upstream: UpstreamNumber?) {
    lanes.update(number) { $0.waiting -= count }
    waitingTotal -= count
    guard let client = lanes[number]?.client else { return }
    if let upstream { countWaiting(-count, for: upstream, of: client) }
    guard let left = clientsWaiting[client] else { return }
    clientsWaiting[client] = left > count ? left - count : nil
  }

  /// Has a lane with an empty window filled again, or rests it if nothing waits behind the window.
  private mutating func starve(_ number: LaneNumber) {
    guard let isWhole = lanes[number]?.isWhole, let order = lanes[number]?.order else { return }
    guard !isWhole else { return restEmpty(number) }
    setPhase(of: number, .starved)
    starving[order].insert(number)
    beginSweepIfNeeded()
  }
}
