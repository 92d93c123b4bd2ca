/// How long ago something was recorded, as retention goes by it: no step of the clock makes what
/// was recorded before it any older.
///
/// What has been kept long enough is deleted, with its key, and does not come back. So a step ahead
/// that counts (``SettledTime``) is left out of the age of all that was recorded before it, and
/// many small ones are added up. A step back makes nothing older, and undoes steps ahead.
package struct RetentionClock: Sendable {
  /// By how much the time of day was ahead of the clock that nobody sets, when the last step was
  /// noted, in milliseconds; nil before the first reading.
  package private(set) var offsetMs: Int64?
  /// The steps that still matter.
  package private(set) var steps: ClockSteps
  private var wall = WallTime.unknown

  /// Goes on from what was noted before.
  ///
  /// - Parameters:
  ///   - offsetMs: What ``offsetMs`` was in an earlier process; nil if the machine has been started
  ///     since, and nobody can tell.
  ///   - steps: The steps that it knew.
  package init(offsetMs: Int64? = nil, steps: [ClockSteps.Step] = []) {
    self.offsetMs = offsetMs
    self.steps = ClockSteps(steps)
  }

  /// Takes in a reading of both clocks.
  ///
  /// - Parameters:
  ///   - wall: The time of day, as it is recorded.
  ///   - elapsedMs: What a clock shows that nobody sets and that goes on while the machine sleeps,
  ///     in milliseconds.
  /// - Returns: Whether there is anything new to be noted for a later process.
  package mutating func look(at wall: WallTime, elapsedMs: Int64) -> Bool {
    self.wall = wall
    let seen = wall.millisecondsSinceEpoch.subtractingSaturated(elapsedMs)
    guard let offset = offsetMs else {
      offsetMs = seen
      return true
    }
    let byMs = seen.subtractingSaturated(offset)
    // Less is no step yet, and counts for one once it has added up.
    guard byMs.magnitude > SettledTime.toleranceMs else { return false }
    offsetMs = seen
    steps.joinIfFull()
    steps.note(
      byMs: byMs, after: WallTime(millisecondsSinceEpoch: elapsedMs.addingSaturated(offset)))
    return true
  }

  /// Up to when something must have been recorded to be older than this by now, in milliseconds.
  package func cutoff(keptMs: Int64) -> WallTime {
    steps.written(wall.adding(milliseconds: -keptMs))
  }

  /// Forgets the steps before which nothing is left, as nothing is kept for longer than this, in
  /// milliseconds.
  ///
  /// - Returns: Whether there were any.
  package mutating func forgetSteps(keptMs: Int64) -> Bool {
    steps.forget(before: wall.adding(milliseconds: -keptMs))
  }
}
