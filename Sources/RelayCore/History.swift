/// A minute of the wall clock, counted from the Unix epoch.
package struct Minute: Hashable, Comparable, Sendable {
  /// How many minutes lie between the epoch and its beginning.
  package let rawValue: Int64
  /// Wraps a number of minutes.
  package init(rawValue: Int64) { self.rawValue = rawValue }

  /// The minute in which a time lies; the epoch's for what lies before it.
  package init(of time: WallTime) { rawValue = max(0, time.millisecondsSinceEpoch) / Self.ms }

  /// How many milliseconds it has.
  package static let ms: Int64 = 60_000

  /// When it begins.
  package var begin: WallTime { WallTime(millisecondsSinceEpoch: rawValue * Self.ms) }
  /// When it is over.
  package var end: WallTime { adding(1).begin }

  /// So many minutes later.
  package func adding(_ count: Int64) -> Minute { Minute(rawValue: rawValue + count) }

  /// Orders by time.
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// What has happened at one upstream in one minute.
package struct HistoryFigures: Sendable, Equatable {
  /// How many envelopes were accepted for it.
  package var accepted: Int64 = 0
  /// How many were delivered.
  package var delivered: Int64 = 0
  /// How many became dead letters.
  package var failed: Int64 = 0
  /// How many waited when the minute was over.
  package var waiting: Int64 = 0
  /// How long those that were delivered took from their acceptance, in milliseconds.
  package var delays = Histogram(.chartMilliseconds)

  /// Nothing has happened.
  package init() {}

  /// Adds what happened later in the same minute.
  package mutating func merge(_ later: HistoryFigures) {
    accepted += later.accepted
    delivered += later.delivered
    failed += later.failed
    waiting = later.waiting
    delays.merge(later.delays)
  }
}

/// Of which minute and which upstream figures are.
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

/// Figures in their place.
package struct HistoryRow: Sendable, Equatable {
  /// Whose they are.
  package var place: HistoryPlace
  /// What they are.
  package var figures: HistoryFigures

  /// Puts a row together.
  package init(_ place: HistoryPlace, _ figures: HistoryFigures) {
    self.place = place
    self.figures = figures
  }
}

extension UpstreamNumber {
  /// Stands for all upstreams that have no history of their own; given out to none.
  package static let others = UpstreamNumber(rawValue: 0)
}

/// What bounds the history.
package enum HistoryLimits {
  /// How many upstreams have a history of their own: the first of the configuration.
  ///
  /// What happens at all others is counted together.
  package static let upstreamsMax = 100
  /// How many minutes are kept.
  package static let minutesKept: Int64 = 24 * 60
  /// How many minutes that could not be written are kept in memory; then the oldest go.
  package static let minutesUnwrittenMax: Int64 = 60
  /// How many rows are written at once, so that nobody feels it.
  package static let rowsPerWriteMax = 200
}

/// Where the history is kept: a ring of one row a minute and upstream, for those minutes in which
/// something happened.
///
/// All calls may come from any thread.
package protocol HistoryStore: Sendable {
  /// Writes rows, durably; what is there already of the same minute and upstream is added to.
  ///
  /// Rows that are older than ``HistoryLimits/minutesKept`` go, up to each upstream's last, which
  /// says how many wait; so do rows of minutes that are yet to come, as a clock that was set back
  /// leaves them.
  func writeHistory(_ rows: [HistoryRow], now: Minute) async throws(StoreError)

  /// Adds all rows that a series asks for to it.
  ///
  /// - Parameter upstream: Whose rows; nil for all.
  func readHistory(
    into series: HistorySeries, of upstream: UpstreamNumber?
  ) async throws(StoreError) -> HistorySeries
}
