/// A walk along the line that fills windows again.
struct Sweep: Sendable {
  var number: Int
  /// Where it began: a lane that has not seen everything up to here must not take anything.
  var start: Serial
  /// Up to where it has come.
  var scannedThrough: Serial
  /// Lanes that it fed, and that stood still for want of envelopes.
  var fed: [LaneNumber] = []
  /// What ended behind a window since the present page was asked for, and may yet be on it.
  var ended: Set<Serial> = []
}

// One walk serves all lanes: the line is in order of acceptance, with no index by lane, which is
// what makes accepting cheap. A walk begins at the first place that a starved lane has not seen.
extension Scheduler {
  mutating func beginSweepIfNeeded() {
    guard sweep == nil, !isStopped,
      let start = starving.compactMap({ lanes[$0]?.seenThrough }).min()
    else { return }
    sweepCount += 1
    sweep = Sweep(number: sweepCount, start: start, scannedThrough: start)
    actions.append(.readLine(after: start))
  }

  /// A page of the line, read since ``Action/readLine(after:)`` asked for it.
  package mutating func refill(_ page: LinePage, now: Now) {
    guard var sweep else { return }
    for entry in page.entries { take(entry, in: &sweep) }
    let fed = sweep.fed
    sweep.fed = []
    sweep.ended = []
    sweep.scannedThrough = page.scannedThrough
    self.sweep = sweep
    for number in fed {
      starving.remove(number)
      settleHead(of: number, now: now)
    }
    let isWorthGoingOn = hasRoom || !starving.isEmpty
    if page.hasMore && isWorthGoingOn && !isStopped {
      actions.append(.readLine(after: page.scannedThrough))
      return
    }
    self.sweep = nil
    if !page.hasMore { forgetEmptyLanes(after: sweep, scannedThrough: page.scannedThrough) }
    beginSweepIfNeeded()
  }

  /// The line could not be read; it will be asked for again when ``retrySweep()`` is called.
  package mutating func refillFailed() { sweep = nil }

  /// Asks for the line again after a failure.
  package mutating func retrySweep() { beginSweepIfNeeded() }

  private mutating func take(_ entry: LineEntry, in sweep: inout Sweep) {
    guard !sweep.ended.contains(entry.serial) else { return }
    let hasRoom = hasRoom
    let isTaken = lanes[entry.lane]?.take(
      entry, in: sweep, hasRoom: hasRoom, windowMin: limits.laneWindowMin)
    guard isTaken == true else { return }
    windowEntries += 1
    if lanes[entry.lane]?.window.count == 1, lanes[entry.lane]?.phase == .starved {
      sweep.fed.append(entry.lane)
    }
  }

  /// The whole line was read and holds nothing of a lane that is said to have something waiting:
  /// what waited there has ended.
  private mutating func forgetEmptyLanes(after sweep: Sweep, scannedThrough: Serial) {
    for number in starving.sorted() {
      guard let isGone = lanes[number]?.isGone(after: sweep, scannedThrough: scannedThrough),
        isGone
      else { continue }
      countOut(lanes[number]?.waiting ?? 0, of: number, for: nil)
      lanes[number] = nil
      starving.remove(number)
    }
  }
}
