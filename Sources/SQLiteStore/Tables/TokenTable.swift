import RelayCore
import SQLite

/// The tokens, as the writer keeps them.
final class TokenStatements {
  private let insertRow: Statement
  private let renewRow: Statement
  private let findRow: Statement
  private let deleteRow: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    insertRow = try Statement(
      """
      INSERT OR IGNORE INTO token (\(TokenQueries.columns))
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """, on: connection)
    renewRow = try Statement(
      """
      UPDATE token SET digest = ?, expires_at = ?, renewals = ?, renewed_at = ?,
        renewal_seed = ?, former_digest = ?, former_expires_at = ?
      WHERE id = ? AND renewable_until IS NOT NULL AND coalesce(renewals, 0) = ?
      """, on: connection)
    findRow = try Statement(
      "SELECT \(TokenQueries.columns) FROM token WHERE id = ?", on: connection)
    deleteRow = try Statement("DELETE FROM token WHERE id = ?", on: connection)
  }

  /// Stores a token; false if there is one of this id.
  func insert(_ record: TokenRecord) throws(StoreError) -> Bool {
    let last = record.renewal?.last
    insertRow.set(
      record.id, record.grant.kind.code, record.client, record.digest, record.label,
      record.createdAt, record.expiresAt, record.renewal?.until, record.renewal?.spanMs,
      last?.number, last?.at, last?.seed, last?.formerDigest, last?.formerExpiresAt)
    try insertRow.run()
    return insertRow.changeCount > 0
  }

  /// Renews a token that had so many renewals before, and returns it as it is then; nil if there is
  /// none of this id.
  func renew(_ record: TokenRecord, after number: Int64) throws(StoreError) -> TokenRecord? {
    let last = record.renewal?.last
    try renewRow.run(
      record.digest, record.expiresAt, last?.number, last?.at, last?.seed, last?.formerDigest,
      last?.formerExpiresAt, record.id, number)
    return try findRow.first(record.id, read: TokenRecord.init(_:))
  }

  /// Deletes a token; false if there is none of this id.
  func delete(_ id: String) throws(StoreError) -> Bool {
    try deleteRow.run(id)
    return deleteRow.changeCount > 0
  }
}

/// The tokens, as the readers see them.
final class TokenQueries {
  private let all: Statement
  private let ofClient: Statement

  fileprivate static let columns = """
    id, kind, client, digest, label, created_at, expires_at, renewable_until, renewal_ms, \
    renewals, renewed_at, renewal_seed, former_digest, former_expires_at
    """

  init(on connection: borrowing Connection) throws(StoreError) {
    all = try Statement(
      "SELECT \(Self.columns) FROM token WHERE id > ? ORDER BY id LIMIT ?", on: connection)
    ofClient = try Statement(
      "SELECT \(Self.columns) FROM token WHERE client = ? AND id > ? ORDER BY id LIMIT ?",
      on: connection)
  }

  /// A page of tokens, after an id.
  func page(after id: String, client: String?, countMax: Int) throws(StoreError) -> TokenPage {
    let page =
      if let client {
        try ofClient.page(client, id, countMax: countMax, read: TokenRecord.init(_:))
      } else {
        try all.page(id, countMax: countMax, read: TokenRecord.init(_:))
      }
    return TokenPage(tokens: page.rows, hasMore: page.hasMore)
  }
}

extension TokenRecord {
  /// The token in the present row.
  fileprivate init(_ row: borrowing Statement) throws(StoreError) {
    guard let grant = Grant(kindCode: row.int(1), client: row.text(2)) else {
      throw .invalidRow("a token of kind \(row.int(1))")
    }
    self.init(
      id: row.text(0) ?? "", grant: grant,
      digest: row.bytes(3), label: row.text(4), createdAt: row.time(5),
      expiresAt: row.optionalTime(6),
      renewal: try .stored(
        until: row.optionalInt(7), spanMs: row.optionalInt(8), number: row.optionalInt(9),
        at: row.optionalInt(10), seed: row.isNull(11) ? nil : row.bytes(11),
        formerDigest: row.isNull(12) ? nil : row.bytes(12), formerExpiresAt: row.optionalInt(13),
        or: .invalidRow("a part of a token's renewal")))
  }
}

extension TokenRecord.Grant.Kind: StoredCode {}
