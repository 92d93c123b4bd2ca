/// What an operator may do.
package enum OperatorRole: String, CaseIterable, Sendable {
  /// Look at everything, and change nothing.
  case read
  /// Everything.
  case steer
}

/// A token as it is stored: everything but the secret.
package struct TokenRecord: Hashable, Sendable {
  /// Whom a token stands for.
  package enum Grant: Hashable, Sendable {
    /// A client of this name.
    case client(String)
    /// An operator.
    case `operator`(OperatorRole)
    /// Nobody any more: the token that a key makes for this client has been revoked.
    case revoked(client: String)
  }

  /// The part of the token that is no secret: unique, and what the token is called.
  package var id: String
  /// Whom it stands for.
  package var grant: Grant
  /// SHA-256 of the secret; empty for a revoked one that was made of a key.
  package var digest: [UInt8]
  /// What it is for, in the operator's words; nil if nothing was said.
  package var label: String?
  /// When it was made, or, for a revoked one, when it was revoked.
  package var createdAt: WallTime
  /// When it ends by itself; nil for never.
  package var expiresAt: WallTime?

  /// Puts a record together.
  package init(
    id: String, grant: Grant, digest: [UInt8], label: String? = nil, createdAt: WallTime,
    expiresAt: WallTime? = nil
  ) {
    self.id = id
    self.grant = grant
    self.digest = digest
    self.label = label
    self.createdAt = createdAt
    self.expiresAt = expiresAt
  }

  /// The client that it stands, or stood, for; nil for an operator's.
  package var client: String? {
    switch grant {
    case .client(let name), .revoked(let name): name
    case .operator: nil
    }
  }
}

/// A stretch of the tokens, by their ids.
package struct TokenPage: Sendable {
  /// What was found, in the order of the ids.
  package var tokens: [TokenRecord]
  /// Whether more follow.
  package var hasMore: Bool

  /// Puts a page together.
  package init(tokens: [TokenRecord], hasMore: Bool) {
    self.tokens = tokens
    self.hasMore = hasMore
  }
}

/// Where tokens are kept: durable, and read whole at a start.
///
/// All calls may come from any thread. What returns is on disk.
package protocol AccessStore: Sendable {
  /// Tokens behind an id, in the order of the ids.
  ///
  /// - Parameters:
  ///   - id: Where to go on; empty for the beginning.
  ///   - client: Only this client's; nil for all.
  ///   - countMax: How many at the most.
  func tokens(
    after id: String, client: String?, countMax: Int
  ) async throws(StoreError) -> TokenPage

  /// Keeps a token.
  ///
  /// - Returns: false if there is one of this id already, and nothing was changed.
  /// - Throws: ``StoreError`` if nothing was changed.
  func insertToken(_ record: TokenRecord) async throws(StoreError) -> Bool

  /// Forgets a token.
  ///
  /// - Returns: false if there is none of this id.
  /// - Throws: ``StoreError`` if nothing was changed.
  func deleteToken(_ id: String) async throws(StoreError) -> Bool
}
