/// The age of records for retention: no step of the clock makes earlier records any older.
///
/// Records that have been kept long enough are deleted, with their keys, and do not come back. So a
/// step ahead that counts (``SettledTime``) is left out of the age of everything recorded before
/// it, and many small steps are added up. A step back makes nothing older, and takes back steps
/// ahead.
package struct RetentionClock: Sendable {
  /// The time of day minus the steady clock when the last step was noted, in milliseconds; nil
  /// before the first reading.
  package private(set) var offsetMs: Int64?
  /// The steps that still matter.
  package private(set) var steps: ClockSteps
  private var wall = WallTime.unknown

  /// Continues from what was noted before.
  ///
  /// - Parameters:
  ///   - offsetMs: The ``offsetMs`` of an earlier process; nil if the machine has been restarted
  ///     since, so that nobody can tell.
  ///   - steps: The steps that it had noted.
  package init(offsetMs: Int64? = nil, steps: [ClockSteps.Step] = []) {
    self.offsetMs = offsetMs
    self.steps = ClockSteps(steps)
  }

  /// Notes a reading of both clocks.
  ///
  /// - Parameters:
  ///   - wall: The time of day, as it is recorded.
  ///   - elapsedMs: The reading of a steady clock, which nobody sets and which goes on while the
  ///     machine sleeps, in milliseconds.
  /// - Returns: Whether there is something new to store for a later process.
  package mutating func look(at wall: WallTime, elapsedMs: Int64) -> Bool {
    self.wall = wall
    let seen = wall.millisecondsSinceEpoch.subtractingSaturated(elapsedMs)
    guard let offset = offsetMs else {
      offsetMs = seen
      return true
    }
    let byMs = seen.subtractingSaturated(offset)
    // A smaller difference is no step yet, and counts as one once it has added up.
    guard byMs.magnitude > SettledTime.toleranceMs else { return false }
    offsetMs = seen
    steps.joinIfFull()
    steps.note(
      byMs: byMs, after: WallTime(millisecondsSinceEpoch: elapsedMs.addingSaturated(offset)))
    return true
  }

  /// The time by which something must have been recorded to be older than `keptMs` now.
  package func cutoff(keptMs: Int64) -> WallTime {
    steps.written(wall.adding(milliseconds: -keptMs))
  }

  /// Forgets the steps before which nothing is left, since nothing is kept for longer than
  /// `keptMs`.
  ///
  /// - Returns: Whether there were any.
  package mutating func forgetSteps(keptMs: Int64) -> Bool {
    steps.forget(before: wall.adding(milliseconds: -keptMs))
  }
}
