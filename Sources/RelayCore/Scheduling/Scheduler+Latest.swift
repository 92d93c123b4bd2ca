// Lanes of the order `latest`: the newest goes first, so that live data does not queue behind a
// backlog.
//
// Such a lane is a mirrored strict lane: its window holds the newest envelopes, walks along the
// line go backwards, and a newly accepted envelope goes before all others. It never goes before a
// head that is under way, since a lane has one attempt at a time, nor before one that blocks the
// lane. And a new head takes over the lane's backoff: otherwise each new envelope would be one more
// attempt at an upstream that has asked for patience.
extension Scheduler {
  /// Adds an accepted, durable envelope to a lane of this order.
  ///
  /// - Returns: Its position.
  mutating func acceptedNewest(_ entry: LineEntry, now: Now) -> Int {
    let dueBefore = lanes[entry.lane]?.dueAt
    _ = admit(entry, order: .latest)
    starving[.latest].remove(entry.lane)
    trimWindow(of: entry.lane)
    let position = lanes[entry.lane]?.place(of: entry.serial).map { $0 + 1 } ?? 2
    guard position == 1 else { return position }
    // Without this, a long wait would collect a timer for each new envelope.
    if case .waiting = lanes[entry.lane]?.phase, lanes[entry.lane]?.dueAt == dueBefore {
      noteHeadChange(of: entry.lane)
      return position
    }
    settleHead(of: entry.lane, now: now, isNews: true)
    return position
  }

  /// Adds an envelope of such a lane that was found at start.
  mutating func restoreNewest(_ entry: LineEntry) {
    _ = admit(entry, order: .latest)
    trimWindow(of: entry.lane)
    // A waiting envelope that was attempted before waits after a failure, so newer ones wait too.
    // One in doubt was announced, whether or not an attempt is on record. The wait also counts if a
    // held envelope has replaced the content since.
    guard entry.attempts > 0 || entry.isInDoubt, entry.standing != .blocked,
      let dueAt = entry.dueAt
    else { return }
    let known = lanes[entry.lane]?.backoffs[entry.upstream] ?? dueAt
    lanes[entry.lane]?.backoffs[entry.upstream] = max(known, dueAt)
  }

  /// Notes the backoff after a failed attempt of the head: in such a lane every later head waits as
  /// well.
  mutating func noteBackoff(of head: LineEntry, until time: WallTime) {
    guard lanes[head.lane]?.order == .latest else { return }
    lanes[head.lane]?.backoffs[head.upstream] = time
  }

  /// Limits backoffs found at start to the longest wait after a failure: an envelope that was
  /// postponed after its first attempts does not postpone newer ones.
  mutating func boundRestoredBackoffs(now: Now) {
    for number in lanes.compactMap({ $0.value.backoffs.isEmpty ? nil : $0.key }) {
      for (upstream, until) in lanes[number]?.backoffs ?? [:] {
        let longestMs = upstreams[upstream]?.policy.retry.longestDelayMs ?? 0
        lanes[number]?.backoffs[upstream] = min(until, now.wall.adding(milliseconds: longestMs))
      }
    }
  }

  /// Puts a head that is no longer under way in order: envelopes that came meanwhile and belong
  /// before it go before it.
  ///
  /// They are newer ones, or in a strict lane a requeued one.
  mutating func putHeadInOrder(of number: LaneNumber) {
    guard lanes.update(number, { $0.yieldHead() }) == .leftToWalk else { return }
    windowEntries -= 1
    leaveToNextSweep(number)
  }
}

extension Lane {
  /// Whether the head stays the head whatever is added.
  var headStays: Bool { isUnderWay || (order == .latest && head?.standing == .blocked) }

  /// The time at which the head may be attempted: by its own time, and by the backoff that it has
  /// taken over.
  var dueAt: WallTime? {
    guard let head, !backoffs.isEmpty, let backoff = backoffs[head.upstream] else {
      return head?.dueAt
    }
    return head.dueAt.map { max($0, backoff) } ?? backoff
  }

  /// Whether an envelope with this number may be waiting in this lane.
  func mayHold(_ serial: Serial) -> Bool {
    order.rank(of: serial) > seenThrough || place(of: serial) != nil
  }

  /// Ends the waits for an upstream, since it has answered or somebody wants it tried.
  mutating func forgetFailures(at upstream: UpstreamNumber) {
    failuresInARow = 0
    backoffs[upstream] = nil
  }

  /// Inserts an envelope into the window at the place that its number gives it, but not before a
  /// head that stays, nor before one that has stayed while others that belong before it came.
  mutating func insert(_ entry: LineEntry) {
    let rank = order.rank(of: entry.serial)
    if let head, headStays || isHeadOutOfOrder || order.rank(of: head.serial) < rank {
      window.insert(entry, at: firstPlace(notBefore: rank, from: 1))
    } else {
      window.prepend(entry)
    }
  }

  /// Whether others in the window belong before the head.
  private var isHeadOutOfOrder: Bool {
    window.count > 1 && order.rank(of: window[1].serial) < order.rank(of: window[0].serial)
  }

  /// The effect of ``yieldHead()`` on a head.
  enum Yielding {
    /// It is the first by rank, or blocks the lane.
    case stays
    /// It now stands behind another one.
    case stoodBack
    /// It belongs behind the window, and has left it.
    case leftToWalk
  }

  /// Puts a head that is no longer under way in the place that its number gives it.
  mutating func yieldHead() -> Yielding {
    guard let head, head.standing != .blocked else { return .stays }
    let rank = order.rank(of: head.serial)
    guard rank <= seenThrough else {
      // Others belong before it, even if none of them is in the window any more.
      _ = window.popFirst()
      return .leftToWalk
    }
    guard isHeadOutOfOrder else { return .stays }
    _ = window.popFirst()
    window.insert(head, at: firstPlace(notBefore: rank, from: 0))
    return .stoodBack
  }
}
