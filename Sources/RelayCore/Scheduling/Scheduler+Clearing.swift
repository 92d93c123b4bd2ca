// Cancelling what waits of a client in one commit, all of it or a part, however much it is.
// Meanwhile nothing of the client begins.
extension Scheduler {
  /// Prepares for the store to cancel what waits of a client.
  ///
  /// From now on no attempt of the client begins, until ``cleared(_:now:)`` or
  /// ``clearingFailed(of:now:)`` reports the result. An attempt whose announcement is still on its
  /// way to the disk has not begun, and does not begin before that either.
  ///
  /// - Returns: The envelopes that must be left alone.
  package mutating func reserveAll(of client: ClientNumber) -> SparedEnvelopes {
    clearing.insert(client)
    var spared = SparedEnvelopes(
      inFlight: Set(releasedFlights.values.joined()), changing: Set(changing.keys))
    for (serial, flight) in inFlight where flight.stage != .announced {
      if lanes[flight.lane]?.client == client { spared.inFlight.insert(serial) }
    }
    for (number, lane) in lanes where lane.client == client {
      guard let head = lane.head else { continue }
      switch lane.phase {
      case .inFlight where inFlight[head.serial]?.stage == .announced:
        spared.changing.insert(head.serial)
      case .recording where heldBack[number] == nil: spared.changing.insert(head.serial)
      default: break
      }
    }
    return spared
  }

  /// Removes the cancelled envelopes, once that is durable.
  package mutating func cleared(_ backlog: ClearedBacklog, now: Now) {
    clearing.remove(backlog.client)
    var touched: Set<LaneNumber> = []
    for item in backlog.items where lanes[item.lane] != nil {
      touched.insert(item.lane)
      batches.forget(item.serial)
      if let since = item.parkedSince { takeOutParked(of: item.lane, acceptedAt: since) }
      countOut(of: item.lane, for: item.upstream)
    }
    for number in touched.sorted() { remove(backlog, from: number, now: now) }
    resumeLanes(of: backlog.client, now: now)
  }

  /// Ends the preparation after the store has failed: nothing was cancelled.
  package mutating func clearingFailed(of client: ClientNumber, now: Now) {
    clearing.remove(client)
    resumeLanes(of: client, now: now)
  }

  private mutating func resumeLanes(of client: ClientNumber, now: Now) {
    if notesTurns {
      for (number, lane) in lanes where lane.client == client { noteHeadChange(of: number) }
    }
    for number in heldBack.keys.sorted() where lanes[number]?.client == client {
      resumeLane(number, now: now)
    }
  }

  private mutating func remove(
    _ backlog: ClearedBacklog, from number: LaneNumber, now: Now
  ) {
    guard let lane = lanes[number], let order = lanes[number]?.order else { return }
    var window = Deque<LineEntry>()
    for index in 0..<lane.window.count where !backlog.contains(lane.window[index].serial) {
      window.append(lane.window[index])
    }
    windowEntries -= lane.window.count - window.count
    lanes[number]?.window = window
    // A page that is being read may still show what was behind the window.
    leaveToNextSweep(number)
    guard let head = lane.head, backlog.contains(head.serial) else {
      if lane.waiting == 0 { forget(number, order) }
      return
    }
    blocked.remove(number)
    heldBack[number] = nil
    // In a lane that takes the newest first, the others keep the wait that their upstream has asked
    // for.
    if order == .strict {
      upstreams[head.upstream]?.connectionBackoff.remove(number)
      lanes[number]?.forgetFailures(at: head.upstream)
    }
    if lane.waiting == 0 {
      forget(number, order)
    } else {
      settleHead(of: number, now: now)
    }
  }

  private mutating func forget(_ number: LaneNumber, _ order: LaneOrder) {
    lanes[number] = nil
    heldBack[number] = nil
    starving[order].remove(number)
  }
}
