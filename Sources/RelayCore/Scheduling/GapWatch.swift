/// Decides when a lane gives up the sequence numbers that it waits for.
///
/// A lane waits for missing numbers for a limited time, counted from the acceptance of an envelope
/// that is parked for them. Only the store knows the time of each. The watch remembers one time a
/// lane, which may be too early: then too little is given up, and the caller asks again.
///
/// Waits are measured by the monotonic clock. The store knows only times of day: ``ClockSteps``
/// converts them, so that setting the clock ahead ends no wait.
package struct GapWatch: Sendable {
  /// The time at which a lane is due, and its longest wait.
  private struct Wait {
    var due: MonotonicTime
    var timeoutMs: Int64
  }

  /// A lane with an envelope that has been parked long enough.
  package struct Due: Equatable, Sendable {
    /// The lane.
    package var lane: LaneNumber
    /// An envelope that was parked at this time or earlier, as stored, waits no more.
    package var parkedBy: WallTime
    /// The lane's longest wait in milliseconds.
    package var timeoutMs: Int64
  }

  private var waits: [LaneNumber: Wait] = [:]
  private var steps = ClockSteps()
  /// The time at which the first lane is due, or an earlier one; nil if none waits.
  package private(set) var nextDue: MonotonicTime?

  /// Makes a watch with no lanes.
  package init() {}

  /// Notes that an envelope has been parked in a lane since a time, and may wait for `timeoutMs`.
  ///
  /// - Parameters:
  ///   - since: The time as stored. If it lies ahead, since the clock has been set back, the wait
  ///     counts from now.
  ///   - leastMs: The least time until the lane is due, in milliseconds.
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

  /// The lanes that are due.
  ///
  /// They are forgotten until they are noted again.
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
