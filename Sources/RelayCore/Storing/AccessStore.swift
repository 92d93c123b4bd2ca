/// An operator's rights.
package enum OperatorRole: String, CaseIterable, Sendable {
  /// Look at everything, and change nothing.
  case read
  /// Everything.
  case steer
}

/// A token as it is stored: everything but the secret.
package struct TokenRecord: Hashable, Sendable {
  /// The one that a token stands for.
  package enum Grant: Hashable, Sendable {
    /// A client of this name.
    case client(String)
    /// An operator.
    case `operator`(OperatorRole)
    /// Nobody any more: the token that a key makes for this client has been revoked.
    case revoked(client: String)
  }

  /// The public part of the token: unique, and its name for operators.
  package var id: String
  /// The one that it stands for.
  package var grant: Grant
  /// SHA-256 of the secret; empty for a revoked token that was made from a key.
  package var digest: [UInt8]
  /// Its purpose, in the operator's words; nil if none was given.
  package var label: String?
  /// The time when it was made; for a revoked token, when it was revoked.
  package var createdAt: WallTime
  /// The time at which it expires; nil for never.
  package var expiresAt: WallTime?
  /// How its client may renew it; nil if it may not.
  package var renewal: Renewal?

  /// Puts a record together.
  package init(
    id: String, grant: Grant, digest: [UInt8], label: String? = nil, createdAt: WallTime,
    expiresAt: WallTime? = nil, renewal: Renewal? = nil
  ) {
    self.id = id
    self.grant = grant
    self.digest = digest
    self.label = label
    self.createdAt = createdAt
    self.expiresAt = expiresAt
    self.renewal = renewal
  }

  /// The client that it stands or stood for; nil for an operator's.
  package var client: String? {
    switch grant {
    case .client(let name), .revoked(let name): name
    case .operator: nil
    }
  }
}

/// A page of the tokens, by their ids.
package struct TokenPage: Sendable {
  /// The tokens, in the order of their ids.
  package var tokens: [TokenRecord]
  /// Whether more follow.
  package var hasMore: Bool

  /// Puts a page together.
  package init(tokens: [TokenRecord], hasMore: Bool) {
    self.tokens = tokens
    self.hasMore = hasMore
  }
}

/// A store of tokens: durable, and read whole at a start.
///
/// All calls may come from any thread. When a call returns, its change is on disk.
package protocol AccessStore: Sendable {
  /// Reads tokens after an id, in the order of the ids.
  ///
  /// - Parameters:
  ///   - id: The id after which to go on; empty for the beginning.
  ///   - client: The client whose tokens to read; nil for all.
  ///   - countMax: The most tokens to return.
  func tokens(
    after id: String, client: String?, countMax: Int
  ) async throws(StoreError) -> TokenPage

  /// Stores a token.
  ///
  /// - Returns: false if there is a token of this id already; nothing is changed then.
  /// - Throws: ``StoreError`` if nothing was changed.
  func insertToken(_ record: TokenRecord) async throws(StoreError) -> Bool

  /// Has a token's renewal take the place of the token as it was.
  ///
  /// - Parameters:
  ///   - record: The token, renewed.
  ///   - number: How many renewals it had before: if it has another number by now, it stays as it
  ///     is.
  /// - Returns: The token as it is now; nil if there is none of this id.
  /// - Throws: ``StoreError`` if nothing was changed.
  func renewToken(
    _ record: TokenRecord, after number: Int64
  ) async throws(StoreError) -> TokenRecord?

  /// Deletes a token.
  ///
  /// - Returns: false if there is no token of this id.
  /// - Throws: ``StoreError`` if nothing was changed.
  func deleteToken(_ id: String) async throws(StoreError) -> Bool
}
