#if PostgreSQL
import Postgres
import RelayCore

extension DatabaseWriter {
  /// Adds rows to this process's history, and deletes some old ones of any process.
  func writeHistory(_ rows: [HistoryRow], now: Minute) throws(StoreError) {
    var figures = try historyFigures(at: Set(rows.map(\.place)))
    for row in rows {
      if figures[row.place] == nil {
        figures[row.place] = row.figures
      } else {
        figures[row.place]?.merge(row.figures)
      }
    }
    var commands: [PostgresCommand] = []
    if !figures.isEmpty {
      commands = [.put(history: figures, of: seat.process), .closeHistory(of: figures.keys)]
    }
    try write(commands + [.forgetOldHistory(now), .forgetFutureHistory(now)], shards: [])
  }

  /// What this process has written of these places before: nobody else adds to it.
  private func historyFigures(
    at places: Set<HistoryPlace>
  ) throws(StoreError) -> [HistoryPlace: HistoryFigures] {
    guard !places.isEmpty else { return [:] }
    let rows = try read([
      PostgresCommand(
        sql: """
          SELECT \(ProcessHistoryRow.columns)
          FROM unnest($1, $2) AS asked(upstream, minute)
          JOIN history USING (upstream, minute) WHERE process = $3
          """,
        [
          .int32s(places.map(\.upstream.rawValue)), .int64s(places.map(\.minute.rawValue)),
          .int64(seat.process),
        ])
    ])[0]
    var figures: [HistoryPlace: HistoryFigures] = [:]
    for index in 0..<rows.count {
      let row = ProcessHistoryRow(rows, index).row
      figures[row.place] = row.figures
    }
    return figures
  }
}

extension DatabaseReader {
  /// Adds the rows that a series needs to it, those of all processes added up.
  func readHistory(
    into series: HistorySeries, of upstream: UpstreamNumber?
  ) throws(StoreError) -> HistorySeries {
    // One upstream at a time: all rows of a day are many.
    var series = series
    let numbers = if let upstream { [upstream.rawValue] } else { try historyUpstreams() }
    for number in numbers {
      let values: [PostgresValue] = [
        .int32(number), .int64(series.begin.rawValue), .int64(series.end.rawValue),
      ]
      let answers = try run([
        PostgresCommand(
          sql: """
            SELECT \(ProcessHistoryRow.columns) FROM (
              SELECT DISTINCT ON (process) * FROM history WHERE upstream = $1 AND minute < $2
              ORDER BY process, minute DESC
            ) AS latest ORDER BY minute
            """, Array(values.prefix(2))),
        PostgresCommand(
          sql: """
            SELECT \(ProcessHistoryRow.columns) FROM history
            WHERE upstream = $1 AND minute >= $2 AND minute < $3 ORDER BY minute
            """, values),
      ])
      var waiting: [Int64: Int64] = [:]
      for rows in answers {
        for index in 0..<rows.count {
          var row = ProcessHistoryRow(rows, index)
          waiting[row.process] = row.row.figures.waiting
          row.row.figures.waiting = waiting.values.reduce(0, &+)
          series.add(row.row)
        }
      }
    }
    return series
  }

  /// The upstreams that have rows; it takes one look-up for each of them.
  private func historyUpstreams() throws(StoreError) -> [Int32] {
    let rows = try run([
      PostgresCommand(
        """
        WITH RECURSIVE known(upstream) AS (
          SELECT min(upstream) FROM history
          UNION ALL
          SELECT (SELECT min(upstream) FROM history WHERE upstream > known.upstream) FROM known
          WHERE upstream IS NOT NULL
        )
        SELECT upstream FROM known WHERE upstream IS NOT NULL
        """)
    ])[0]
    return (0..<rows.count).map { rows.int32($0, 0) }
  }
}

