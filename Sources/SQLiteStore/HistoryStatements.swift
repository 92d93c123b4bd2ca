import RelayCore

/// What the writer says to the history, prepared once.
final class HistoryStatements {
  let find: Statement
  let put: Statement
  let upstreams: Statement
  let forgetOld: Statement
  let forgetFuture: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    find = try Statement(
      """
      SELECT \(HistoryQuestions.columns) FROM history WHERE upstream = ? AND minute = ?
      """, on: connection)
    put = try Statement(
      """
      INSERT OR REPLACE INTO history \
      (upstream, minute, accepted, delivered, failed, waiting, delays) VALUES (?, ?, ?, ?, ?, ?, ?)
      """, on: connection)
    upstreams = try Statement(HistoryQuestions.upstreams, on: connection)
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

/// What readers ask the history, prepared once.
final class HistoryQuestions {
  let upstreams: Statement
  let before: Statement
  let rows: Statement

  static let columns = "upstream, minute, accepted, delivered, failed, waiting, delays"
  /// Those that have rows: as many looks as there are upstreams, however many rows there are.
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

extension Writer {
  /// Adds rows to the history, and forgets some that have had their time.
  func writeHistory(_ rows: [HistoryRow], now: Minute) throws(StoreError) {
    for row in rows { try write(row) }
    for upstream in try Self.upstreams(history.upstreams) {
      history.forgetOld.bind(1, upstream)
      history.forgetOld.bind(2, now.rawValue - HistoryLimits.minutesKept)
      history.forgetOld.bind(3, Int64(StoreTuning.historyRowsForgottenMax))
      try history.forgetOld.run()
      // A clock that is only adjusted leaves nothing further ahead than the next minute.
      history.forgetFuture.bind(1, upstream)
      history.forgetFuture.bind(2, now.rawValue + 1)
      try history.forgetFuture.run()
    }
  }

  private func write(_ row: HistoryRow) throws(StoreError) {
    history.find.bind(1, Int64(row.place.upstream.rawValue))
    history.find.bind(2, row.place.minute.rawValue)
    var figures = row.figures
    if try history.find.step() {
      figures = HistoryRow(history.find).figures
      history.find.reset()
      figures.merge(row.figures)
    }
    history.put.bind(1, Int64(row.place.upstream.rawValue))
    history.put.bind(2, row.place.minute.rawValue)
    history.put.bind(3, figures.accepted)
    history.put.bind(4, figures.delivered)
    history.put.bind(5, figures.failed)
    history.put.bind(6, figures.waiting)
    history.put.bind(7, HistoryCode.bytes(of: figures.delays))
    try history.put.run()
  }

  fileprivate static func upstreams(
    _ statement: borrowing Statement
  ) throws(StoreError) -> [Int64] {
    var numbers: [Int64] = []
    while try statement.step() { numbers.append(statement.int(0)) }
    return numbers
  }
}

extension Reader {
  /// Adds what a series asks for to it.
  func readHistory(
    into series: HistorySeries, of upstream: UpstreamNumber?
  ) throws(StoreError) -> HistorySeries {
    try snapshot { () throws(StoreError) in
      var series = series
      let numbers =
        if let upstream { [Int64(upstream.rawValue)] } else {
          try Writer.upstreams(history.upstreams)
        }
      for number in numbers {
        history.before.bind(1, number)
        history.before.bind(2, series.begin.rawValue)
        while try history.before.step() { series.add(HistoryRow(history.before)) }
        history.rows.bind(1, number)
        history.rows.bind(2, series.begin.rawValue)
        history.rows.bind(3, series.end.rawValue)
        while try history.rows.step() { series.add(HistoryRow(history.rows)) }
      }
      return series
    }
  }
}

extension HistoryRow {
  /// The present row, in the order of ``HistoryQuestions/columns``.
  ///
  /// Delays that make no sense are left out: they are no reason to show no chart at all.
  fileprivate init(_ row: borrowing Statement) {
    var figures = HistoryFigures()
    figures.accepted = row.int(2)
    figures.delivered = row.int(3)
    figures.failed = row.int(4)
    figures.waiting = row.int(5)
    if let delays = HistoryCode.delays(row.bytes(6)) { figures.delays = delays }
    let upstream = UpstreamNumber(rawValue: Int32(truncatingIfNeeded: row.int(0)))
    self.init(HistoryPlace(Minute(rawValue: row.int(1)), upstream), figures)
  }
}
