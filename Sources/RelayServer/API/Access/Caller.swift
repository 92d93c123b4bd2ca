import RelayCore

/// Who makes a request.
package struct Caller: Equatable, Sendable {
  /// What it is to the relay.
  package enum Kind: Equatable, Sendable {
    /// Nobody in particular: no credential was shown.
    case anonymous
    /// Nobody in particular, whose request names a host that the relay is not known by, or that a
    /// browser sends for another site.
    case stranger
    /// A client, which has to do with its own alone.
    case device(String)
    /// Somebody who looks after the relay.
    case `operator`(OperatorRole)
  }

  /// By what a caller was known.
  package enum Credential: Hashable, Sendable {
    /// A stored token, by its id.
    case stored(String)
    /// A token that was made of a client key.
    case derived(DerivedToken)
    /// An operator whom the configuration names.
    case configured(String)
    /// A certificate that names a client.
    case certificate
  }

  /// What it is.
  package let kind: Kind
  /// By what it was known; nil for nobody in particular.
  package let credential: Credential?
  /// When the credential ends by itself; nil for never.
  package let expiresAt: WallTime?
  /// Which of the configurations that were in force one after the other it was known by.
  package private(set) var generation = 0

  /// Nobody in particular.
  package static let anonymous = Caller(.anonymous, by: nil)

  /// Nobody in particular, from elsewhere.
  static let stranger = Caller(.stranger, by: nil)

  /// Somebody who was known by a credential.
  package init(_ kind: Kind, by credential: Credential?, until expiresAt: WallTime? = nil) {
    self.kind = kind
    self.credential = credential
    self.expiresAt = expiresAt
  }

  /// The same, until the certificate of its connection ends, if that is sooner.
  package func until(_ end: WallTime?) -> Caller {
    guard let end, end < expiresAt ?? .never else { return self }
    return Caller(kind, by: credential, until: end).knownBy(generation)
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

  /// What the log calls it: a name or an id that is no secret; nil for nobody in particular.
  package var publicName: String? {
    switch credential {
    case .stored(let id): id
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
