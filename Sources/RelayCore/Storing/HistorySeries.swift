/// The length of a look back, and of its steps.
package enum HistorySpan: String, CaseIterable, Sendable {
  /// The last hour, by minutes.
  case hour
  /// The last day, by five minutes.
  case day

  /// The length of a step in minutes.
  package var stepMinutes: Int64 { self == .hour ? 1 : 5 }
  /// The number of steps.
  package var stepCount: Int { Int((self == .hour ? 60 : 24 * 60) / stepMinutes) }
}

/// The figures of a span, step by step, summed up from rows.
///
/// A pure value. Rows are added up, and delays by their buckets, so that a step's percentiles are
/// those of all its deliveries and no average of percentiles. A minute without a row is one in
/// which nothing happened, and as many wait as before.
package struct HistorySeries: Sendable {
  /// One step.
  package struct Point: Sendable, Equatable {
    /// The time at which it begins.
    package var at: WallTime
    /// The number of posts accepted, including those that took a waiting envelope's place.
    package var accepted: Int64
    /// The number delivered.
    package var delivered: Int64
    /// The number that became dead letters.
    package var failed: Int64
    /// The number waiting at the end of the step; nil if it is not known.
    package var waiting: Int64?
    /// The time within which half of the delivered ones were delivered, in milliseconds; nil for
    /// none.
    package var p50Ms: Int64?
    /// The same for 99 of 100.
    package var p99Ms: Int64?
  }

  private struct Waiting {
    var minute: Minute
    var count: Int64
  }

  /// The span of the series.
  package let span: HistorySpan
  /// The first minute.
  package let begin: Minute
  /// The minute after the last one: the running step, which is incomplete, is left out.
  package let end: Minute
  private var sums: [HistoryFigures]
  /// The last known number of waiting envelopes in each step, for each upstream; the first entry is
  /// from before the first step.
  private var waiting: [UpstreamNumber: [Waiting?]] = [:]

  /// Makes an empty series for the span before a time.
  package init(_ span: HistorySpan, before now: WallTime) {
    self.span = span
    let running = Minute(of: now).rawValue
    end = Minute(rawValue: running - running % span.stepMinutes)
    begin = end.adding(-Int64(span.stepCount) * span.stepMinutes)
    sums = Array(repeating: HistoryFigures(), count: span.stepCount)
  }

  /// Adds a row; one from before the first step only tells how many waited.
  ///
  /// Of several rows of one upstream and minute, the last one added tells that.
  package mutating func add(_ row: HistoryRow) {
    guard row.place.minute < end else { return }
    let minutes = row.place.minute.rawValue - begin.rawValue
    let isBefore = minutes < 0
    let step = isBefore ? -1 : Int(minutes / span.stepMinutes)
    if !isBefore { sums[step].merge(row.figures) }
    noteWaiting(row, in: step + 1)
  }

  private mutating func noteWaiting(_ row: HistoryRow, in place: Int) {
    let unknown = [Waiting?](repeating: nil, count: span.stepCount + 1)
    // In place: copying for each row would cost more than everything else.
    Self.note(
      Waiting(minute: row.place.minute, count: row.figures.waiting),
      in: &waiting[row.place.upstream, default: unknown][place])
  }

  private static func note(_ new: Waiting, in known: inout Waiting?) {
    if known.map({ $0.minute <= new.minute }) ?? true { known = new }
  }

  /// The steps, oldest first.
  package var points: [Point] {
    var counts: [UpstreamNumber: Int64] = [:]
    for (upstream, known) in waiting { counts[upstream] = known[0]?.count }
    return sums.indices.map { step in
      for (upstream, known) in waiting {
        if let count = known[step + 1]?.count { counts[upstream] = count }
      }
      let sum = sums[step]
      return Point(
        at: begin.adding(Int64(step) * span.stepMinutes).begin, accepted: sum.accepted,
        delivered: sum.delivered, failed: sum.failed,
        waiting: counts.isEmpty ? nil : counts.values.reduce(0, +),
        p50Ms: sum.delays.quantile(0.5), p99Ms: sum.delays.quantile(0.99))
    }
  }
}
