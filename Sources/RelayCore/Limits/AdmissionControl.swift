/// The limits past which the relay is overloaded, and takes no post for a while.
package struct AdmissionLimits: Hashable, Sendable {
  /// The bound for the 99th percentile of the time from a post's arrival to its answer, however
  /// much is sent, in milliseconds.
  package var delayMsMax: Int64
  /// The number of posts that may wait for the disk whatever the delay: sending away a handful
  /// gains nothing, and a moment's silence of the disk is no overload.
  package var freeCount = 64
  /// The most posts that may wait for the disk at once.
  package var countMax = 16_384
  /// The number of long delays of the event loops in a row before they count.
  package var delaysInARowMin = 16

  /// Sets a delay, at least 4 ms.
  package init(delayMsMax: Int64 = 1000) {
    precondition(delayMsMax >= 4)
    self.delayMsMax = delayMsMax
  }

  /// The longest wait of the oldest post in a burst.
  var burstDelayMs: Int64 { delayMsMax / 2 }
  /// The longest wait of the oldest post where the queue has not been short for ``intervalMs``.
  var standingDelayMs: Int64 { delayMsMax / 4 }
  /// The time after which a long queue is no burst any more.
  var intervalMs: Int64 { delayMsMax / 4 }
}

/// A delay, and how long it has lasted.
///
/// The least delay of a stretch of time counts, not the average, as in CoDel (RFC 8289 section
/// 3.2): a queue is there for bursts that are worked off; what stays is only delay.
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

/// Decides whether a post is taken, by the number of posts that wait and the time that they have
/// waited.
///
/// A post waits in two places: at an event loop until it is read, and for the store's writer. The
/// first delay is reported in samples; the posts in the second place are counted here. Once either
/// delay is too long, posts are refused before their body is read, which costs a small part of
/// storing one. So accepted posts are answered in time, and the queue becomes short again.
package struct AdmissionControl: Sendable {
  /// The reason that a post is not taken.
  package enum Refusal: Hashable, Sendable, CaseIterable {
    /// The limit of posts that wait for the disk is reached.
    case tooMany
    /// The posts that wait for the disk have waited too long.
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
  /// Whether the next post is refused while the loops are behind: every other one is.
  private var refusesNext = true
  /// The number of posts that wait for the store.
  package private(set) var waitingCount = 0

  /// Makes a control with no posts waiting.
  package init(_ limits: AdmissionLimits = AdmissionLimits()) { self.limits = limits }

  /// Changes the limits.
  package mutating func setLimits(_ limits: AdmissionLimits) { self.limits = limits }

  /// The wait of the oldest post for the store so far, in milliseconds; 0 if none waits.
  package func oldestWaitMs(at now: MonotonicTime) -> Int64 {
    waits.first.map { max(0, now.milliseconds(since: $0.begin)) } ?? 0
  }

  /// The reason that a post is not taken now; nil if it is.
  ///
  /// Where loops are behind, every other post is taken: the cost of reading a request is spent by
  /// then, so refusing all of them would give up more than it saves.
  package mutating func refusal(at now: MonotonicTime) -> Refusal? {
    if waitingCount >= limits.countMax { return .tooMany }
    if waitingCount >= limits.freeCount {
      let isStanding = stored.isStanding(for: limits.intervalMs, at: now)
      let delayMax = isStanding ? limits.standingDelayMs : limits.burstDelayMs
      if oldestWaitMs(at: now) > delayMax { return .slowStore }
    }
    // An old sample tells of a load that may be gone: without posts nobody takes samples.
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

  /// Notes that a post begins to wait for the store.
  package mutating func begin(at now: MonotonicTime) -> Ticket {
    waits.append(Wait(begin: now))
    waitingCount += 1
    return Ticket(number: firstNumber + waits.count - 1)
  }

  /// Notes that a post no longer waits.
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
    // Once the queue has been empty, an earlier delay says nothing any more.
    if waits.isEmpty { stored = StandingDelay() }
  }

  /// Notes how long a request has waited at an event loop until it was read.
  package mutating func noteReadDelay(_ delayMs: Int64, at now: MonotonicTime) {
    read.note(delayMs, limitMs: limits.standingDelayMs, at: now)
  }
}
