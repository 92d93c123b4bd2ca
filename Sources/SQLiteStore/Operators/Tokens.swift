import RelayCore

extension Writer {
  /// Stores a token; false if there is one of this id.
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

  /// Deletes a token; false if there is none of this id.
  func deleteToken(_ id: String) throws(StoreError) -> Bool {
    tokens.delete.bind(1, id)
    try tokens.delete.run()
    return connection.changeCount > 0
  }
}

extension Reader {
  /// A page of tokens, after an id.
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
  /// The token in the present row.
  fileprivate init(_ row: borrowing Statement) throws(StoreError) {
    self.init(
      id: row.text(0) ?? "", grant: try Grant(kindCode: row.int(1), client: row.text(2)),
      digest: row.bytes(3), label: row.text(4),
      createdAt: WallTime(millisecondsSinceEpoch: row.int(5)),
      expiresAt: WallTime(row.optionalInt(6)))
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

extension SQLiteStore {
  /// Implements `AccessStore.tokens`.
  package func tokens(
    after id: String, client: String?, countMax: Int
  ) async throws(StoreError) -> TokenPage {
    try await read { reader throws(StoreError) in
      try reader.tokens(after: id, client: client, countMax: countMax)
    }
  }

  /// Implements `AccessStore.insertToken`.
  package func insertToken(_ record: TokenRecord) async throws(StoreError) -> Bool {
    try await write("keep a token") { writer throws(StoreError) in
      try writer.insertToken(record)
    }
  }

  /// Implements `AccessStore.deleteToken`.
  package func deleteToken(_ id: String) async throws(StoreError) -> Bool {
    try await write("forget a token") { writer throws(StoreError) in
      try writer.deleteToken(id)
    }
  }
}
