#if PostgreSQL
import Postgres
import RelayCore

extension DatabaseWriter {
  /// Stores a token; false if there is one of this id.
  func insertToken(_ record: TokenRecord) throws(StoreError) -> Bool {
    let rows = try write(
      [
        PostgresCommand(
          sql: """
            INSERT INTO token (\(TokenRecord.columns))
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
            ON CONFLICT DO NOTHING
            """,
          [
            .text(record.id), .int16(Int16(record.grant.kind.code)), .text(record.client),
            .bytes(record.digest), .text(record.label?.storable),
            .int64(record.createdAt.millisecondsSinceEpoch),
            .int64(record.expiresAt?.millisecondsSinceEpoch),
            .int64(record.renewal?.until.millisecondsSinceEpoch), .int64(record.renewal?.spanMs),
          ] + Self.values(of: record.renewal?.last))
      ], shards: [])
    if let rows { return rows[0].affectedCount > 0 }
    // The answer was lost: it is told by what is there, of which the digest is this token's alone.
    let stored = try read([.token(record.id)])[0]
    guard stored.count == 1 else { return false }
    var expected = record
    expected.label = record.label?.storable
    return try TokenRecord(stored, 0) == expected
  }

  /// Renews a token that had so many renewals before, and returns it as it is then; nil if there is
  /// none of this id.
  func renewToken(_ record: TokenRecord, after number: Int64) throws(StoreError) -> TokenRecord? {
    let renewal = PostgresCommand(
      """
      UPDATE token SET digest = $3, expires_at = $4, renewals = $5, renewed_at = $6,
        renewal_seed = $7, former_digest = $8, former_expires_at = $9
      WHERE id = $1 AND renewable_until IS NOT NULL AND coalesce(renewals, 0) = $2
      """,
      [
        .text(record.id), .int64(number), .bytes(record.digest),
        .int64(record.expiresAt?.millisecondsSinceEpoch),
      ] + Self.values(of: record.renewal?.last))
    _ = try write([renewal], shards: [])
    // It is told by what is there, be the answer lost or not.
    let stored = try read([.token(record.id)])[0]
    return stored.count == 1 ? try TokenRecord(stored, 0) : nil
  }

  /// The columns of the last renewal.
  private static func values(of last: TokenRecord.Renewal.Last?) -> [PostgresValue] {
    [
      .int64(last?.number), .int64(last?.at.millisecondsSinceEpoch), .bytes(last?.seed),
      .bytes(last?.formerDigest), .int64(last?.formerExpiresAt.millisecondsSinceEpoch),
    ]
  }

  /// Deletes a token; false if there is none of this id.
  func deleteToken(_ id: String) throws(StoreError) -> Bool {
    guard try read([.token(id)])[0].count == 1 else { return false }
    let rows = try write(
      [PostgresCommand("DELETE FROM token WHERE id = $1", [.text(id)])], shards: [])
    return rows.map { $0[0].affectedCount > 0 } ?? true
  }
}

extension DatabaseReader {
  /// A page of tokens, after an id.
  func tokens(after id: String, client: String?, countMax: Int) throws(StoreError) -> TokenPage {
    let rows = try run([
      PostgresCommand(
        sql: """
          SELECT \(TokenRecord.columns) FROM token
          WHERE id > $1 \(client == nil ? "" : "AND client = $3") ORDER BY id LIMIT $2
          """,
        [.text(id.storable), .int64(Int64(countMax) + 1)]
          + (client.map { [.text($0.storable)] } ?? []))
    ])[0]
    var tokens: [TokenRecord] = []
    for row in 0..<min(rows.count, countMax) { tokens.append(try TokenRecord(rows, row)) }
    return TokenPage(tokens: tokens, hasMore: rows.count > countMax)
  }
}

extension PostgresCommand {
  /// Asks for a token.
  fileprivate static func token(_ id: String) -> PostgresCommand {
    PostgresCommand(sql: "SELECT \(TokenRecord.columns) FROM token WHERE id = $1", [.text(id)])
  }
}

extension TokenRecord {
  fileprivate static let columns = """
    id, kind, client, digest, label, created_at, expires_at, renewable_until, renewal_ms, \
    renewals, renewed_at, renewal_seed, former_digest, former_expires_at
    """

  /// Reads ``columns``.
  fileprivate init(_ rows: PostgresRows, _ row: Int) throws(StoreError) {
    let kind = Int64(rows.int16(row, 1))
    guard let grant = Grant(kindCode: kind, client: rows.textOrNil(row, 2)) else {
      throw .invalidRow("a token of kind \(kind)")
    }
    self.init(
      id: rows.text(row, 0), grant: grant, digest: rows.bytes(row, 3),
      label: rows.textOrNil(row, 4),
      createdAt: WallTime(millisecondsSinceEpoch: rows.int64(row, 5)),
      expiresAt: WallTime(stored: rows.int64OrNil(row, 6)),
      renewal: try .stored(
        until: rows.int64OrNil(row, 7), spanMs: rows.int64OrNil(row, 8),
        number: rows.int64OrNil(row, 9), at: rows.int64OrNil(row, 10),
        seed: rows.bytesOrNil(row, 11), formerDigest: rows.bytesOrNil(row, 12),
        formerExpiresAt: rows.int64OrNil(row, 13), or: .invalidRow("a part of a token's renewal")))
  }
}
#endif
