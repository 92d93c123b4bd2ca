import RelayCore

/// What the writer says to the database of tokens, prepared once.
final class TokenStatements {
  let insert: Statement
  let delete: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    insert = try Statement(
      """
      INSERT OR IGNORE INTO token (id, kind, client, digest, label, created_at, expires_at) \
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """, on: connection)
    delete = try Statement("DELETE FROM token WHERE id = ?", on: connection)
  }
}

/// What readers ask for tokens, prepared once.
final class TokenQuestions {
  let all: Statement
  let ofClient: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    let columns = "id, kind, client, digest, label, created_at, expires_at"
    all = try Statement(
      "SELECT \(columns) FROM token WHERE id > ? ORDER BY id LIMIT ?", on: connection)
    ofClient = try Statement(
      "SELECT \(columns) FROM token WHERE client = ? AND id > ? ORDER BY id LIMIT ?",
      on: connection)
  }
}

extension Writer {
  /// Keeps a token; false if there is one of this id.
  func insertToken(_ record: TokenRecord) throws(StoreError) -> Bool {
    tokens.insert.bind(1, record.id)
    tokens.insert.bind(2, record.grant.kindCode)
    tokens.insert.bind(3, record.client)
    tokens.insert.bind(4, record.digest)
    tokens.insert.bind(5, record.label)
    tokens.insert.bind(6, record.createdAt.millisecondsSinceEpoch)
    tokens.insert.bind(7, record.expiresAt?.millisecondsSinceEpoch)
    try tokens.insert.run()
    return connection.changeCount > 0
  }

  /// Forgets a token; false if there is none of this id.
  func deleteToken(_ id: String) throws(StoreError) -> Bool {
    tokens.delete.bind(1, id)
    try tokens.delete.run()
    return connection.changeCount > 0
  }
}

extension Reader {
  /// Tokens behind an id.
  func tokens(
    after id: String, client: String?, countMax: Int
  ) throws(StoreError) -> TokenPage {
    if let client {
      tokens.ofClient.bind(1, client)
      tokens.ofClient.bind(2, id)
      tokens.ofClient.bind(3, Int64(countMax) + 1)
      return try page(tokens.ofClient, countMax)
    }
    tokens.all.bind(1, id)
    tokens.all.bind(2, Int64(countMax) + 1)
    return try page(tokens.all, countMax)
  }

  private func page(
    _ statement: borrowing Statement, _ countMax: Int
  ) throws(StoreError) -> TokenPage {
    var page = TokenPage(tokens: [], hasMore: false)
    while try statement.step() {
      guard page.tokens.count < countMax else {
        page.hasMore = true
        statement.reset()
        break
      }
      page.tokens.append(try TokenRecord(statement))
    }
    return page
  }
}

extension TokenRecord {
  /// The token that the present row speaks of.
  fileprivate init(_ row: borrowing Statement) throws(StoreError) {
    self.init(
      id: row.text(0) ?? "", grant: try Grant(kindCode: row.int(1), client: row.text(2)),
      digest: row.bytes(3), label: row.text(4),
      createdAt: WallTime(millisecondsSinceEpoch: row.int(5)),
      expiresAt: WallTime(row.optionalInt(6)))
  }
}

extension TokenRecord.Grant {
  /// How the kind is written in the database, fixed for good.
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
    default: throw .senseless("a token of kind \(kindCode)")
    }
  }
}
