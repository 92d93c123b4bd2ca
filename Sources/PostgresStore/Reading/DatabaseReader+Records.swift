#if PostgreSQL
import Postgres
import RelayCore

extension DatabaseReader {
  /// Where an envelope stands now, as a part of a statement: `$1` is the number that it was posted
  /// under, `$2` its id.
  private static let standsAt = """
    envelope.serial = coalesce((SELECT new FROM moved WHERE old = $1), $1) AND envelope.id = $2
    """

  /// Everything that is known of one envelope.
  func envelope(
    _ id: EnvelopeID, postedUnder serial: Serial
  ) throws(StoreError) -> EnvelopeRecord? {
    let values: [PostgresValue] = [.int64(serial), .uuid(id.bytes)]
    let rows = try run([
      PostgresCommand(
        sql: """
          SELECT client.name, lane.name, upstream.name, key, fingerprint, sequence, tag, hold,
            not_before, envelope.expires_at, envelope.on_failure, refers, coalesce, revision,
            method, target, headers, \(EnvelopeBody.columns), envelope.lane
          FROM envelope JOIN client ON client.number = envelope.client
          JOIN lane ON lane.number = envelope.lane
          JOIN upstream ON upstream.number = envelope.upstream WHERE \(Self.standsAt)
          """, values),
      PostgresCommand(
        sql: """
          SELECT \(WaitingRow.columns) FROM line JOIN envelope ON envelope.serial = line.serial
          WHERE \(Self.standsAt)
          """, values),
      PostgresCommand(
        sql: """
          SELECT \(EndedRow.columns) FROM ended JOIN envelope ON envelope.serial = ended.serial
          WHERE \(Self.standsAt)
          """, values),
      PostgresCommand(
        sql: """
          SELECT number, started_at, duration_ms, outcome, status, error
          FROM attempt JOIN envelope ON envelope.serial = attempt.serial
          WHERE \(Self.standsAt) ORDER BY number
          """, values),
      PostgresCommand(
        sql: """
          SELECT status FROM response JOIN envelope ON envelope.serial = response.serial
          WHERE \(Self.standsAt)
          """, values),
      PostgresCommand(
        sql: """
          SELECT envelope.lane, open.first, open.last FROM envelope
          JOIN lane ON lane.number = envelope.lane
          JOIN LATERAL (
            SELECT first, last FROM gap
            WHERE gap.lane = lane.number AND NOT is_skipped AND first > placed_through
            ORDER BY first LIMIT \(StoreLimits.missingRangesMax + 1)
          ) AS open ON true
          WHERE \(Self.standsAt) ORDER BY open.first
          """, values),
    ])
    guard rows[0].count == 1 else { return nil }
    return try record(id, rows)
  }

  private func record(_ id: EnvelopeID, _ rows: [PostgresRows]) throws(StoreError)
    -> EnvelopeRecord
  {
    let draft = try Self.draft(rows[0])
    var attempts: [AttemptRecord] = []
    for row in 0..<rows[3].count { attempts.append(try AttemptRecord(rows[3], row, from: 0)) }
    let status = rows[4].count == 1 ? Int(rows[4].int32(0, 0)) : nil
    var record: EnvelopeRecord
    if rows[1].count == 1 {
      let place = try WaitingRow(rows[1], 0)
      record = EnvelopeRecord(
        id: id, draft: draft, state: place.entry.standing.state, reason: place.reason,
        entry: place.entry, endedAt: nil, attemptCount: place.entry.attempts, attempts: attempts,
        responseStatus: status)
    } else if rows[2].count == 1 {
      let end = try EndedRow(rows[2], 0)
      if let attempt = end.attempt { attempts.append(attempt) }
      record = EnvelopeRecord(
        id: id, draft: draft, state: end.state, reason: end.reason,
        entry: end.entry(expiresAt: draft.expiresAt, onFailure: draft.onFailure),
        endedAt: end.endedAt, attemptCount: Int32(truncatingIfNeeded: end.attempts),
        attempts: attempts.suffix(StoreLimits.attemptsKeptMax), responseStatus: status)
    } else {
      throw .invalidRow("an envelope that neither waits nor has ended")
    }
    record.revision = rows[0].int64(0, 13)
    if record.state == .parked, let number = draft.sequence {
      let missing = MissingNumbers.byLane(rows[5])[record.lane] ?? .none
      record.missing = missing.before(number)
    }
    return record
  }

