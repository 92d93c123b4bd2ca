/// Knows what requests are signed in with.
public protocol Credentials: Sendable {
  /// What to use now; nil for nothing.
  ///
  /// It is kept, and asked for again after ``Outbox/wake()``, once it has ended by
  /// ``Credential/expires``, and after a refusal that brought no other one.
  func current() async -> Credential?

  /// Asked once after a 401: this one is refused.
  ///
  /// - Returns: Another one; nil if there is none, as where a token has ended. Everything waits
  ///   then until ``Outbox/wake()``, or for the longest wait of ``Sending/backoff``.
  func refused(_ old: Credential?) async -> Credential?
}

/// What a request is signed in with.
public struct Credential: Sendable {
  /// A header field, such as `("Authorization", "Bearer …")`.
  public let header: (String, String)?
  /// A certificate.
  public let identity: TLSIdentity?
  /// When it ends, if that is known: from then on ``Credentials/current()`` is asked again.
  public let expires: Instant?

  /// A credential.
  public init(
    header: (String, String)? = nil, identity: TLSIdentity? = nil, expires: Instant? = nil
  ) {
    self.header = header
    self.identity = identity
    self.expires = expires
  }

  /// A token in the field `Authorization`.
  public static func bearer(_ token: String, expires: Instant? = nil) -> Credential {
    Credential(header: ("Authorization", "Bearer \(token)"), expires: expires)
  }
}

/// Requests are not signed in.
public struct NoCredentials: Credentials {
  /// Nothing.
  public init() {}

  /// Nothing.
  public func current() async -> Credential? { nil }

  /// Nothing.
  public func refused(_ old: Credential?) async -> Credential? { nil }
}

/// The same credential as long as it lasts.
public struct FixedCredentials: Credentials {
  private let credential: Credential

  /// This credential.
  public init(_ credential: Credential) { self.credential = credential }

  /// The credential.
  public func current() async -> Credential? { credential }

  /// There is no other one.
  public func refused(_ old: Credential?) async -> Credential? { nil }
}
