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
    let groups = try run([
      PostgresCommand(
        sql: """
          SELECT lane, client, upstream, count(*), min(serial), max(serial),
            min(serial) FILTER (WHERE standing = \(blocked)), sum(bytes)::bigint,
            max(due_at) FILTER (
              WHERE standing <> \(blocked) AND (attempts > 0 OR in_doubt)),
            min(expires_at), standing = \(parked) AS is_parked
          \(stretch) GROUP BY lane, client, upstream, is_parked
          """, values)
    ])[0]
    var counted = CountedStretch()
    let found = Self.add(groups: groups, to: &counted.summary)
    if found.isAnyParked {
      let rows = try run([
        PostgresCommand(
          sql: """
            SELECT serial, lane, upstream, expires_at, bytes, client, accepted_at
            \(stretch) WHERE standing = \(parked) ORDER BY serial
            """, values)
      ])[0]
      Self.add(parked: rows, to: &counted.summary)
    }
    if found.count >= countMax { counted.rest = found.last }
    return counted
  }

  /// Adds the groups of what stands in line.
  ///
  /// - Returns: How many places the groups have, parked ones included, and the last one.
  private static func add(
    groups rows: PostgresRows, to summary: inout LineSummary
  ) -> (count: Int, last: Serial, isAnyParked: Bool) {
    var (count, last, isAnyParked): (Int, Serial, Bool) = (0, 0, false)
    for row in 0..<rows.count {
      count += Int(rows.int64(row, 3))
      last = max(last, rows.int64(row, 5))
      guard !rows.bool(row, 10) else {
        isAnyParked = true
        continue
      }
      let group = LineSummary.Group(
        lane: LaneNumber(rawValue: rows.int64(row, 0)),
        client: ClientNumber(rawValue: rows.int64(row, 1)),
        upstream: UpstreamNumber(rawValue: rows.int32(row, 2)), count: Int(rows.int64(row, 3)),
        first: rows.int64(row, 4), last: rows.int64(row, 5), blocked: rows.int64OrNil(row, 6),
        bytes: rows.int64(row, 7), backoff: WallTime(stored: rows.int64OrNil(row, 8)),
        expiresAt: WallTime(millisecondsSinceEpoch: rows.int64(row, 9)))
      summary.add(group)
    }
    return (count, last, isAnyParked)
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