  private static func draft(_ rows: PostgresRows) throws(StoreError) -> EnvelopeDraft {
    EnvelopeDraft(
      client: rows.text(0, 0), lane: rows.text(0, 1), upstream: rows.text(0, 2),
      content: try EnvelopeContent(rows, 0, from: 14), key: rows.textOrNil(0, 3),
      fingerprint: rows.bytes(0, 4), sequence: rows.int64OrNil(0, 5), tag: rows.textOrNil(0, 6),
      hold: rows.bool(0, 7), notBefore: WallTime(stored: rows.int64OrNil(0, 8)),
      expiresAt: WallTime(millisecondsSinceEpoch: rows.int64(0, 9)),
      onFailure: FailurePolicy(code: Int64(rows.int16(0, 10))), references: rows.bool(0, 11),
      coalesce: rows.textOrNil(0, 12), isVoid: false, isInOrder: false)
  }

  /// The id of the envelope that a client posted under a key.
  func envelope(client: String, key: String) throws(StoreError) -> EnvelopeID? {
    let rows = try run([
      PostgresCommand(
        """
        SELECT id FROM client JOIN key_index ON key_index.client = client.number
        JOIN envelope ON envelope.serial = key_index.serial
        WHERE client.name = $1 AND key_index.key = $2
        """, [.text(client), .text(key)])
    ])[0]
    return rows.count == 1 ? try EnvelopeID(stored: rows.uuid(0, 0)) : nil
  }

  /// Whether a client's key is remembered whose envelope is forgotten.
  func remembers(key: String, of client: String) throws(StoreError) -> Bool {
    let key = AppendQuestions.Key(client: client, key: key)
    return try run([.rememberedKeys([key])])[0].count > 0
  }

  /// The ids of the envelopes of these numbers, also by those that they had while they were parked.
  func ids(of serials: [Serial]) throws(StoreError) -> [Serial: EnvelopeID] {
    let rows = try run([
      PostgresCommand(
        """
        SELECT asked.serial, envelope.id FROM unnest($1) AS asked(serial)
        LEFT JOIN moved ON moved.old = asked.serial
        JOIN envelope ON envelope.serial = coalesce(moved.new, asked.serial)
        """, [.int64s(serials)])
    ])[0]
    var ids: [Serial: EnvelopeID] = [:]
    for row in 0..<rows.count {
      ids[rows.int64(row, 0)] = try EnvelopeID(stored: rows.uuid(row, 1))
    }
    return ids
  }

  /// The upstream's last answer that was kept for an envelope.
  func response(
    _ id: EnvelopeID, postedUnder serial: Serial
  ) throws(StoreError) -> UpstreamResponse? {
    let rows = try run([
      PostgresCommand(
        sql: """
          SELECT status, is_truncated, response.headers, response.body
          FROM response JOIN envelope ON envelope.serial = response.serial
          WHERE \(Self.standsAt)
          """, [.int64(serial), .uuid(id.bytes)])
    ])[0]
    guard rows.count == 1 else { return nil }
    guard let headers = HeaderBlock(stored: rows.bytes(0, 2)) else {
      throw .invalidRow("a header block")
    }
    return UpstreamResponse(
      status: Int(rows.int32(0, 0)), headers: headers, body: rows.bytes(0, 3),
      isTruncated: rows.bool(0, 1))
  }
}
#endif
