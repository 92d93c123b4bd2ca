import RelayCore

extension SQLiteStore {
  /// What `AccessStore` says of `tokens`.
  package func tokens(
    after id: String, client: String?, countMax: Int
  ) async throws(StoreError) -> TokenPage {
    try await read { reader throws(StoreError) in
      try reader.tokens(after: id, client: client, countMax: countMax)
    }
  }

  /// What `AccessStore` says of `insertToken`.
  package func insertToken(_ record: TokenRecord) async throws(StoreError) -> Bool {
    try await write("keep a token") { writer throws(StoreError) in
      try writer.insertToken(record)
    }
  }

  /// What `AccessStore` says of `deleteToken`.
  package func deleteToken(_ id: String) async throws(StoreError) -> Bool {
    try await write("forget a token") { writer throws(StoreError) in
      try writer.deleteToken(id)
    }
  }
}
