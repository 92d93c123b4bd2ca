import RelayCore

/// The writer's statements on the history, prepared once.
final class HistoryStatements {
  let find: Statement
  let put: Statement
  let upstreams: Statement
  let forgetOld: Statement
  let forgetFuture: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    find = try Statement(
      """
      SELECT \(HistoryQueries.columns) FROM history WHERE upstream = ? AND minute = ?
      """, on: connection)
    put = try Statement(
      """
      INSERT OR REPLACE INTO history \
      (upstream, minute, accepted, delivered, failed, waiting, delays) VALUES (?, ?, ?, ?, ?, ?, ?)
      """, on: connection)
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
}

/// The readers' queries of the history, prepared once.
final class HistoryQueries {
  let upstreams: Statement
  let before: Statement
  let rows: Statement

  static let columns = "upstream, minute, accepted, delivered, failed, waiting, delays"
  /// The upstreams that have rows; it takes one look-up for each upstream, however many rows there
  /// are.
  static let upstreams = """
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
}
