import RelayCore

/// Who may use the relay, as far as the configuration says; what stands here are the defaults.
package struct AccessConfiguration: Equatable, Sendable {
  /// What becomes of a caller who shows no credential.
  package enum Anonymous: String, CaseIterable, Sendable {
    /// It may do everything but see to tokens.
    case allow
    /// It may ask whether the relay is well, and nothing else.
    case refuse
  }

  /// nil: allowed as long as no credential is configured, and refused from then on.
  package var anonymous: Anonymous?
  /// The hosts by which the relay is known to who shows no credential, besides those that are this
  /// machine's in any case.
  package var hosts: [KnownHost] = []
  /// Operators' tokens, in the order they were named.
  package var operators: [OperatorConfiguration] = []
  /// Keys of which clients' tokens are made, in the order they were named.
  package var clientKeys: [ClientKeyConfiguration] = []

  /// The most tokens that are stored at a time, revoked ones of keys included, of which as many may
  /// come on top; they are held in memory, some 200 bytes each.
  package var tokensMax = 100_000

  /// The defaults.
  package init() {}

  /// Whether anybody can be told from others by it.
  package var hasCredentials: Bool { !operators.isEmpty || !clientKeys.isEmpty }
}

/// An operator's token that the configuration knows by its digest.
package struct OperatorConfiguration: Equatable, Sendable {
  /// What the operator is called in logs.
  package var name: String
  /// What it may do.
  package var role: OperatorRole
  /// SHA-256 of the token's text.
  package var tokenDigest: [UInt8]

  /// An operator.
  package init(name: String, role: OperatorRole, tokenDigest: [UInt8]) {
    self.name = name
    self.role = role
    self.tokenDigest = tokenDigest
  }
}

/// A key of which clients' tokens are made.
package struct ClientKeyConfiguration: Equatable, Sendable {
  /// What the key is called, in tokens as well.
  package var name: String
  /// One secret, or, while it is being changed, two: in hexadecimal digits.
  package var secrets: [Secret]
  /// The clients that it makes tokens for: names, or beginnings of names with `*` behind them.
  package var clients: [String] = ["*"]

  /// A key for every client.
  package init(name: String, secrets: [Secret]) {
    self.name = name
    self.secrets = secrets
  }

  /// The most secrets of one key.
  package static let secretsMax = 2
  /// How many bytes a secret has: as many as the code at least (RFC 2104 section 3), and at most
  /// as many as the hash works with at a time.
  package static let secretBytes = 32...64

  /// The bytes of a secret in digits; nil if it is none.
  package static func secret(_ digits: String) -> [UInt8]? {
    Hexadecimal.decode(digits.utf8).flatMap { secretBytes.contains($0.count) ? $0 : nil }
  }
}
