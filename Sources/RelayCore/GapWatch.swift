/// Decides when a lane gives up the sequence numbers that it waits for.
///
/// A lane may wait for them for so long and no longer, counted from the acceptance of an envelope
/// that is parked for them. Since when each of those waits is the store's to know; this remembers
/// no more than one time a lane, and may be told an early one: who gives up too little asks again.
package struct GapWatch: Sendable {
  /// A lane that waits, and for how long at the most.
  private struct Wait {
    var since: WallTime
    var timeoutMs: Int64

    var due: WallTime { since.adding(milliseconds: timeoutMs) }
  }

  /// A lane in which something has been parked long enough.
  package struct Due: Equatable, Sendable {
    /// The lane.
    package var lane: LaneNumber
    /// What has been parked since this time or longer waits no more.
    package var parkedBy: WallTime
    /// How long it may wait, in milliseconds.
    package var timeoutMs: Int64
  }

  private var waits: [LaneNumber: Wait] = [:]
  /// When the first of the lanes is due, or earlier; nil if none waits.
  package private(set) var nextDue: WallTime?

  /// Nothing waits yet.
  package init() {}

  /// Something is parked in a lane, since a time, and may wait for so many milliseconds.
  package mutating func note(_ lane: LaneNumber, since: WallTime, timeoutMs: Int64) {
    var wait = waits[lane] ?? Wait(since: since, timeoutMs: timeoutMs)
    wait.since = min(wait.since, since)
    wait.timeoutMs = timeoutMs
    waits[lane] = wait
    nextDue = nextDue.map { min($0, wait.due) } ?? wait.due
  }

  /// The lanes that are due, which are forgotten until they are told again.
  package mutating func takeDue(at now: WallTime) -> [Due] {
    guard let nextDue, nextDue <= now else { return [] }
    var due: [Due] = []
    for (lane, wait) in waits where wait.due <= now {
      let parkedBy = now.adding(milliseconds: -wait.timeoutMs)
      due.append(Due(lane: lane, parkedBy: parkedBy, timeoutMs: wait.timeoutMs))
    }
    for lane in due { waits[lane.lane] = nil }
    self.nextDue = waits.values.lazy.map(\.due).min()
    return due.sorted { $0.lane < $1.lane }
  }
}
