// Lanes of the order `latest`: the newest goes first, so that live data need not queue behind a
// backlog.
//
// Such a lane is a strict one seen in a mirror: its window holds the newest envelopes, walks along
// the line go backwards, and what has just been accepted goes before everything else. It never goes
// before a head that is under way, since a lane has one attempt at a time, nor before one that
// blocks the lane. And it takes over the backoff that the lane is in: otherwise each new envelope
// would be one more attempt at an upstream that has asked for patience.
extension Scheduler {
  /// An envelope was accepted into a lane of this order, and is durable.
  ///
  /// - Returns: Its position.
  mutating func acceptedNewest(_ entry: LineEntry, now: Now) -> Int {
    let dueBefore = lanes[entry.lane]?.dueAt
    _ = admit(entry, order: .latest)
    starving[.latest].remove(entry.lane)
    trimWindow(of: entry.lane)
    let position = lanes[entry.lane]?.place(of: entry.serial).map { $0 + 1 } ?? 2
    guard position == 1 else { return position }
    // A new timer for each one that comes during a long wait would be many.
    if case .waiting = lanes[entry.lane]?.phase, lanes[entry.lane]?.dueAt == dueBefore {
      noteTurn(of: entry.lane)
      return position
    }
    settleHead(of: entry.lane, now: now, isNews: true)
    return position
  }

  /// An envelope of such a lane was found at start.
  mutating func restoreNewest(_ entry: LineEntry) {
    _ = admit(entry, order: .latest)
    trimWindow(of: entry.lane)
    // Whoever was attempted before and waits does so for a failure: those that came since wait too.
    // One in doubt was announced, whether or not an attempt of it is on record; and what was
    // replaced since by one that is held told of the wait as well.
    guard entry.attempts > 0 || entry.isInDoubt, entry.standing != .blocked,
      let dueAt = entry.dueAt
    else { return }
    let known = lanes[entry.lane]?.backoffs[entry.upstream] ?? dueAt
    lanes[entry.lane]?.backoffs[entry.upstream] = max(known, dueAt)
  }

  /// An attempt of the head failed: whichever is the head of such a lane then waits.
  mutating func noteBackoff(of head: LineEntry, until time: WallTime) {
    guard lanes[head.lane]?.order == .latest else { return }
    lanes[head.lane]?.backoffs[head.upstream] = time
  }

  /// Holds what was found at start to the longest wait that a failure can have led to: an envelope
  /// that was put off after its first attempts does not put off those that came since.
  mutating func boundRestoredBackoffs(now: Now) {
    for number in lanes.compactMap({ $0.value.backoffs.isEmpty ? nil : $0.key }) {
      for (upstream, until) in lanes[number]?.backoffs ?? [:] {
        let longestMs = upstreams[upstream]?.policy.retry.longestDelayMs ?? 0
        lanes[number]?.backoffs[upstream] = min(until, now.wall.adding(milliseconds: longestMs))
      }
    }
  }

  /// The head is under way no longer: what came meanwhile and belongs before it goes before it,
  /// newer ones or, in a strict lane, one that was requeued.
  mutating func putHeadInOrder(of number: LaneNumber) {
    guard lanes[number]?.yieldHead() == .leftToWalk else { return }
    windowEntries -= 1
    leaveToNextSweep(number)
  }
}

extension Lane {
  /// Whether the head stays the head, whatever comes.
  var headStays: Bool { isUnderWay || (order == .latest && head?.standing == .blocked) }

  /// When the head may be attempted: by its own time, and by the backoff that it has taken over.
  var dueAt: WallTime? {
    guard let head, !backoffs.isEmpty, let backoff = backoffs[head.upstream] else {
      return head?.dueAt
    }
    return head.dueAt.map { max($0, backoff) } ?? backoff
  }

  /// Whether an envelope that waits in this lane can have this number.
  func mayHold(_ serial: Serial) -> Bool {
    order.rank(of: serial) > seenThrough || place(of: serial) != nil
  }

  /// An upstream has answered, or somebody wants it tried: it is not waited for any longer.
  mutating func forgetFailures(at upstream: UpstreamNumber) {
    failuresInARow = 0
    backoffs[upstream] = nil
  }

  /// Puts an envelope into the window, in the place that its number gives it, but not before a head
  /// that stays.
  mutating func insert(_ entry: LineEntry) {
    let rank = order.rank(of: entry.serial)
    if let head, headStays || order.rank(of: head.serial) < rank {
      window.insert(entry, at: firstPlace(notBefore: rank, from: 1))
    } else {
      window.prepend(entry)
    }
  }

  /// What became of a head by ``yieldHead()``.
  enum Yielding {
    /// It is the first by its rank, or blocks the lane.
    case stays
    /// It stands behind another one.
    case stoodBack
    /// It belongs behind the window, and has left it.
    case leftToWalk
  }

  /// Puts a head that is under way no longer in the place that its number gives it.
  mutating func yieldHead() -> Yielding {
    guard let head, head.standing != .blocked else { return .stays }
    let rank = order.rank(of: head.serial)
    guard rank <= seenThrough else {
      // Others belong before it, even if none of them is in the window any more.
      _ = window.popFirst()
      return .leftToWalk
    }
    guard window.count > 1, order.rank(of: window[1].serial) < rank else { return .stays }
    _ = window.popFirst()
    window.insert(head, at: firstPlace(notBefore: rank, from: 0))
    return .stoodBack
  }
}
