// Requeueing envelopes that had ended.

extension Scheduler {
  /// Adds a requeued envelope in the place that its number gives it, but not before a head that
  /// keeps its place.
  mutating func requeued(_ entry: LineEntry, order: LaneOrder, now: Now) {
    guard entry.standing != .parked else { return admitParked(entry, order: order) }
    guard lanes[entry.lane]?.place(of: entry.serial) == nil else { return }
    let isOnlyOne = lanes[entry.lane] == nil || lanes[entry.lane]?.phase == .parked
    countIn(entry, order: order)
    guard !isOnlyOne else {
      lanes[entry.lane]?.noteOnlyOne(entry.serial)
      lanes[entry.lane]?.window.append(entry)
      windowEntries += 1
      settleHead(of: entry.lane, now: now, isNews: true)
      return
    }
    guard let head = lanes[entry.lane]?.head, let seen = lanes[entry.lane]?.seenThrough,
      order.rank(of: entry.serial) < seen
    else { return leaveRequeuedToSweep(entry, order: order) }
    windowEntries += 1
    lanes[entry.lane]?.insert(entry)
    if lanes[entry.lane]?.head?.serial == entry.serial {
      blocked.remove(entry.lane)
      if order == .strict { upstreams[head.upstream]?.connectionBackoff.remove(entry.lane) }
      settleHead(of: entry.lane, now: now, isNews: true)
    }
    trimWindow(of: entry.lane)
  }

  /// Shortens a window that has grown beyond the room for it by one; that envelope is left to a
  /// walk along the line.
  mutating func trimWindow(of number: LaneNumber) {
    guard !hasRoom, let order = lanes[number]?.order, let count = lanes[number]?.window.count
    else { return }
    // Behind a head that is under way, the newest has to stay in memory.
    let countMin = max(limits.laneWindowMin, order == .latest ? 2 : 1)
    guard count > countMin, let last = lanes[number]?.window.popLast() else { return }
    windowEntries -= 1
    lanes[number]?.seenThrough = order.rank(of: last.serial) - 1
    leaveToNextSweep(number)
  }

  private mutating func countIn(_ entry: LineEntry, order: LaneOrder) {
    if lanes[entry.lane] == nil {
      lanes[entry.lane] = Lane(
        client: entry.client, order: order, seenThrough: order.rank(of: entry.serial))
    }
    lanes[entry.lane]?.waiting += 1
    clientsWaiting[entry.client, default: 0] += 1
    countWaiting(1, for: entry.upstream, of: entry.client)
    waitingTotal += 1
  }

  /// Leaves a requeued envelope to a walk along the line that begins before it, since it stands
  /// behind the window, or its lane is being filled.
  private mutating func leaveRequeuedToSweep(_ entry: LineEntry, order: LaneOrder) {
    guard let seen = lanes[entry.lane]?.seenThrough, let last = lanes[entry.lane]?.lastRank
    else { return }
    let rank = order.rank(of: entry.serial)
    lanes[entry.lane]?.seenThrough = min(seen, rank - 1)
    lanes[entry.lane]?.lastRank = max(last, rank)
    leaveToNextSweep(entry.lane)
    beginSweepIfNeeded()
  }
}
