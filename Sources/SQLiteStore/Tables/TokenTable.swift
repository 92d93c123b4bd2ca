import RelayCore

/// The tokens, as the writer keeps them.
final class TokenStatements {
  private let insertRow: Statement
  private let deleteRow: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    insertRow = try Statement(
      """
      INSERT OR IGNORE INTO token (\(TokenQueries.columns)) VALUES (?, ?, ?, ?, ?, ?, ?)
      """, on: connection)
    deleteRow = try Statement("DELETE FROM token WHERE id = ?", on: connection)
  }

  /// Stores a token; false if there is one of this id.
  func insert(_ record: TokenRecord) throws(StoreError) -> Bool {
    try insertRow.run(
      record.id, record.grant.kindCode, record.client, record.digest, record.label,
      record.createdAt, record.expiresAt)
    return insertRow.changeCount > 0
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

  fileprivate static let columns = "id, kind, client, digest, label, created_at, expires_at"

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
    self.init(
      id: row.text(0) ?? "", grant: try Grant(kindCode: row.int(1), client: row.text(2)),
      digest: row.bytes(3), label: row.text(4), createdAt: row.time(5),
      expiresAt: row.optionalTime(6))
  }
}

extension TokenRecord.Grant {
  /// The code of the kind in the database, fixed for good.
  fileprivate var kindCode: Int64 {
    switch self {
    case .client: 0
    case .operator(.read): 1
    case .operator(.steer): 2
    case .revoked: 3
    }
  }

  fileprivate init(kindCode: Int64, client: String?) throws(StoreError) {
    switch (kindCode, client) {
    case (0, let client?): self = .client(client)
    case (1, nil): self = .operator(.read)
    case (2, nil): self = .operator(.steer)
    case (3, let client?): self = .revoked(client: client)
    default: throw .invalidRow("a token of kind \(kindCode)")
    }
  }
}
