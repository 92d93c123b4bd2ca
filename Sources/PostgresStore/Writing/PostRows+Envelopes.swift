#if PostgreSQL
import Postgres
import RelayCore

// Envelopes and their places.
extension PostRows {
  var insertEnvelopes: [PostgresCommand] {
    let rows = inserts.values.sorted { $0.entry.serial < $1.entry.serial }
    let bodies = rows.map(\.draft.content.body.file)
    let envelopes = PostgresCommand(
      """
      INSERT INTO envelope SELECT * FROM unnest(
        $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
        $21, $22, $23, $24)
      """,
      [
        .int64s(rows.map(\.entry.serial)), .uuids(rows.map(\.id.bytes)),
        .int64s(rows.map(\.entry.client.rawValue)), .int64s(rows.map(\.entry.lane.rawValue)),
        .int32s(rows.map(\.entry.upstream.rawValue)), .texts(rows.map(\.draft.key)),
        .byteStrings(rows.map(\.draft.fingerprint)), .int64s(rows.map(\.draft.sequence)),
        .texts(rows.map(\.draft.tag)), .bools(rows.map(\.draft.hold)),
        .int64s(rows.map { $0.draft.notBefore?.millisecondsSinceEpoch }),
        .int64s(rows.map(\.draft.expiresAt.millisecondsSinceEpoch)),
        .int16s(rows.map { Int16($0.draft.onFailure.code) }), .bools(rows.map(\.draft.references)),
        .texts(rows.map(\.draft.coalesce)), .int64s(rows.map(\.revision)),
        .texts(rows.map(\.draft.content.method)), .byteStrings(rows.map(\.draft.content.target)),
        .byteStrings(rows.map(\.draft.content.headers.bytes)),
        .byteStrings(rows.map(\.draft.content.body.inlineBytes)),
        .uuids(bodies.map { $0?.uuid }), .int64s(bodies.map { $0?.byteCount }),
        .int64s(bodies.map { $0?.checksum }), .byteStrings(rows.map(\.draft.knownDigest)),
      ])
    let files = bodies.compactMap(\.self)
    let owners = rows.filter { $0.draft.content.body.file != nil }.map(\.id)
    let places = rows.map { insert in
      WaitingRow(
        entry: insert.entry, shard: Int32(Shard.of(client: insert.draft.client)),
        bytes: insert.draft.content.byteCount)
    }
    let referring = rows.filter(\.draft.references).map(\.entry.serial)
    return [envelopes, .insert(line: places)]
      + (files.isEmpty ? [] : [.take(bodies: files), .complete(uploads: files, as: owners)])
      + (referring.isEmpty ? [] : [.noteReferring(referring)])
  }

  /// Puts another content in the place of one that waits.
  func replace(_ plan: ReplacePlan) -> [PostgresCommand] {
    guard let draft = draft(replacing: plan.edit.entry.serial) else { return [] }
    let serial = plan.edit.entry.serial
    let files = [draft.content.body.file].compactMap(\.self)
    let uploads = files.map { PostgresCommand.complete(uploads: [$0], as: [plan.former.id]) }
    return PostgresCommand.edit(plan.edit) + uploads + [
      PostgresCommand(
        "UPDATE envelope SET key = $2, fingerprint = $3, revision = $4 WHERE serial = $1",
        [
          .int64(serial), .text(draft.key), .bytes(draft.fingerprint), .int64(plan.revision),
        ]),
      PostgresCommand.place(
        plan.edit.entry, bytes: plan.edit.content.byteCount),
    ]
  }

  // MARK: - Moving

  func insertMoved(_ moves: [(old: Serial, new: Serial)]) -> PostgresCommand {
    PostgresCommand(
      "INSERT INTO moved SELECT * FROM unnest($1, $2)",
      [.int64s(moves.map(\.old)), .int64s(moves.map(\.new))])
  }

