/// Decides which spans are exported, and when.
///
/// A value that is told of spans, answers and the time.
///
/// One batch is under way at a time. A collector that is away or busy is asked again with longer
/// and longer waits, or after the time that it names (OTLP 1.x, "OTLP/HTTP Throttling"); meanwhile
/// spans wait, bounded in number and bytes, and those that find no room are dropped and counted.
/// The oldest stay: the beginning of an outage tells more than its middle.
package struct SpanQueue: Sendable {
  /// The limits of the queue and of batches.
  package struct Limits: Sendable, Equatable {
    /// The most spans that wait, those of the running batch included.
    package var spansMax = 8192
    /// The most bytes that they have, about.
    package var bytesMax = 16 * 1024 * 1024
    /// The most spans in one request.
    package var batchSpansMax = 512
    /// The longest time that a span waits for others to go with it, in milliseconds.
    package var batchDelayMs = 5000

    /// The defaults.
    package init() {}
  }

  /// The result of a batch.
  package enum Outcome: Sendable, Equatable {
    /// The collector took it, except so many spans.
    case taken(rejectedCount: Int)
    /// The collector will never take it.
    case refused
    /// The collector may take it later; after so many milliseconds, if it says when.
    case tryAgain(afterMs: Int64?)
  }

  /// Counts of what happened to spans since the start.
  package struct Figures: Sendable, Equatable {
    /// Taken by the collector.
    package var exported: UInt64 = 0
    /// Dropped, since there was no room.
    package var full: UInt64 = 0
    /// Refused by the collector.
    package var refused: UInt64 = 0
    /// Given up, since the relay ended or was told to export no more before they were taken.
    package var abandoned: UInt64 = 0
    /// Ends that may have belonged to traces, but were too many to be looked up.
    package var skipped: UInt64 = 0
    /// Waiting now.
    package var waiting = 0
  }

  /// The next step of the exporter.
  package enum Outlook: Sendable, Equatable {
    /// Nothing until the next event.
    case nothing
    /// Nothing before this time.
    case wait(until: MonotonicTime)
    /// A batch can go out: see ``SpanQueue/takeBatch(at:)``.
    case send
  }

  /// The waits after failures: from a second up to a minute; `Retry-After` is honoured up to ten
  /// minutes.
  package static let retry = RetryPolicy(
    firstDelayMs: 1000, maxDelayMs: 60_000, factor: 2, retryAfterMaxMs: 600_000)

  /// The limits in force.
  package var limits: Limits
  private var spans = Deque<TraceSpan>()
  /// The batch that was handed out last and has not been taken yet.
  private var batch: [TraceSpan] = []
  private var isUnderWay = false
  private var bytes = 0
  /// The time until which waiting spans may wait for others.
  private var dueAt: MonotonicTime?
  /// The time before which nothing is sent, since the collector was away or busy.
  private var restsUntil: MonotonicTime?
  private var failures = 0
  private var haste = Haste.none
  private var counts = Figures()

  private enum Haste { case none, noWaiting, lastTry }

  /// An empty queue.
  package init(_ limits: Limits = Limits()) { self.limits = limits }

  /// The numbers of spans so far, by what happened to them.
  package var figures: Figures {
    var figures = counts
    figures.waiting = count
    return figures
  }

  /// Whether nothing waits and no batch is running.
  package var isEmpty: Bool { count == 0 }

  /// Whether the collector did not take the last batch that it was sent.
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

  /// The next step now.
  package func outlook(at now: MonotonicTime) -> Outlook {
    guard !isUnderWay, count > 0 else { return .nothing }
    if haste == .lastTry { return .send }
    if let restsUntil, now < restsUntil { return .wait(until: restsUntil) }
    guard batch.isEmpty, haste == .none, spans.count < limits.batchSpansMax, let dueAt, now < dueAt
    else { return .send }
    return .wait(until: dueAt)
  }

  /// Hands out a batch, which is running from then on; nil unless ``outlook(at:)`` says to send.
  package mutating func takeBatch(at now: MonotonicTime) -> [TraceSpan]? {
    guard outlook(at: now) == .send else { return nil }
    if batch.isEmpty {
      while batch.count < limits.batchSpansMax, let span = spans.popFirst() { batch.append(span) }
      dueAt = spans.isEmpty ? nil : now.adding(milliseconds: Int64(limits.batchDelayMs))
    }
    isUnderWay = true
    return batch
  }

  /// Notes the result of the batch that was handed out last.
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

  /// Notes that another collector is used from now on.
  ///
  /// A batch that is running counts as unsent, and goes to the new one at once.
  package mutating func collectorChanged() {
    isUnderWay = false
    (failures, restsUntil) = (0, nil)
  }

  /// Sends spans without waiting for others from now on.
  package mutating func hurry() { if haste == .none { haste = .noWaiting } }

  /// Sends everything at once; whatever is not taken then is given up.
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
