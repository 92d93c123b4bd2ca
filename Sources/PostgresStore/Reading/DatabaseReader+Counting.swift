#if PostgreSQL
import Postgres
import RelayCore

extension DatabaseReader {
  /// The counts of a stretch of the line, and where it ends.
  struct CountedStretch: Sendable {
    var summary = LineSummary()
    /// The last number that was counted; nil once all is.
    var rest: Serial?
  }

  /// Counts what waits behind a number, up to another one, in one step.
  ///
  /// The database counts what stands in line; what is parked is counted here one by one, since the
  /// times of its acceptance matter.
  func count(
    after serial: Serial, through last: Serial, countMax: Int
  ) throws(StoreError) -> CountedStretch {
    let values: [PostgresValue] = [.int64(serial), .int64(last), .int64(Int64(countMax))]
    let stretch = """
      FROM (
        SELECT * FROM line WHERE serial > $1 AND serial <= $2 ORDER BY serial LIMIT $3
      ) AS line
      """
    let (blocked, parked) = (Standing.blocked.rawValue, Standing.parked.rawValue)
    let rows = try run([
      PostgresCommand(
        sql: """
          SELECT lane, client, upstream, count(*), min(serial), max(serial),
            min(serial) FILTER (WHERE standing = \(blocked)), sum(bytes)::bigint,
            max(due_at) FILTER (
              WHERE standing <> \(blocked) AND (attempts > 0 OR in_doubt)),
            min(expires_at)
          \(stretch) WHERE standing <> \(parked) GROUP BY lane, client, upstream
          """, values),
      PostgresCommand(
        sql: """
          SELECT serial, lane, upstream, expires_at, bytes, client, accepted_at
          \(stretch) WHERE standing = \(parked) ORDER BY serial
          """, values),
    ])
    var counted = CountedStretch()
    let groups = Self.add(groups: rows[0], to: &counted.summary)
    Self.add(parked: rows[1], to: &counted.summary)
    if groups.count + rows[1].count >= countMax {
      let end = rows[1].count > 0 ? rows[1].int64(rows[1].count - 1, 0) : serial
      counted.rest = max(end, groups.last)
    }
    return counted
  }

  private static func add(
    groups rows: PostgresRows, to summary: inout LineSummary
  ) -> (count: Int, last: Serial) {
    var (count, last): (Int, Serial) = (0, 0)
    for row in 0..<rows.count {
      let group = LineSummary.Group(
        lane: LaneNumber(rawValue: rows.int64(row, 0)),
        client: ClientNumber(rawValue: rows.int64(row, 1)),
        upstream: UpstreamNumber(rawValue: rows.int32(row, 2)), count: Int(rows.int64(row, 3)),
        first: rows.int64(row, 4), last: rows.int64(row, 5), blocked: rows.int64OrNil(row, 6),
        bytes: rows.int64(row, 7), backoff: WallTime(stored: rows.int64OrNil(row, 8)),
        expiresAt: WallTime(millisecondsSinceEpoch: rows.int64(row, 9)))
      summary.add(group)
      count += group.count
      last = max(last, group.last)
    }
    return (count, last)
  }

  private static func add(parked rows: PostgresRows, to summary: inout LineSummary) {
    for row in 0..<rows.count {
      let place = LineSummary.Place(
        serial: rows.int64(row, 0), lane: LaneNumber(rawValue: rows.int64(row, 1)),
        upstream: UpstreamNumber(rawValue: rows.int32(row, 2)),
        expiresAt: WallTime(millisecondsSinceEpoch: rows.int64(row, 3)), standing: .parked,
        bytes: rows.int64(row, 4))
      summary.count(
        place, of: ClientNumber(rawValue: rows.int64(row, 5)),
        acceptedAt: WallTime(millisecondsSinceEpoch: rows.int64(row, 6)))
    }
  }

  /// What one step of the search for passed deadlines has found.
  struct ExpiredStretch: Sendable {
    var expired: [LineEntry] = []
    /// The last number that was looked at; nil at the end of the line.
    var rest: Serial?
    /// The earliest deadline that was seen and has not passed.
    var nextDeadline: WallTime?
  }

  /// Looks for passed deadlines behind a number.
  func expired(
    at now: WallTime, after serial: Serial, countMax: Int
  ) throws(StoreError) -> ExpiredStretch {
    let values: [PostgresValue] = [
      .int64(serial), .int64(Int64(countMax)), .int64(now.millisecondsSinceEpoch),
    ]
    let stretch = "FROM (SELECT * FROM line WHERE serial > $1 ORDER BY serial LIMIT $2) AS line"
    let rows = try run([
      PostgresCommand(
        sql: """
          SELECT count(*), max(serial), min(expires_at) FILTER (WHERE expires_at > $3) \(stretch)
          """, values),
      PostgresCommand(
        sql: "SELECT \(WaitingRow.columns) \(stretch) WHERE expires_at <= $3 ORDER BY serial",
        values),
    ])
    var found = ExpiredStretch()
    for row in 0..<rows[1].count { found.expired.append(try WaitingRow(rows[1], row).entry) }
    if rows[0].int64(0, 0) >= Int64(countMax) { found.rest = rows[0].int64OrNil(0, 1) }
    found.nextDeadline = WallTime(stored: rows[0].int64OrNil(0, 2))
    return found
  }
}
#endif
