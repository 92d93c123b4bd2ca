/// A minute of the wall clock, counted from the Unix epoch.
package struct Minute: Hashable, Comparable, Sendable {
  /// The number of minutes from the epoch to its beginning.
  package let rawValue: Int64
  /// Wraps a number of minutes.
  package init(rawValue: Int64) { self.rawValue = rawValue }

  /// The minute that contains a time; the epoch's minute for earlier times.
  package init(of time: WallTime) { rawValue = max(0, time.millisecondsSinceEpoch) / Self.ms }

  /// The length of a minute in milliseconds.
  package static let ms: Int64 = 60_000

  /// The time at which it begins.
  package var begin: WallTime { WallTime(millisecondsSinceEpoch: rawValue * Self.ms) }
  /// The time at which it is over.
  package var end: WallTime { adding(1).begin }

  /// The minute `count` minutes later.
  package func adding(_ count: Int64) -> Minute { Minute(rawValue: rawValue + count) }

  /// Orders by time.
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The figures of one upstream in one minute.
package struct HistoryFigures: Sendable, Equatable {
  /// The number of posts accepted for it, including those that took a waiting envelope's place.
  package var accepted: Int64 = 0
  /// The number delivered.
  package var delivered: Int64 = 0
  /// The number that became dead letters.
  package var failed: Int64 = 0
  /// The number waiting at the end of the minute.
  package var waiting: Int64 = 0
  /// The times from acceptance to delivery of the delivered ones, in milliseconds.
  package var delays = Histogram(.chartMilliseconds)

  /// Starts with nothing.
  package init() {}

  /// Adds figures from later in the same minute.
  package mutating func merge(_ later: HistoryFigures) {
    accepted += later.accepted
    delivered += later.delivered
    failed += later.failed
    waiting = later.waiting
    delays.merge(later.delays)
  }
}

/// The minute and the upstream of some figures.
package struct HistoryPlace: Hashable, Sendable {
  /// The minute.
  package var minute: Minute
  /// The upstream; ``UpstreamNumber/others`` for those that are counted together.
  package var upstream: UpstreamNumber

  /// Names a place.
  package init(_ minute: Minute, _ upstream: UpstreamNumber) {
    self.minute = minute
    self.upstream = upstream
  }
}

/// Figures with their place.
package struct HistoryRow: Sendable, Equatable {
  /// The minute and the upstream.
  package var place: HistoryPlace
  /// The figures.
  package var figures: HistoryFigures

  /// Puts a row together.
  package init(_ place: HistoryPlace, _ figures: HistoryFigures) {
    self.place = place
    self.figures = figures
  }
}

extension UpstreamNumber {
  /// All upstreams without a history of their own; no upstream has this number.
  package static let others = UpstreamNumber(rawValue: 0)
}

/// The limits of the history.
package enum HistoryLimits {
  /// The most upstreams with a history of their own: the first of the configuration.
  ///
  /// All others are counted together.
  package static let upstreamsMax = 100
  /// The number of minutes that are kept.
  package static let minutesKept: Int64 = 24 * 60
  /// The number of unwritten minutes that are kept in memory; older ones are dropped.
  package static let minutesUnwrittenMax: Int64 = 60
  /// The most rows written at once, so that a write is short.
  package static let rowsPerWriteMax = 200
}

/// A store of the history: one row for each minute and upstream in which something happened, for a
/// limited time.
///
/// All calls may come from any thread.
package protocol HistoryStore: Sendable {
  /// Writes rows durably; figures are added to a stored row of the same minute and upstream.
  ///
  /// Rows older than ``HistoryLimits/minutesKept`` are deleted, except each upstream's last, which
  /// says how many wait. So are rows of minutes in the future, as a clock that was set back leaves
  /// them.
  func writeHistory(_ rows: [HistoryRow], now: Minute) async throws(StoreError)

  /// Adds all rows that a series needs to it.
  ///
  /// - Parameter upstream: The upstream whose rows to add; nil for all.
  func readHistory(
    into series: HistorySeries, of upstream: UpstreamNumber?
  ) async throws(StoreError) -> HistorySeries
}
