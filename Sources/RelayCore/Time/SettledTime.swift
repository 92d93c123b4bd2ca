/// The relay's time of day: the machine's clock, except for a step ahead that may yet be taken
/// back.
///
/// Deadlines, retention and the waits for sequence numbers end things, and what has ended does not
/// come back when the clock does. So a step ahead counts only once it has lasted for a while by a
/// steady clock, which nobody sets; until then time goes on as if it had not happened. A step back
/// ends nothing, and counts at once. A clock that shows a time long past (``WallTime/isPlausible``)
/// is known to be wrong, and is not followed at all.
package struct SettledTime: Sendable {
  /// A step that was noticed in a reading of the machine's clock.
  package enum Step: Hashable, Sendable {
    /// The clock was set ahead by so many milliseconds, which does not count yet.
    case ahead(milliseconds: Int64)
    /// The clock was set back again before that counted.
    case takenBack
    /// The clock has been ahead by so many milliseconds for long enough: from now on that counts.
    case believed(milliseconds: Int64)
    /// The clock was set back by so many milliseconds, which counts.
    case back(milliseconds: Int64)
    /// The clock shows an impossible time: the relay goes on from where it was.
    case implausible

    /// Whether this changes the relay's time of day.
    package var counts: Bool {
      switch self {
      case .believed, .back: true
      case .ahead, .takenBack, .implausible: false
      }
    }
  }

  /// The largest difference, in milliseconds, that counts as an adjustment of the clock and not as
  /// a step.
  package static let toleranceMs: Int64 = 1000

  /// The time that a step ahead has to last before it counts, in milliseconds.
  package var settleMs: Int64

  /// The time of day minus the steady clock, in milliseconds; nil before the first reading.
  package private(set) var offsetMs: Int64?
  private var ahead: Ahead?
  private var before: Before?
  /// Whether the offset comes from a time that is only known to have been reached.
  private var isGuess = false
  private var isImplausible = false

  /// A step ahead that does not count yet.
  private struct Ahead {
    /// The least offset seen since.
    var offsetMs: Int64
    var sinceMs: Int64
  }

  /// The time of day before the clock was set back, which may be taken back as well.
  private struct Before {
    /// The greatest offset among step-backs that followed each other closely.
    var offsetMs: Int64
    var sinceMs: Int64
  }

  /// Why the machine's clock is not followed as of the last reading, in words; nil while it is.
  package var doubt: String? {
    if isImplausible { return "it shows a time that cannot be, and is not followed" }
    return ahead == nil ? nil : "it was set ahead, which does not count yet"
  }

  /// Begins without a reading.
  package init(settleMs: Int64 = 300_000) { self.settleMs = settleMs }

  /// Notes a reading of both clocks.
  ///
  /// - Parameters:
  ///   - machine: The reading of the machine's clock.
  ///   - elapsedMs: The reading of a steady clock, which nobody sets and which goes on while the
  ///     machine sleeps, in milliseconds.
  /// - Returns: The time of day, and the step if one was noticed just now.
  package mutating func read(
    _ machine: WallTime, elapsedMs: Int64
  ) -> (time: WallTime, step: Step?) {
    let seen = machine.millisecondsSinceEpoch.subtractingSaturated(elapsedMs)
    guard let offset = offsetMs else {
      offsetMs = seen
      return (machine, nil)
    }
    let difference = seen.subtractingSaturated(offset)
    if difference.magnitude <= Self.toleranceMs { return follow(machine, seen) }
    let time = WallTime(millisecondsSinceEpoch: elapsedMs.addingSaturated(offset))
    if !machine.isPlausible && time.isPlausible { return (time, noteImplausible()) }
    isImplausible = false
    if difference < 0 {
      noteBack(from: offset, elapsedMs: elapsedMs)
      settle(at: seen)
      return (machine, .back(milliseconds: -difference))
    }
    if isGuess || !time.isPlausible {
      settle(at: seen)
      return (machine, .believed(milliseconds: difference))
    }
    return readAhead(seen, difference: difference, elapsedMs: elapsedMs)
  }

  /// The time from which new deadlines count: the latest that the present time of day may turn out
  /// to be.
  ///
  /// A step ahead that comes to count later would otherwise end at once whatever was accepted
  /// before it counted. So would a step ahead that takes back a step back. So the time on the other
  /// side of such a step counts as well, for as long as a step ahead has to last. Where the time of
  /// day is only known to have been reached, this is ``WallTime/unknown``, since nobody knows how
  /// much later it is; there is no such deadline then (``WallTime/deadline(afterMs:)``).
  ///
  /// - Parameters: As for ``read(_:elapsedMs:)``, which has to be called with them first.
  package func deadlineStart(_ machine: WallTime, elapsedMs: Int64) -> WallTime {
    guard let offsetMs else { return machine }
    guard !isGuess else { return .unknown }
    var start = WallTime(millisecondsSinceEpoch: elapsedMs.addingSaturated(offsetMs))
    if machine.isPlausible { start = max(start, machine) }
    guard let before = freshBefore(elapsedMs: elapsedMs) else { return start }
    return max(
      start, WallTime(millisecondsSinceEpoch: elapsedMs.addingSaturated(before.offsetMs)))
  }

  /// Continues with the offset of another process since the machine was started, so that a step
  /// since then is noticed.
  package mutating func resume(offsetMs: Int64) { settle(at: offsetMs) }

  /// Continues from a time of day that is known to have been reached, if the machine's clock shows
  /// an impossible one.
  ///
  /// Called when the relay begins.
  package mutating func resume(from known: WallTime, elapsedMs: Int64) {
    guard known.isPlausible, let offset = offsetMs,
      !WallTime(millisecondsSinceEpoch: elapsedMs.addingSaturated(offset)).isPlausible
    else { return }
    offsetMs = known.millisecondsSinceEpoch.subtractingSaturated(elapsedMs)
    isGuess = true
  }

  /// Follows a clock that shows what was expected.
  private mutating func follow(_ machine: WallTime, _ seen: Int64) -> (WallTime, Step?) {
    let wasAstray = ahead != nil || isImplausible
    settle(at: seen)
    return (machine, wasAstray ? .takenBack : nil)
  }

  private mutating func settle(at offset: Int64) {
    offsetMs = offset
    ahead = nil
    isGuess = false
    isImplausible = false
  }

  private mutating func noteBack(from offset: Int64, elapsedMs: Int64) {
    let earlier = freshBefore(elapsedMs: elapsedMs)?.offsetMs ?? offset
    before = Before(offsetMs: max(earlier, offset), sinceMs: elapsedMs)
  }

  private func freshBefore(elapsedMs: Int64) -> Before? {
    guard let before, elapsedMs.subtractingSaturated(before.sinceMs) < settleMs else { return nil }
    return before
  }

  private mutating func noteImplausible() -> Step? {
    ahead = nil
    defer { isImplausible = true }
    return isImplausible ? nil : .implausible
  }

  private mutating func readAhead(
    _ seen: Int64, difference: Int64, elapsedMs: Int64
  ) -> (WallTime, Step?) {
    var step = ahead == nil ? Step.ahead(milliseconds: difference) : nil
    var current = ahead ?? Ahead(offsetMs: seen, sinceMs: elapsedMs)
    current.offsetMs = min(current.offsetMs, seen)
    ahead = current
    if elapsedMs.subtractingSaturated(current.sinceMs) >= settleMs {
      step = .believed(milliseconds: current.offsetMs.subtractingSaturated(offsetMs ?? 0))
      settle(at: current.offsetMs)
    }
    let time = WallTime(millisecondsSinceEpoch: elapsedMs.addingSaturated(offsetMs ?? 0))
    return (time, step)
  }
}
