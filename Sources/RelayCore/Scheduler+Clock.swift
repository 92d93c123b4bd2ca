// What a clock that was set back makes of waits that are written down by its time.
//
// A wait that has begun goes by the monotonic clock, and is not touched. But the time of day at
// which it ends is what is stored, and what a lane goes by when it is looked at anew: after a
// pause, a change, a restart.
extension Scheduler {
  /// The wall clock was set back by so many milliseconds: waits after failures end that much
  /// earlier by it, so as to be as long as they were.
  ///
  /// What a sender asked for with `notBefore` is a time of day, and stays.
  package mutating func clockWasSetBack(byMs milliseconds: Int64) {
    isClockSuspect = true
    for number in lanes.keys {
      forEachWait(of: number) { $0.adding(milliseconds: -milliseconds) }
    }
  }

  /// Holds the wait of a head that has been attempted to the longest that a failure leads to, where
  /// it may have been written down by a clock that was ahead of what it shows now, nobody knows by
  /// how much: what was found at start, and what is read from the line later on.
  mutating func boundWait(of number: LaneNumber, now: Now) {
    guard isClockSuspect, let head = lanes[number]?.head else { return }
    guard let longestMs = upstreams[head.upstream]?.policy.retry.longestDelayMs else { return }
    forEachWait(of: number) { min($0, now.wall.adding(milliseconds: longestMs)) }
  }

  /// The longest that a wait after a failure may last by the time of day.
  func bounded(_ time: WallTime, of head: LineEntry, now: Now) -> WallTime {
    guard let longestMs = upstreams[head.upstream]?.policy.retry.longestDelayMs else { return time }
    return min(time, now.wall.adding(milliseconds: longestMs))
  }

  private mutating func forEachWait(
    of number: LaneNumber, _ change: (WallTime) -> WallTime
  ) {
    if let backoffs = lanes[number]?.backoffs, !backoffs.isEmpty {
      lanes[number]?.backoffs = backoffs.mapValues(change)
    }
    // Where a head has been attempted, it waits for a failure.
    guard let head = lanes[number]?.head, head.attempts > 0, let dueAt = head.dueAt else { return }
    lanes[number]?.window[0].dueAt = change(dueAt)
  }
}
