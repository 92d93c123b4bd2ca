#if PostgreSQL
import Postgres
import RelayCore

extension PostgresCommand {
  /// Sets waiting envelopes' places as they are now.
  static func update(line rows: [WaitingRow]) -> PostgresCommand {
    PostgresCommand(
      """
      UPDATE line SET upstream = new.upstream, expires_at = new.expires_at,
        standing = new.standing, on_failure = new.on_failure, due_at = new.due_at,
        attempts = new.attempts, in_doubt = new.in_doubt, bytes = new.bytes, reason = new.reason
      FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) AS new(
        serial, upstream, expires_at, standing, on_failure, due_at, attempts, in_doubt, bytes,
        reason)
      WHERE line.serial = new.serial
      """,
      [
        .int64s(rows.map(\.entry.serial)), .int32s(rows.map(\.entry.upstream.rawValue)),
        .int64s(rows.map(\.entry.expiresAt.millisecondsSinceEpoch)),
        .int16s(rows.map { Int16($0.entry.standing.rawValue) }),
        .int16s(rows.map { Int16($0.entry.onFailure.code) }),
        .int64s(rows.map { $0.entry.dueAt?.millisecondsSinceEpoch }),
        .int64s(rows.map(\.attempts)), .bools(rows.map(\.entry.isInDoubt)),
        .int64s(rows.map(\.bytes)), .texts(rows.map { $0.reason?.storable }),
      ])
  }

  /// Writes how envelopes ended.
  static func insert(ended rows: [EndedRow]) -> PostgresCommand {
    PostgresCommand(
      """
      INSERT INTO ended SELECT * FROM unnest(
        $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
      """,
      [
        .int64s(rows.map(\.serial)), .int32s(rows.map(\.shard)),
        .int64s(rows.map(\.client.rawValue)), .int64s(rows.map(\.lane.rawValue)),
        .int32s(rows.map(\.upstream.rawValue)),
        .int64s(rows.map(\.acceptedAt.millisecondsSinceEpoch)),
        .int16s(rows.map { Int16($0.state.endCode ?? 0) }),
        .int64s(rows.map(\.endedAt.millisecondsSinceEpoch)), .int64s(rows.map(\.attempts)),
        .bools(rows.map(\.isInDoubt)), .int64s(rows.map(\.bytes)),
        .texts(rows.map { $0.reason?.storable }),
      ] + values(of: rows.map(\.attempt)) + [.int64s(rows.map(\.ending))])
  }

  /// Adds attempts to the history of their envelopes; one that is there already is replaced.
  static func put(attempts rows: [(serial: Serial, record: AttemptRecord)]) -> PostgresCommand {
    PostgresCommand(
      """
      INSERT INTO attempt SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7)
      ON CONFLICT (serial, number) DO UPDATE SET started_at = excluded.started_at,
        duration_ms = excluded.duration_ms, outcome = excluded.outcome,
        status = excluded.status, error = excluded.error
      """, [.int64s(rows.map(\.serial))] + values(of: rows.map(\.record)))
  }

  private static func values(of attempts: [AttemptRecord?]) -> [PostgresValue] {
    [
      .int64s(attempts.map { $0.map { Int64($0.number) } }),
      .int64s(attempts.map { $0?.startedAt.millisecondsSinceEpoch }),
      .int64s(attempts.map { $0?.durationMs }),
      .int16s(attempts.map { $0.map { Int16($0.outcome.code) } }),
      .int32s(attempts.map { $0?.status.map { Int32(truncatingIfNeeded: $0) } }),
      .texts(attempts.map { $0?.error?.storable }),
    ]
  }

  /// Keeps the last answers to some envelopes.
  static func put(responses: [Serial: UpstreamResponse]) -> PostgresCommand {
    let rows = Array(responses)
    return PostgresCommand(
      """
      INSERT INTO response SELECT * FROM unnest($1, $2, $3, $4, $5)
      ON CONFLICT (serial) DO UPDATE SET status = excluded.status,
        is_truncated = excluded.is_truncated, headers = excluded.headers, body = excluded.body
      """,
      [
        .int64s(rows.map(\.key)), .int32s(rows.map { Int32(truncatingIfNeeded: $0.value.status) }),
        .bools(rows.map(\.value.isTruncated)), .byteStrings(rows.map(\.value.headers.bytes)),
        .byteStrings(rows.map(\.value.body)),
      ])
  }

  /// Notes what changes in the counts of lanes' ends; it is added up later, many at once.
  static func noteEnds(
    _ changes: [(lane: LaneNumber, state: EnvelopeState, count: Int64)]
  ) -> PostgresCommand {
    PostgresCommand(
      "INSERT INTO ended_log (lanes, states, changes) VALUES ($1, $2, $3)",
      [
        .int64s(changes.map(\.lane.rawValue)),
        .int16s(changes.map { Int16($0.state.endCode ?? 0) }), .int64s(changes.map(\.count)),
      ])
  }
}
#endif
