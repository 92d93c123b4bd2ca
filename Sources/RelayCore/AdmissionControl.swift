/// When the relay has more to do than it can, and takes no post for a while.
package struct AdmissionLimits: Hashable, Sendable {
  /// What the 99th percentile of the time from a post's arrival to its answer is to stay below
  /// however much is sent, in milliseconds.
  package var delayMsMax: Int64
  /// So many posts may wait for the disk whatever the delay: nothing is gained by sending away a
  /// handful, and a moment's silence of the disk is no overload.
  package var freeCount = 64
  /// No more than this wait for the disk at once.
  package var countMax = 16_384
  /// So many delays of the event loops in a row have to be long before they count.
  package var delaysInARowMin = 16

  /// Limits for a delay, at least 4 ms.
  package init(delayMsMax: Int64 = 1000) {
    precondition(delayMsMax >= 4)
    self.delayMsMax = delayMsMax
  }

  /// How long the oldest post may have waited in a burst.
  var burstDelayMs: Int64 { delayMsMax / 2 }
  /// How long it may have waited where the queue has not been short for ``intervalMs``.
  var standingDelayMs: Int64 { delayMsMax / 4 }
  /// After how long a queue is no burst any more.
  var intervalMs: Int64 { delayMsMax / 4 }
}

/// A delay that does not go away.
///
/// What counts is the least delay of a stretch of time and not the average, as in CoDel (RFC 8289
/// section 3.2): a burst that is worked off is what a queue is for; one that stays is only delay.
private struct StandingDelay: Sendable {
  private var aboveSince: MonotonicTime?
  private(set) var lastMs: Int64 = 0
  private(set) var lastAt = MonotonicTime(nanoseconds: 0)
  private(set) var countInARow = 0

  mutating func note(_ delayMs: Int64, limitMs: Int64, at now: MonotonicTime) {
    lastMs = delayMs
    lastAt = now
    guard delayMs > limitMs else {
      aboveSince = nil
      countInARow = 0
      return
    }
    aboveSince = aboveSince ?? now
    countInARow += 1
  }

  func isStanding(for intervalMs: Int64, at now: MonotonicTime) -> Bool {
    guard let aboveSince else { return false }
    return now.milliseconds(since: aboveSince) >= intervalMs
  }
}

/// Decides whether a post is taken, by what waits and how long it has waited.
///
/// A post waits in two places: at an event loop, until its turn to be read has come, and for the
/// store's writer. The delay of the first is told in samples; what waits in the second is counted
/// here. Once either is too long, posts are refused before their body is read, which takes a
/// small part of what it takes to store one: so what has been accepted is answered in time, and
/// the queue becomes short again.
package struct AdmissionControl: Sendable {
  /// Why a post is not taken.
  package enum Refusal: Hashable, Sendable, CaseIterable {
    /// As many wait for the disk as may.
    case tooMany
    /// Those that wait for the disk have waited too long.
    case slowStore
    /// Requests wait too long until they are read.
    case slowLoops
  }

  /// One post that waits for the store.
  package struct Ticket: Hashable, Sendable {
    fileprivate let number: Int
  }

  private struct Wait {
    var begin: MonotonicTime
    var isOver = false
  }

  private var limits: AdmissionLimits
  private var waits = Deque<Wait>()
  /// The number of the first of ``waits``.
  private var firstNumber = 0
  private var stored = StandingDelay()
  private var read = StandingDelay()
  /// Whether the next post that comes while loops are behind is refused: every other is.
  private var refusesNext = true
  /// How many posts wait for the store.
  package private(set) var waitingCount = 0

  /// Nothing waits.
  package init(_ limits: AdmissionLimits = AdmissionLimits()) { self.limits = limits }

  /// Holds to other limits from now on.
  package mutating func hold(to limits: AdmissionLimits) { self.limits = limits }

  /// How long the oldest post has waited for the store, in milliseconds; 0 if none waits.
  package func oldestWaitMs(at now: MonotonicTime) -> Int64 {
    waits.first.map { max(0, now.milliseconds(since: $0.begin)) } ?? 0
  }

  /// Why a post that comes now is not taken; nil if it is.
  ///
  /// Where loops are behind, every other post is taken: what reading a request costs is spent by
  /// then, so that refusing all of them would give up more than it saves.
  package mutating func refusal(at now: MonotonicTime) -> Refusal? {
    if waitingCount >= limits.countMax { return .tooMany }
    if waitingCount >= limits.freeCount {
      let isStanding = stored.isStanding(for: limits.intervalMs, at: now)
      let delayMax = isStanding ? limits.standingDelayMs : limits.burstDelayMs
      if oldestWaitMs(at: now) > delayMax { return .slowStore }
    }
    // A sample that is old tells of a load that may be gone, and with it of nobody who samples.
    guard read.countInARow >= limits.delaysInARowMin,
      read.isStanding(for: limits.intervalMs, at: now),
      now.milliseconds(since: read.lastAt) < limits.intervalMs
    else {
      refusesNext = true
      return nil
    }
    defer { refusesNext.toggle() }
    return refusesNext ? .slowLoops : nil
  }

  /// A post begins to wait for the store.
  package mutating func begin(at now: MonotonicTime) -> Ticket {
    waits.append(Wait(begin: now))
    waitingCount += 1
    return Ticket(number: firstNumber + waits.count - 1)
  }

  /// A post waits no longer.
  package mutating func end(_ ticket: Ticket, at now: MonotonicTime) {
    let place = ticket.number - firstNumber
    waits[place].isOver = true
    waitingCount -= 1
    stored.note(
      now.milliseconds(since: waits[place].begin), limitMs: limits.standingDelayMs, at: now)
    while let first = waits.first, first.isOver {
      _ = waits.popFirst()
      firstNumber += 1
    }
    // A queue that has been empty is not the one that was too long.
    if waits.isEmpty { stored = StandingDelay() }
  }

  /// A request has waited so long at an event loop until it was read.
  package mutating func noteReadDelay(_ delayMs: Int64, at now: MonotonicTime) {
    read.note(delayMs, limitMs: limits.standingDelayMs, at: now)
  }
}
