/// Decides when a lane gives up the sequence numbers that it waits for.
///
/// A lane may wait for them for so long and no longer, counted from the acceptance of an envelope
/// that is parked for them. Since when each of those waits is the store's to know; this remembers
/// no more than one time a lane, and may be told an early one: who gives up too little asks again.
///
/// How long something has waited is measured by the clock that nobody sets. The store knows only
/// times of day: they are read as ``ClockSteps`` has them, so that a step ahead ends no wait.
package struct GapWatch: Sendable {
  /// A lane that waits, and for how long at the most.
  private struct Wait {
    var due: MonotonicTime
    var timeoutMs: Int64
  }

  /// A lane in which something has been parked long enough.
  package struct Due: Equatable, Sendable {
    /// The lane.
    package var lane: LaneNumber
    /// What has been parked since this time or longer, as the store has it, waits no more.
    package var parkedBy: WallTime
    /// How long it may wait, in milliseconds.
    package var timeoutMs: Int64
  }

  private var waits: [LaneNumber: Wait] = [:]
  private var steps = ClockSteps()
  /// When the first of the lanes is due, or earlier; nil if none waits.
  package private(set) var nextDue: MonotonicTime?

  /// Nothing waits yet.
  package init() {}

  /// Something is parked in a lane, since a time, and may wait for so many milliseconds.
  ///
  /// - Parameters:
  ///   - since: As it was written down. What was so by a clock that has been set back since waits
  ///     from now on.
  ///   - leastMs: It is not due before so many milliseconds have passed.
  package mutating func note(
    _ lane: LaneNumber, since: WallTime, timeoutMs: Int64, leastMs: Int64 = 0, now: Now
  ) {
    steps.look(at: now)
    let waitedMs = max(0, now.wall.milliseconds(since: steps.present(since)))
    let leftMs = max(timeoutMs.subtractingSaturated(waitedMs), leastMs, 0)
    let due = now.monotonic.adding(milliseconds: leftMs)
    waits[lane] = Wait(due: min(due, waits[lane]?.due ?? due), timeoutMs: timeoutMs)
    nextDue = nextDue.map { min($0, due) } ?? due
  }

  /// The lanes that are due, which are forgotten until they are told again.
  package mutating func takeDue(at now: Now) -> [Due] {
    steps.look(at: now)
    guard let nextDue, nextDue <= now.monotonic else { return [] }
    var due: [Due] = []
    for (lane, wait) in waits where wait.due <= now.monotonic {
      let parkedBy = steps.written(now.wall.adding(milliseconds: -wait.timeoutMs))
      due.append(Due(lane: lane, parkedBy: parkedBy, timeoutMs: wait.timeoutMs))
    }
    for lane in due { waits[lane.lane] = nil }
    self.nextDue = waits.values.lazy.map(\.due).min()
    return due.sorted { $0.lane < $1.lane }
  }
}
