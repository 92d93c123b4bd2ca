/// What the steps of the wall clock make of times that were written down before them.
///
/// Whoever measures how long something has waited by the time at which it began, as it was written
/// down, must leave out what the clock was set ahead by in between: no time has passed then. Knows
/// only steps that it was told of.
package struct ClockSteps: Sendable {
  /// The clock was set ahead.
  package struct Step: Hashable, Sendable {
    /// What it showed last, or a little less than it would show now.
    package var lastBefore: WallTime
    /// By how much, in milliseconds.
    package var byMs: Int64

    /// Notes a step.
    package init(lastBefore: WallTime, byMs: Int64) {
      self.lastBefore = lastBefore
      self.byMs = byMs
    }
  }

  /// So many steps are remembered; what was written down before the others is taken for older.
  package static let countMax = 32

  /// Those that were not taken back, in order.
  package private(set) var steps: [Step] = []
  private var last: Now?

  /// Begins with steps that were seen before; of too many, with the latest.
  package init(_ steps: [Step] = []) { self.steps = Array(steps.suffix(Self.countMax)) }

  /// Takes in a reading of the clocks.
  ///
  /// Called before what was written down since the last call is asked about.
  package mutating func look(at now: Now) {
    defer { last = now }
    guard let last else { return }
    let expected = last.wall.adding(milliseconds: now.monotonic.milliseconds(since: last.monotonic))
    let byMs = now.wall.milliseconds(since: expected)
    guard byMs.magnitude > SettledTime.toleranceMs else { return }
    note(byMs: byMs, after: expected)
  }

  /// Takes note of a step.
  ///
  /// - Parameters:
  ///   - byMs: By how much the clock was set ahead, in milliseconds; negative if it was set back.
  ///   - last: What it showed last, or would show now without the step.
  mutating func note(byMs: Int64, after last: WallTime) {
    guard byMs > 0 else { return takeBack(Int64(0).subtractingSaturated(byMs)) }
    if steps.count == Self.countMax { steps.removeFirst() }
    steps.append(Step(lastBefore: last, byMs: byMs))
    order(from: steps.count - 1)
  }

  /// Makes room for another step without forgetting one: two that follow each other become one, at
  /// the time of the later.
  ///
  /// What was written down between the two is taken for younger than it is. So the first of them
  /// is the smallest of all that have one behind them.
  mutating func joinIfFull() {
    guard steps.count >= Self.countMax,
      let place = steps.indices.dropLast().min(by: { steps[$0].byMs < steps[$1].byMs })
    else { return }
    let joined = steps.remove(at: place)
    steps[place].byMs = steps[place].byMs.addingSaturated(joined.byMs)
    order(from: place + 1)
  }

  /// Has no step come before the end of the one ahead of it, as two that became one may have it:
  /// whatever that one shifts is shifted by those behind it as well.
  private mutating func order(from first: Int) {
    for place in steps.indices where place >= max(first, 1) {
      let end = steps[place - 1].lastBefore.adding(milliseconds: steps[place - 1].byMs)
      steps[place].lastBefore = max(steps[place].lastBefore, end)
    }
  }

  /// Forgets the steps that make no difference to this time and to later ones.
  ///
  /// - Returns: Whether there were any.
  mutating func forget(before time: WallTime) -> Bool {
    let kept = steps.drop { present($0.lastBefore) <= time }
    defer { steps = Array(kept) }
    return kept.count < steps.count
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
