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
      record.id, record.grant.kind.code, record.client, record.digest, record.label,
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
  /// The kinds of tokens, by their codes in the database: fixed for good.
  enum Kind: Int64, StoredCode {
    case client = 0
    case reader = 1
    case steerer = 2
    case revoked = 3

    /// The code.
    var code: Int64 { rawValue }

    /// Whether such a token's row names a client.
    var namesClient: Bool { self == .client || self == .revoked }

    /// The length of the digest of such a token's secret: a revoked one was made of a key, and none
    /// of its secret is stored.
    var digestBytes: Int { self == .revoked ? 0 : 32 }
  }

  /// The kind.
  fileprivate var kind: Kind {
    switch self {
    case .client: .client
    case .operator(.read): .reader
    case .operator(.steer): .steerer
    case .revoked: .revoked
    }
  }

  fileprivate init(kindCode: Int64, client: String?) throws(StoreError) {
    switch (Kind(rawValue: kindCode), client) {
    case (.client, let client?): self = .client(client)
    case (.reader, nil): self = .operator(.read)
    case (.steerer, nil): self = .operator(.steer)
    case (.revoked, let client?): self = .revoked(client: client)
    default: throw .invalidRow("a token of kind \(kindCode)")
    }
  }
}
