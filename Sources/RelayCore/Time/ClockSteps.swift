/// Converts stored times across steps of the wall clock.
///
/// A wait that is measured from a stored time must leave out what the clock was set ahead by since:
/// no time has passed then. Only steps that were noted count.
package struct ClockSteps: Sendable {
  /// A step of the clock ahead.
  package struct Step: Hashable, Sendable {
    /// The time that it showed last, or a little less than it would show now.
    package var lastBefore: WallTime
    /// The size of the step in milliseconds.
    package var byMs: Int64

    /// Notes a step.
    package init(lastBefore: WallTime, byMs: Int64) {
      self.lastBefore = lastBefore
      self.byMs = byMs
    }
  }

  /// The most steps that are remembered; times stored before a forgotten step count as older than
  /// they are.
  package static let countMax = 32

  /// The steps that were not taken back, in order.
  package private(set) var steps: [Step] = []
  private var last: Now?

  /// Begins with known steps; if there are too many, with the latest.
  package init(_ steps: [Step] = []) { self.steps = Array(steps.suffix(Self.countMax)) }

  /// Notes a reading of the clocks.
  ///
  /// Has to be called before times that were stored since the last call are converted.
  package mutating func look(at now: Now) {
    defer { last = now }
    guard let last else { return }
    let expected = last.wall.adding(milliseconds: now.monotonic.milliseconds(since: last.monotonic))
    let byMs = now.wall.milliseconds(since: expected)
    guard byMs.magnitude > SettledTime.toleranceMs else { return }
    note(byMs: byMs, after: expected)
  }

  /// Notes a step.
  ///
  /// - Parameters:
  ///   - byMs: The size of the step ahead, in milliseconds; negative if the clock was set back.
  ///   - last: The time that the clock showed last, or would show now without the step.
  mutating func note(byMs: Int64, after last: WallTime) {
    guard byMs > 0 else { return takeBack(Int64(0).subtractingSaturated(byMs)) }
    if steps.count == Self.countMax { steps.removeFirst() }
    steps.append(Step(lastBefore: last, byMs: byMs))
    order(from: steps.count - 1)
  }

  /// Makes room for another step without forgetting one: joins two consecutive steps, at the time
  /// of the later.
  ///
  /// A time stored between the two counts as younger than it is. So the smallest of all steps that
  /// have one behind them is joined to the next.
  mutating func joinIfFull() {
    guard steps.count >= Self.countMax,
      let place = steps.indices.dropLast().min(by: { steps[$0].byMs < steps[$1].byMs })
    else { return }
    let joined = steps.remove(at: place)
    steps[place].byMs = steps[place].byMs.addingSaturated(joined.byMs)
    order(from: place + 1)
  }

  /// Keeps each step at or after the end of the one before it, which joining may have violated: a
  /// time that is shifted by one step is also shifted by those behind it.
  private mutating func order(from first: Int) {
    for place in steps.indices where place >= max(first, 1) {
      let end = steps[place - 1].lastBefore.adding(milliseconds: steps[place - 1].byMs)
      steps[place].lastBefore = max(steps[place].lastBefore, end)
    }
  }

  /// Forgets the steps that make no difference to a time and to later ones.
  ///
  /// - Returns: Whether there were any.
  mutating func forget(before time: WallTime) -> Bool {
    let kept = steps.drop { present($0.lastBefore) <= time }
    defer { steps = Array(kept) }
    return kept.count < steps.count
  }

  /// Takes back the latest steps ahead, as far as a step back goes.
  ///
  /// A time stored in between counts as later than it was, or lies ahead.
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

  /// The time that the clock would have shown when a time was stored, had it always stood as it
  /// does now.
  package func present(_ written: WallTime) -> WallTime {
    var time = written
    for step in steps where time <= step.lastBefore { time = time.adding(milliseconds: step.byMs) }
    return time
  }

  /// The latest stored time that stands for this time or an earlier one.
  package func written(_ present: WallTime) -> WallTime {
    var time = present
    for step in steps.reversed() where time < step.lastBefore.adding(milliseconds: step.byMs) {
      time = time.adding(milliseconds: -step.byMs)
    }
    return time
  }
}
