/// A walk along the line that refills windows.
struct Sweep: Sendable {
  var number: Int
  /// The order of the lanes that it is for; it goes along the line in that order.
  var order: LaneOrder
  /// The rank at which it began: a lane that has not seen everything up to here must not take
  /// anything.
  var start: Rank
  /// The rank up to which it has come.
  var scannedThrough: Rank
  /// Lanes that it has filled, and that stood still for want of envelopes.
  var fed: [LaneNumber] = []
  /// Envelopes that ended behind a window since the present page was asked for, and may still be on
  /// it.
  var ended: Set<Serial> = []
}

/// Lanes that wait for a walk along the line, by the direction of that walk.
struct StarvingLanes: Sendable {
  private var strict: Set<LaneNumber> = []
  private var latest: Set<LaneNumber> = []

  subscript(order: LaneOrder) -> Set<LaneNumber> {
    get { order == .strict ? strict : latest }
    _modify {
      switch order {
      case .strict: yield &strict
      case .latest: yield &latest
      }
    }
  }
}

// One walk serves all lanes of an order: the line is in order of acceptance and has no index by
// lane, which makes accepting cheap. A walk begins at the first place that a starved lane has not
// seen. It goes forwards for strict lanes, and backwards for those that take the newest first. Only
// one walk runs at a time; where both directions are wanted, they take turns.
extension Scheduler {
  mutating func beginSweepIfNeeded() {
    guard sweep == nil, !isSweepPutOff, !isStopped else { return }
    let preferred: LaneOrder = lastSweepOrder == .strict ? .latest : .strict
    let order = starving[preferred].isEmpty ? lastSweepOrder : preferred
    guard let start = starving[order].compactMap({ lanes[$0]?.seenThrough }).min() else { return }
    sweepCount += 1
    lastSweepOrder = order
    sweep = Sweep(number: sweepCount, order: order, start: start, scannedThrough: start)
    readLine(behind: start, in: order)
  }

  private mutating func readLine(behind rank: Rank, in order: LaneOrder) {
    switch order {
    case .strict: actions.append(.readLine(after: rank))
    case .latest: actions.append(.readLineBackwards(before: -rank))
    }
  }

  /// Takes in a page of the line that was read since ``Action/readLine(after:)`` asked for it.
  package mutating func refill(_ page: LinePage, now: Now) {
    guard var sweep else { return }
    for entry in page.entries { take(entry, in: &sweep) }
    let fed = sweep.fed
    sweep.fed = []
    sweep.ended = []
    sweep.scannedThrough = sweep.order.rank(of: page.scannedThrough)
    self.sweep = sweep
    for number in fed {
      starving[sweep.order].remove(number)
      settleHead(of: number, now: now)
    }
    let isWorthGoingOn = hasRoom || !starving[sweep.order].isEmpty
    if page.hasMore && isWorthGoingOn && !isStopped {
      readLine(behind: sweep.scannedThrough, in: sweep.order)
      return
    }
    self.sweep = nil
    if !page.hasMore { forgetEmptyLanes(after: sweep) }
    beginSweepIfNeeded()
  }

  /// Notes that the line could not be read; it is asked for again when ``retrySweep()`` is called.
  ///
  /// It is not asked for before that: otherwise each lane that runs empty meanwhile would have it
  /// read again.
  package mutating func refillFailed() {
    sweep = nil
    isSweepPutOff = true
  }

  /// Asks for the line again after a failure.
  package mutating func retrySweep() {
    isSweepPutOff = false
    beginSweepIfNeeded()
  }

  private mutating func take(_ entry: LineEntry, in sweep: inout Sweep) {
    // A parked envelope was counted, and moves to the end of the line before its turn comes.
    guard entry.standing != .parked, !sweep.ended.contains(entry.serial) else { return }
    let hasRoom = hasRoom
    let isTaken = lanes[entry.lane]?.take(
      entry, in: sweep, hasRoom: hasRoom, windowMin: limits.laneWindowMin)
    guard isTaken == true else { return }
    windowEntries += 1
    if lanes[entry.lane]?.window.count == 1, lanes[entry.lane]?.phase == .starved {
      sweep.fed.append(entry.lane)
    }
  }

  /// Rests lanes whose envelopes the walk has not found: it has read the whole line, so they have
  /// ended.
  private mutating func forgetEmptyLanes(after sweep: Sweep) {
    for number in starving[sweep.order].sorted() {
      guard lanes[number]?.isGone(after: sweep) == true else { continue }
      countOut(lanes[number]?.standingCount ?? 0, of: number, for: nil)
      restEmpty(number)
    }
  }
}