  /// Gives envelopes that were parked their new numbers, in every table.
  var move: [PostgresCommand] {
    let numbers: [PostgresValue] = [.int64s(moves.map(\.old)), .int64s(moves.map(\.new))]
    let keys = PostgresCommand(
      """
      UPDATE key_index SET serial = moves.new
      FROM unnest($1, $2) AS moves(old, new) JOIN envelope ON envelope.serial = moves.old
      WHERE key_index.client = envelope.client AND key_index.key = envelope.key
      """, numbers)
    let line = PostgresCommand(
      """
      UPDATE line SET serial = moves.new, standing = moves.standing, reason = NULL
      FROM unnest($1, $2, $3) AS moves(old, new, standing) WHERE line.serial = moves.old
      """, numbers + [.int16s(moves.map { Int16($0.standing.rawValue) })])
    let endings = PostgresCommand(
      """
      UPDATE ending SET serial = moves.new
      FROM unnest($1, $2) AS moves(old, new) JOIN ended ON ended.serial = moves.old
      WHERE ending.client = ended.client AND ending.number = ended.ending
      """, numbers)
    let tables = ["envelope", "ended", "attempt", "response", "former_key"]
    let others = tables.map { table in
      PostgresCommand(
        sql: """
          UPDATE \(table) SET serial = moves.new FROM unnest($1, $2) AS moves(old, new)
          WHERE \(table).serial = moves.old
          """, numbers)
    }
    return [keys, line, endings] + others + [insertMoved(moves.map { ($0.old, $0.new) })]
  }
}

extension PostgresCommand {
  /// Puts rows in line.
  static func insert(line rows: [WaitingRow]) -> PostgresCommand {
    PostgresCommand(
      """
      INSERT INTO line SELECT * FROM unnest(
        $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
      """,
      [
        .int64s(rows.map(\.entry.serial)), .int32s(rows.map(\.shard)),
        .int64s(rows.map(\.entry.client.rawValue)), .int64s(rows.map(\.entry.lane.rawValue)),
        .int32s(rows.map(\.entry.upstream.rawValue)),
        .int64s(rows.map(\.entry.acceptedAt.millisecondsSinceEpoch)),
        .int64s(rows.map(\.entry.expiresAt.millisecondsSinceEpoch)),
        .int16s(rows.map { Int16($0.entry.standing.rawValue) }),
        .int16s(rows.map { Int16($0.entry.onFailure.code) }),
        .int64s(rows.map { $0.entry.dueAt?.millisecondsSinceEpoch }),
        .int64s(rows.map(\.attempts)), .bools(rows.map(\.entry.isInDoubt)),
        .int64s(rows.map(\.bytes)), .texts(rows.map { $0.reason?.storable }),
      ])
  }

  /// Replaces an envelope's content and terms.
  static func edit(_ edit: EnvelopeEdit) -> [PostgresCommand] {
    let entry = edit.entry
    let body = edit.content.body
    return exchangeBody(of: entry.serial, for: body) + [
      PostgresCommand(
        """
        UPDATE envelope SET upstream = $2, tag = $3, hold = $4, not_before = $5, expires_at = $6,
          on_failure = $7, refers = $8, method = $9, target = $10, headers = $11, body = $12,
          body_file = $13, body_bytes = $14, body_checksum = $15
        WHERE serial = $1
        """,
        [
          .int64(entry.serial), .int32(entry.upstream.rawValue), .text(edit.tag),
          .bool(edit.hold), .int64(edit.notBefore?.millisecondsSinceEpoch),
          .int64(entry.expiresAt.millisecondsSinceEpoch), .int16(Int16(entry.onFailure.code)),
          .bool(edit.references), .text(edit.content.method), .bytes(edit.content.target),
          .bytes(edit.content.headers.bytes), .bytes(body.inlineBytes), .uuid(body.file?.uuid),
          .int64(body.file?.byteCount), .int64(body.file?.checksum),
        ]),
      PostgresCommand(
        "UPDATE line SET refers = $2 WHERE serial = $1 AND refers <> $2",
        [.int64(entry.serial), .bool(edit.references)]),
    ]
  }

  /// Sets a waiting envelope's place as it is once its content has been replaced.
  static func place(_ entry: LineEntry, bytes: Int64) -> PostgresCommand {
    PostgresCommand(
      """
      UPDATE line SET upstream = $2, expires_at = $3, standing = $4, on_failure = $5, due_at = $6,
        in_doubt = false, bytes = $7
      WHERE serial = $1
      """,
      [
        .int64(entry.serial), .int32(entry.upstream.rawValue),
        .int64(entry.expiresAt.millisecondsSinceEpoch), .int16(Int16(entry.standing.rawValue)),
        .int16(Int16(entry.onFailure.code)), .int64(entry.dueAt?.millisecondsSinceEpoch),
        .int64(bytes),
      ])
  }
}
#endif
