#if PostgreSQL
import Postgres
import RelayCore

/// How an envelope's summary is read: from a row of one of the narrow tables, in the same columns,
/// and from what belongs to it.
enum SummaryRow {
  /// The columns of a row of the line.
  static let lineColumns = """
    serial, client, lane, upstream, accepted_at, standing, NULL::smallint AS state, reason, \
    NULL::bigint AS ended_at, attempts, in_doubt, due_at, false AS is_tried, NULL::text AS error
    """
  /// The columns of a row of `ended`.
  static let endedColumns = """
    serial, client, lane, upstream, accepted_at, NULL::smallint AS standing, state, reason, \
    ended_at, attempts, false AS in_doubt, NULL::bigint AS due_at, \
    attempt_number IS NOT NULL AS is_tried, attempt_error AS error
    """

  /// What belongs to the rows that are called `passing`.
  static let joins = """
    JOIN envelope ON envelope.serial = passing.serial
    JOIN client ON client.number = passing.client
    JOIN lane ON lane.number = passing.lane
    JOIN upstream ON upstream.number = passing.upstream
    LEFT JOIN response ON response.serial = passing.serial
    """
  // The length of a body is told without reading it.
  static let columns = """
    passing.serial, envelope.id, client.name, lane.name, upstream.name, envelope.key,
    envelope.sequence, envelope.tag, envelope.hold, envelope.not_before, envelope.expires_at,
    envelope.on_failure, envelope.method, envelope.target,
    coalesce(envelope.body_bytes, octet_length(envelope.body)), passing.lane, envelope.refers,
    envelope.coalesce, passing.standing, passing.state, passing.reason, passing.ended_at,
    passing.attempts, passing.in_doubt, passing.due_at, response.status,
    CASE WHEN passing.is_tried THEN passing.error ELSE (
      SELECT attempt.error FROM attempt WHERE attempt.serial = passing.serial
      ORDER BY attempt.number DESC LIMIT 1
    ) END
    """
  static let columnCount = 27
}

extension EnvelopeSummary {
  /// Reads ``SummaryRow/columns``, which have to come first.
  init(_ rows: PostgresRows, _ row: Int) throws(StoreError) {
    let id = try EnvelopeID(stored: rows.uuid(row, 1))
    self.init(
      id: id, terms: Terms(rows, row), lane: LaneNumber(rawValue: rows.int64(row, 15)),
      bodyBytes: rows.int64(row, 14),
      fate: EnvelopeFate(
        id: id, serial: rows.int64(row, 0),
        state: try EnvelopeState(rows, row, standing: 18, end: 19),
        reason: rows.textOrNil(row, 20),
        endedAt: WallTime(stored: rows.int64OrNil(row, 21)),
        attemptCount: Int32(truncatingIfNeeded: rows.int64(row, 22)),
        responseStatus: rows.int32OrNil(row, 25).map { Int($0) }),
      dueAt: WallTime(stored: rows.int64OrNil(row, 24)), lastError: rows.textOrNil(row, 26))
    isInDoubt = rows.bool(row, 23)
  }
}

extension EnvelopeSummary.Terms {
  fileprivate init(_ rows: PostgresRows, _ row: Int) {
    self.init(
      client: rows.text(row, 2), lane: rows.text(row, 3), upstream: rows.text(row, 4),
      method: rows.text(row, 12), target: rows.bytes(row, 13), key: rows.textOrNil(row, 5),
      sequence: rows.int64OrNil(row, 6), tag: rows.textOrNil(row, 7), hold: rows.bool(row, 8),
      notBefore: WallTime(stored: rows.int64OrNil(row, 9)),
      expiresAt: WallTime(millisecondsSinceEpoch: rows.int64(row, 10)),
      onFailure: FailurePolicy(code: Int64(rows.int16(row, 11))), references: rows.bool(row, 16),
      coalesce: rows.textOrNil(row, 17))
  }
}

extension EnvelopeState {
  /// Reads the state of an envelope from its standing in line, or else from how it ended.
  init(_ rows: PostgresRows, _ row: Int, standing: Int, end: Int) throws(StoreError) {
    if let code = rows.int16OrNil(row, standing) {
      self = try Standing(stored: code).state
    } else {
      self = try EnvelopeState(stored: rows.int16OrNil(row, end))
    }
  }
}
#endif
