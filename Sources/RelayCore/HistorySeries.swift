/// How long a look back is, and in what steps.
package enum HistorySpan: String, CaseIterable, Sendable {
  /// The last hour, by the minute.
  case hour
  /// The last day, by five minutes.
  case day

  /// How many minutes a step has.
  package var stepMinutes: Int64 { self == .hour ? 1 : 5 }
  /// How many steps there are.
  package var stepCount: Int { Int((self == .hour ? 60 : 24 * 60) / stepMinutes) }
}

/// The figures of a span, step by step, put together of rows.
///
/// A pure value. Rows are added up, delays by their buckets, so that a step's percentiles are those
/// of all its deliveries and no average of percentiles. Where there is no row nothing has happened,
/// and as many wait as before.
package struct HistorySeries: Sendable {
  /// One step.
  package struct Point: Sendable, Equatable {
    /// When it begins.
    package var at: WallTime
    /// How many envelopes were accepted.
    package var accepted: Int64
    /// How many were delivered.
    package var delivered: Int64
    /// How many became dead letters.
    package var failed: Int64
    /// How many waited when it was over; nil where that is not known.
    package var waiting: Int64?
    /// How long half of those that were delivered took at most, in milliseconds; nil for none.
    package var p50Ms: Int64?
    /// The same for 99 of 100.
    package var p99Ms: Int64?
  }

  private struct Waiting {
    var minute: Minute
    var count: Int64
  }

  /// The span that it is of.
  package let span: HistorySpan
  /// The first minute.
  package let begin: Minute
  /// The minute behind the last: the running step, which is not whole, is not shown.
  package let end: Minute
  private var sums: [HistoryFigures]
  /// What was last known in each step of how many waited, for each upstream; in the first place
  /// from before the first step.
  private var waiting: [UpstreamNumber: [Waiting?]] = [:]

  /// An empty series of what lies behind this time.
  package init(_ span: HistorySpan, before now: WallTime) {
    self.span = span
    let running = Minute(of: now).rawValue
    end = Minute(rawValue: running - running % span.stepMinutes)
    begin = end.adding(-Int64(span.stepCount) * span.stepMinutes)
    sums = Array(repeating: HistoryFigures(), count: span.stepCount)
  }

  /// Adds a row; one of before the first step says only how many waited.
  ///
  /// Of the rows of one upstream and minute the last one added says that.
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
    // In place: a copy for each row would cost more than all the rest.
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