extension PostgresCommand {
  fileprivate static func put(
    history figures: [HistoryPlace: HistoryFigures], of process: Int64
  ) -> PostgresCommand {
    let rows = Array(figures)
    return PostgresCommand(
      """
      INSERT INTO history
      SELECT upstream, minute, $8, accepted, delivered, failed, waiting, delays
      FROM unnest($1, $2, $3, $4, $5, $6, $7)
        AS new(upstream, minute, accepted, delivered, failed, waiting, delays)
      ON CONFLICT (upstream, minute, process) DO UPDATE SET accepted = excluded.accepted,
        delivered = excluded.delivered, failed = excluded.failed, waiting = excluded.waiting,
        delays = excluded.delays
      """,
      [
        .int32s(rows.map(\.key.upstream.rawValue)), .int64s(rows.map(\.key.minute.rawValue)),
        .int64s(rows.map(\.value.accepted)), .int64s(rows.map(\.value.delivered)),
        .int64s(rows.map(\.value.failed)), .int64s(rows.map(\.value.waiting)),
        .byteStrings(rows.map { HistoryCode.bytes(of: $0.value.delays) }), .int64(process),
      ])
  }

  /// Says that nothing waits any more at processes that have ended: it does where it is counted
  /// now.
  fileprivate static func closeHistory(
    of places: some Collection<HistoryPlace>
  ) -> PostgresCommand {
    PostgresCommand(
      """
      WITH RECURSIVE known(process) AS (
        SELECT min(process) FROM history
        UNION ALL
        SELECT (SELECT min(process) FROM history WHERE process > known.process) FROM known
        WHERE process IS NOT NULL
      )
      INSERT INTO history
      SELECT asked.upstream, greatest(asked.minute, latest.minute), process, 0, 0, 0, 0, ''
      FROM known CROSS JOIN (
        SELECT upstream, min(minute) FROM unnest($1, $2) AS one(upstream, minute) GROUP BY upstream
      ) AS asked(upstream, minute)
      JOIN LATERAL (
        SELECT minute, waiting FROM history
        WHERE history.process = known.process AND history.upstream = asked.upstream
        ORDER BY minute DESC LIMIT 1
      ) AS latest ON latest.waiting <> 0
      WHERE NOT EXISTS (SELECT 1 FROM seat WHERE seat.process = known.process)
      ON CONFLICT (upstream, minute, process) DO UPDATE SET waiting = 0
      """,
      [.int32s(places.map(\.upstream.rawValue)), .int64s(places.map(\.minute.rawValue))])
  }

  /// Deletes old rows; the last one of an upstream and a process stays, for how many wait there.
  fileprivate static func forgetOldHistory(_ now: Minute) -> PostgresCommand {
    PostgresCommand(
      """
      DELETE FROM history WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM history AS old WHERE minute < $1 AND (
          EXISTS (
            SELECT 1 FROM history AS later WHERE later.process = old.process
              AND later.upstream = old.upstream AND later.minute > old.minute)
          OR waiting = 0 AND NOT EXISTS (SELECT 1 FROM seat WHERE seat.process = old.process))
        LIMIT 10000))
      """, [.int64(now.rawValue - HistoryLimits.minutesKept)])
  }

  /// Deletes what a clock that was set back has left.
  ///
  /// A clock that is only adjusted leaves no row beyond the next minute.
  fileprivate static func forgetFutureHistory(_ now: Minute) -> PostgresCommand {
    PostgresCommand("DELETE FROM history WHERE minute > $1", [.int64(now.rawValue + 1)])
  }
}

/// A row of the history, and the process that has written it.
private struct ProcessHistoryRow {
  static let columns = "upstream, minute, process, accepted, delivered, failed, waiting, delays"

  let process: Int64
  var row: HistoryRow

  /// Reads ``columns``.
  ///
  /// Invalid delays are left out: they are no reason to show no chart at all.
  init(_ rows: PostgresRows, _ row: Int) {
    var figures = HistoryFigures()
    figures.accepted = rows.int64(row, 3)
    figures.delivered = rows.int64(row, 4)
    figures.failed = rows.int64(row, 5)
    figures.waiting = rows.int64(row, 6)
    if let delays = HistoryCode.delays(rows.bytes(row, 7)) { figures.delays = delays }
    process = rows.int64(row, 2)
    self.row = HistoryRow(
      HistoryPlace(
        Minute(rawValue: rows.int64(row, 1)), UpstreamNumber(rawValue: rows.int32(row, 0))),
      figures)
  }
}
#endif
