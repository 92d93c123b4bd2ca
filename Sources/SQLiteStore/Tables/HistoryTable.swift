import RelayCore
import SQLite

/// The history, as the writer keeps it.
final class HistoryStatements {
  private let find: Statement
  private let put: Statement
  private let upstreams: Statement
  private let forgetOld: Statement
  private let forgetFuture: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    let columns = HistoryQueries.columns
    find = try Statement(
      "SELECT \(columns) FROM history WHERE upstream = ? AND minute = ?", on: connection)
    put = try Statement(
      "INSERT OR REPLACE INTO history (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?)", on: connection)
    upstreams = try Statement(HistoryQueries.upstreams, on: connection)
    forgetOld = try Statement(
      """
      DELETE FROM history WHERE upstream = ?1 AND minute IN (SELECT minute FROM history \
      WHERE upstream = ?1 AND minute < ?2 \
      AND minute < (SELECT max(minute) FROM history WHERE upstream = ?1) ORDER BY minute LIMIT ?3)
      """, on: connection)
    forgetFuture = try Statement(
      "DELETE FROM history WHERE upstream = ? AND minute > ?", on: connection)
  }

  /// Adds rows to the history, and deletes some old ones.
  func write(_ rows: [HistoryRow], now: Minute) throws(StoreError) {
    for row in rows { try write(row) }
    for upstream in try upstreams.rows(read: { $0.int(0) }) {
      try forgetOld.run(
        upstream, now.rawValue - HistoryLimits.minutesKept, StoreTuning.historyRowsForgottenMax)
      // A clock that is only adjusted leaves no row beyond the next minute.
      try forgetFuture.run(upstream, now.rawValue + 1)
    }
  }

  private func write(_ row: HistoryRow) throws(StoreError) {
    let (upstream, minute) = (row.place.upstream, row.place.minute.rawValue)
    var figures = row.figures
    if let stored = try find.first(upstream, minute, read: HistoryRow.init(_:)) {
      figures = stored.figures
      figures.merge(row.figures)
    }
    try put.run(
      upstream, minute, figures.accepted, figures.delivered, figures.failed, figures.waiting,
      HistoryCode.bytes(of: figures.delays))
  }
}

/// The history, as the readers see it.
final class HistoryQueries {
  private let upstreams: Statement
  private let before: Statement
  private let rows: Statement

  fileprivate static let columns = "upstream, minute, accepted, delivered, failed, waiting, delays"
  /// The upstreams that have rows; it takes one look-up for each upstream, however many rows there
  /// are.
  fileprivate static let upstreams = """
    WITH RECURSIVE known (number) AS (SELECT min(upstream) FROM history UNION ALL \
    SELECT (SELECT min(upstream) FROM history WHERE upstream > number) FROM known \
    WHERE number IS NOT NULL) SELECT number FROM known WHERE number IS NOT NULL
    """

  init(on connection: borrowing Connection) throws(StoreError) {
    upstreams = try Statement(Self.upstreams, on: connection)
    before = try Statement(
      """
      SELECT \(Self.columns) FROM history WHERE upstream = ? AND minute < ? \
      ORDER BY minute DESC LIMIT 1
      """, on: connection)
    rows = try Statement(
      """
      SELECT \(Self.columns) FROM history WHERE upstream = ? AND minute >= ? AND minute < ? \
      ORDER BY minute
      """, on: connection)
  }

  /// Adds the rows that a series needs to it; read within a snapshot.
  func read(
    into series: HistorySeries, of upstream: UpstreamNumber?
  ) throws(StoreError) -> HistorySeries {
    var series = series
    let (begin, end) = (series.begin.rawValue, series.end.rawValue)
    let numbers =
      if let upstream { [Int64(upstream.rawValue)] } else { try upstreams.rows { $0.int(0) } }
    for number in numbers {
      if let row = try before.first(number, begin, read: HistoryRow.init(_:)) { series.add(row) }
      rows.set(number, begin, end)
      while try rows.step() { series.add(HistoryRow(rows)) }
    }
    return series
  }
}

extension HistoryRow {
  /// The present row, in the order of ``HistoryQueries/columns``.
  ///
  /// Invalid delays are left out: they are no reason to show no chart at all.
  fileprivate init(_ row: borrowing Statement) {
    var figures = HistoryFigures()
    figures.accepted = row.int(2)
    figures.delivered = row.int(3)
    figures.failed = row.int(4)
    figures.waiting = row.int(5)
    if let delays = HistoryCode.delays(row.bytes(6)) { figures.delays = delays }
    self.init(HistoryPlace(Minute(rawValue: row.int(1)), row.upstream(0)), figures)
  }
}

extension HistoryCode {
  /// Whether a row that was found in a damaged store can be one of the history.
  static func isSensible(_ values: [StoredValue]) -> Bool {
    guard values.count == 7, let bytes = values[6].blob, delays(bytes) != nil else { return false }
    return values[..<6].allSatisfy { ($0.integer ?? -1) >= 0 }
  }
}
