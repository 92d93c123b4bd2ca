/// Signs what a device hands over, so that an upstream need not trust the relay in between.
///
/// A key in a Secure Enclave, in a file, or wherever the device keeps it. `OpenSSLSigner` of
/// `WaystationOutboxCurl` and `SecureEnclaveSigner` of `WaystationOutboxFoundation` are two.
public protocol HeadSigner: Sendable {
  /// The name of the key: the thumbprint of its JSON Web Key (RFC 7638).
  ///
  /// An upstream finds the public key by it.
  var keyID: KeyID { get }
  /// How the key signs.
  var algorithm: SignatureAlgorithm { get }
  /// The signature of a message: 64 bytes, as a JWS has them (RFC 7518 section 3.4, RFC 8037
  /// section 3.1).
  ///
  /// - Throws: Any error; it is told, and the message is signed later.
  func sign(_ message: [UInt8]) async throws -> [UInt8]
}

/// How a key signs, by its name in a JWS (`alg`).
public enum SignatureAlgorithm: String, Sendable, Hashable {
  /// Ed25519 (RFC 8032, RFC 8037).
  case ed25519 = "EdDSA"
  /// ECDSA with P-256 and SHA-256 (RFC 7518 section 3.4).
  case p256 = "ES256"
}

/// Why nothing is signed just now.
public struct SignerFailure: Error, Sendable, Equatable {
  /// What the signer has said, in words.
  public let reason: String
  /// When it is asked again; ``Outbox/wake()`` has it asked at once.
  public let retryAt: Instant
}
