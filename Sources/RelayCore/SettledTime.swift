/// What the relay takes for the time of day: the machine's clock, but for a step ahead that may yet
/// be taken back.
///
/// Deadlines, retention and the waits for sequence numbers end things, and what has ended does not
/// come back when the clock does. So a step ahead counts only once it has lasted for a while, as
/// measured by a clock that nobody sets; until then time goes on as if it had not happened. A step
/// back ends nothing, and counts at once. A clock that shows a time long past
/// (``WallTime/isPlausible``) is known to be wrong, and is not followed at all.
package struct SettledTime: Sendable {
  /// What was seen of the machine's clock just now.
  package enum Step: Hashable, Sendable {
    /// It was set ahead by so many milliseconds, which does not count yet.
    case ahead(milliseconds: Int64)
    /// It was set back again before that counted.
    case takenBack
    /// It has been ahead by so many milliseconds for long enough: from now on that counts.
    case believed(milliseconds: Int64)
    /// It was set back by so many milliseconds, which counts.
    case back(milliseconds: Int64)
    /// It shows a time that cannot be: the relay goes on from where it was.
    case implausible

    /// Whether the time of day is another than it would have been.
    package var counts: Bool {
      switch self {
      case .believed, .back: true
      case .ahead, .takenBack, .implausible: false
      }
    }
  }

  /// A clock that differs by no more than this is being adjusted and was not set, in milliseconds.
  package static let toleranceMs: Int64 = 1000

  /// How long a step ahead has to last before it counts, in milliseconds.
  package var settleMs: Int64

  /// By how much the time of day is ahead of the clock that nobody sets; nil before the first
  /// reading.
  package private(set) var offsetMs: Int64?
  private var ahead: Ahead?
  private var before: Before?
  /// Whether the offset comes from a time that was merely known to have been reached.
  private var isGuess = false
  private var isImplausible = false

  /// A step ahead that does not count yet.
  private struct Ahead {
    /// The least that was seen since.
    var offsetMs: Int64
    var sinceMs: Int64
  }

  /// Where the time of day stood before it was set back, which may be taken back as well.
  private struct Before {
    /// The greatest of those that the latest step back came soon after.
    var offsetMs: Int64
    var sinceMs: Int64
  }

  /// Begins without having seen a clock.
  package init(settleMs: Int64 = 300_000) { self.settleMs = settleMs }

  /// Takes in a reading of both clocks.
  ///
  /// - Parameters:
  ///   - machine: What the machine's clock shows.
  ///   - elapsedMs: What a clock shows that nobody sets and that goes on while the machine sleeps,
  ///     in milliseconds.
  /// - Returns: The time of day, and what was seen if that is news.
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

  /// What a deadline counts from that is so long after now: the latest that the time of day may
  /// turn out to be.
  ///
  /// A step ahead that is believed later on would end at once what was accepted while it was not
  /// yet, and so would one by which a step back is taken back. So what lies on the other side of a
  /// step counts as well, for as long as a step ahead has to last. Where the time of day is merely
  /// known to have been reached, this is ``WallTime/unknown``: nobody knows how much later it is.
  /// There is no such deadline then (``WallTime/deadline(afterMs:)``).
  ///
  /// - Parameters: As for ``read(_:elapsedMs:)``, which has taken them in.
  package func deadlineStart(_ machine: WallTime, elapsedMs: Int64) -> WallTime {
    guard let offsetMs else { return machine }
    guard !isGuess else { return .unknown }
    var start = WallTime(millisecondsSinceEpoch: elapsedMs.addingSaturated(offsetMs))
    if machine.isPlausible { start = max(start, machine) }
    guard let before = freshBefore(elapsedMs: elapsedMs) else { return start }
    return max(
      start, WallTime(millisecondsSinceEpoch: elapsedMs.addingSaturated(before.offsetMs)))
  }

  /// By how much the time of day was ahead when another process, of this start of the machine, went
  /// by it: a step since then is one like any other.
  package mutating func resume(offsetMs: Int64) { settle(at: offsetMs) }

  /// A time of day is known to have been reached already, as the relay began: where the machine's
  /// clock shows one that cannot be, time goes on from there.
  package mutating func goOn(from known: WallTime, elapsedMs: Int64) {
    guard known.isPlausible, let offset = offsetMs,
      !WallTime(millisecondsSinceEpoch: elapsedMs.addingSaturated(offset)).isPlausible
    else { return }
    offsetMs = known.millisecondsSinceEpoch.subtractingSaturated(elapsedMs)
    isGuess = true
  }

  /// The clock is where it was expected.
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
