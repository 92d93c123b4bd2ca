/// What is to be exported, and when: a value that is told of spans, answers and the time.
///
/// One batch is under way at a time. A collector that is away or busy is asked again with longer
/// and longer waits, or after the time that it names (OTLP 1.x, "OTLP/HTTP Throttling"); meanwhile
/// spans wait, bounded in number and bytes, and those that find no room are dropped and counted.
/// What waits longest stays: an outage's beginning tells more than its middle.
package struct SpanQueue: Sendable {
  /// How much may wait, and how it goes out.
  package struct Limits: Sendable, Equatable {
    /// How many spans wait at the most, the batch that is under way included.
    package var spansMax = 8192
    /// How many bytes they may have, about.
    package var bytesMax = 16 * 1024 * 1024
    /// How many spans go out in one request at the most.
    package var batchSpansMax = 512
    /// How long a span waits for others to go with, in milliseconds.
    package var batchDelayMs = 5000

    /// The limits as they stand unless someone changes them.
    package init() {}
  }

  /// What came of a batch.
  package enum Outcome: Sendable, Equatable {
    /// The collector took it, but for so many spans.
    case taken(rejectedCount: Int)
    /// It will not take it another time either.
    case refused
    /// It may take it later; after so many milliseconds, if it says when.
    case tryAgain(afterMs: Int64?)
  }

  /// How often what became of spans, since the start.
  package struct Figures: Sendable, Equatable {
    /// The collector took them.
    package var exported: UInt64 = 0
    /// There was no room for them.
    package var full: UInt64 = 0
    /// The collector would not have them.
    package var refused: UInt64 = 0
    /// The relay ended, or was told to export no more, before they were taken.
    package var abandoned: UInt64 = 0
    /// Ends that may have belonged to traces, and were not looked up since there were too many.
    package var skipped: UInt64 = 0
    /// How many wait now.
    package var waiting = 0
  }

  /// What there is to be done.
  package enum Outlook: Sendable, Equatable {
    /// Nothing until something happens.
    case nothing
    /// Nothing before this time.
    case wait(until: MonotonicTime)
    /// A batch can go out: see ``SpanQueue/takeBatch(at:)``.
    case send
  }

  /// The waits after failures: from a second up to a minute, `Retry-After` up to ten.
  package static let retry = RetryPolicy(
    firstDelayMs: 1000, maxDelayMs: 60_000, factor: 2, retryAfterMaxMs: 600_000)

  /// How much may wait, and how it goes out.
  package var limits: Limits
  private var spans = Deque<TraceSpan>()
  /// What was handed out last and has not been taken yet.
  private var batch: [TraceSpan] = []
  private var isUnderWay = false
  private var bytes = 0
  /// Until when those that wait may wait for others.
  private var dueAt: MonotonicTime?
  /// Not to be sent before this time, since the collector was away or busy.
  private var restsUntil: MonotonicTime?
  private var failures = 0
  private var haste = Haste.none
  private var counts = Figures()

  private enum Haste { case none, noWaiting, lastTry }

  /// An empty queue.
  package init(_ limits: Limits = Limits()) { self.limits = limits }

  /// What became of spans so far.
  package var figures: Figures {
    var figures = counts
    figures.waiting = count
    return figures
  }

  /// Whether nothing waits, and nothing is under way.
  package var isEmpty: Bool { count == 0 }

  /// Whether the collector has not taken the last batch that it was sent.
  package var isFailing: Bool { failures > 0 }

  private var count: Int { batch.count + spans.count }

  // MARK: - Events

  /// Adds a span; false if there was no room for it.
  package mutating func add(_ span: TraceSpan, at now: MonotonicTime) -> Bool {
    let size = span.byteCount
    guard count < limits.spansMax, bytes + size <= limits.bytesMax else {
      counts.full += 1
      return false
    }
    bytes += size
    if spans.isEmpty { dueAt = now.adding(milliseconds: Int64(limits.batchDelayMs)) }
    spans.append(span)
    return true
  }

  /// Counts ends that were not looked up.
  package mutating func countSkipped(_ count: Int) { counts.skipped += UInt64(count) }

  /// What there is to be done now.
  package func outlook(at now: MonotonicTime) -> Outlook {
    guard !isUnderWay, count > 0 else { return .nothing }
    if haste == .lastTry { return .send }
    if let restsUntil, now < restsUntil { return .wait(until: restsUntil) }
    guard batch.isEmpty, haste == .none, spans.count < limits.batchSpansMax, let dueAt, now < dueAt
    else { return .send }
    return .wait(until: dueAt)
  }

  /// Hands a batch out, which is under way then; nil unless ``outlook(at:)`` says to send.
  package mutating func takeBatch(at now: MonotonicTime) -> [TraceSpan]? {
    guard outlook(at: now) == .send else { return nil }
    if batch.isEmpty {
      while batch.count < limits.batchSpansMax, let span = spans.popFirst() { batch.append(span) }
      dueAt = spans.isEmpty ? nil : now.adding(milliseconds: Int64(limits.batchDelayMs))
    }
    isUnderWay = true
    return batch
  }

  /// What came of the batch that was handed out last.
  package mutating func ended(
    _ outcome: Outcome, at now: MonotonicTime, random: inout some RandomNumberGenerator
  ) {
    guard isUnderWay else { return }
    isUnderWay = false
    switch outcome {
    case .taken(let rejectedCount):
      let rejected = UInt64(min(max(0, rejectedCount), batch.count))
      counts.exported += UInt64(batch.count) - rejected
      counts.refused += rejected
      forgetBatch()
      (failures, restsUntil) = (0, nil)
    case .refused:
      counts.refused += UInt64(batch.count)
      forgetBatch()
      failures += 1
      restsUntil = nil
    case .tryAgain where haste == .lastTry:
      failures += 1
      abandon()
    case .tryAgain(let afterMs):
      failures += 1
      let delayMs = Self.retry.delayMs(
        afterFailures: failures, retryAfterMs: afterMs, random: &random)
      restsUntil = now.adding(milliseconds: delayMs)
    }
  }

  /// The batch that was handed out last has gone nowhere, since another collector is asked from now
  /// on: it goes there, and at once.
  package mutating func collectorChanged() {
    isUnderWay = false
    (failures, restsUntil) = (0, nil)
  }

  /// Nothing waits for others to go with from now on.
  package mutating func hurry() { if haste == .none { haste = .noWaiting } }

  /// Everything is sent at once, and what is not taken then is given up.
  package mutating func tryOnceMore() { haste = .lastTry }

  /// Gives up all that waits.
  package mutating func abandon() {
    counts.abandoned += UInt64(count)
    batch = []
    spans = Deque()
    bytes = 0
    isUnderWay = false
    dueAt = nil
  }

  private mutating func forgetBatch() {
    for span in batch { bytes -= span.byteCount }
    batch = []
  }
}
