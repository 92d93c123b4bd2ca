import RelayCore

/// The caller: the one who makes a request.
package struct Caller: Equatable, Sendable {
  /// The kind of a caller.
  package enum Kind: Equatable, Sendable {
    /// A caller who showed no credential.
    case anonymous
    /// A caller without a credential, whose request names a host that is not the relay's, or was
    /// sent by a browser for another site.
    case stranger
    /// A client, which has to do with its own alone.
    case device(String)
    /// Somebody who looks after the relay.
    case `operator`(OperatorRole)
  }

  /// By what a caller was known.
  package enum Credential: Hashable, Sendable {
    /// A stored token, by its id, and by how many times it had been renewed when it got the secret
    /// that was shown.
    case stored(String, renewal: Int64)
    /// A token that was made of a client key.
    case derived(DerivedToken)
    /// An operator whom the configuration names.
    case configured(String)
    /// A certificate that names a client.
    case certificate
  }

  /// The kind of caller.
  package let kind: Kind
  /// By what it was known; nil for nobody in particular.
  package let credential: Credential?
  /// The time when the credential expires; nil for never.
  package private(set) var expiresAt: WallTime?
  /// The time until which it can be renewed; nil if it cannot be.
  package private(set) var renewableUntil: WallTime?
  /// Which of the configurations that were in force one after the other it was known by.
  package private(set) var generation = 0

  /// A caller without a credential.
  package static let anonymous = Caller(.anonymous, by: nil)

  /// A caller without a credential, from another site.
  static let stranger = Caller(.stranger, by: nil)

  /// Somebody who was known by a credential.
  package init(
    _ kind: Kind, by credential: Credential?, until expiresAt: WallTime? = nil,
    renewableUntil: WallTime? = nil
  ) {
    self.kind = kind
    self.credential = credential
    self.expiresAt = expiresAt
    self.renewableUntil = renewableUntil
  }

  /// The same, until the certificate of its connection ends, if that is sooner.
  package func until(_ end: WallTime?) -> Caller {
    guard let end, end < expiresAt ?? .never else { return self }
    var caller = self
    caller.expiresAt = end
    return caller
  }

  /// The same, known by a configuration.
  func knownBy(_ generation: Int) -> Caller {
    var caller = self
    caller.generation = generation
    return caller
  }

  /// The client that it is; nil if it is none, and so may name any.
  package var client: String? {
    if case .device(let name) = kind { return name }
    return nil
  }

  /// The caller's name in the log: a name or an id that is no secret; nil for a caller without a
  /// credential.
  package var publicName: String? {
    switch credential {
    case .stored(let id, _): id
    case .derived(let token): token.id
    case .configured(let name): name
    case .certificate: client
    case nil: nil
    }
  }

  /// Whether what is this client's is its business.
  package func mayKnow(of client: String) -> Bool { self.client.map { $0 == client } ?? true }
}

extension Caller {
  /// The client that something is about.
  ///
  /// - Parameters:
  ///   - named: The one that was named; nil if none was.
  ///   - sender: The one that a credential says; nil if none does.
  /// - Throws: `forbidden` if they are not the same.
  static func client(
    _ named: String?, of sender: String?, field: String
  ) throws(Problem) -> String? {
    guard let sender else { return named }
    if let named, named != sender { throw .otherClient(named, field: field) }
    return sender
  }
}
