/// What the steps of the wall clock make of times that were written down before them.
///
/// Whoever measures how long something has waited by the time at which it began, as it was written
/// down, must leave out what the clock was set ahead by in between: no time has passed then. Knows
/// only steps that this process has seen.
package struct ClockSteps: Sendable {
  /// The clock was set ahead.
  private struct Step {
    /// What it showed last, or a little less than it would show now.
    var lastBefore: WallTime
    var byMs: Int64
  }

  /// So many steps are remembered; what was written down before the others is taken for older.
  static let countMax = 32

  private var steps: [Step] = []
  private var last: Now?

  /// Has seen no step.
  package init() {}

  /// Takes in a reading of the clocks.
  ///
  /// Called before what was written down since the last call is asked about.
  package mutating func look(at now: Now) {
    defer { last = now }
    guard let last else { return }
    let expected = last.wall.adding(milliseconds: now.monotonic.milliseconds(since: last.monotonic))
    let byMs = now.wall.milliseconds(since: expected)
    guard byMs.magnitude > SettledTime.toleranceMs else { return }
    guard byMs < 0 else {
      if steps.count == Self.countMax { steps.removeFirst() }
      return steps.append(Step(lastBefore: expected, byMs: byMs))
    }
    takeBack(-byMs)
  }

  /// A step back undoes the latest steps ahead, as far as it goes.
  ///
  /// What was written down in between is taken for later than it was, or lies ahead.
  private mutating func takeBack(_ milliseconds: Int64) {
    var leftMs = milliseconds
    while leftMs > 0, var step = steps.popLast() {
      if step.byMs > leftMs {
        step.byMs -= leftMs
        return steps.append(step)
      }
      leftMs -= step.byMs
    }
  }

  /// What the clock would have shown, had it always stood as it does now, when this was written
  /// down.
  package func present(_ written: WallTime) -> WallTime {
    var time = written
    for step in steps where time <= step.lastBefore { time = time.adding(milliseconds: step.byMs) }
    return time
  }

  /// The latest time that stands for this one or an earlier one in what was written down.
  package func written(_ present: WallTime) -> WallTime {
    var time = present
    for step in steps.reversed() where time < step.lastBefore.adding(milliseconds: step.byMs) {
      time = time.adding(milliseconds: -step.byMs)
    }
    return time
  }
}
