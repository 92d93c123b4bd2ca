#if canImport(CryptoKit)
import CryptoKit
import Foundation
import RelayCore
import WaystationOutbox

/// Signs with a key of P-256 that never leaves the device's Secure Enclave.
public struct SecureEnclaveSigner: HeadSigner {
  private let key: SecureEnclave.P256.Signing.PrivateKey
  /// The name of the key.
  public let keyID: KeyID
  /// It signs by ES256.
  public var algorithm: SignatureAlgorithm { .p256 }
  /// The public key as a JSON Web Key with its name (RFC 7517), for whoever verifies.
  public let publicKey: String

  /// Makes a key.
  ///
  /// Keep its ``dataRepresentation``: only this device's enclave can use it.
  public init() throws { self.init(try SecureEnclave.P256.Signing.PrivateKey()) }

  /// The key that was made before.
  public init(dataRepresentation: Data) throws {
    self.init(try SecureEnclave.P256.Signing.PrivateKey(dataRepresentation: dataRepresentation))
  }

  private init(_ key: SecureEnclave.P256.Signing.PrivateKey) {
    self.key = key
    // 04, and the two coordinates.
    let point = Array(key.publicKey.x963Representation.dropFirst())
    let x = Base64URL.encode(point.prefix(point.count / 2))
    let y = Base64URL.encode(point.suffix(point.count / 2))
    let members = Array(#"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#.utf8)
    keyID = KeyID(Base64URL.encode(Array(SHA256.hash(data: Data(members)))))
    publicKey = JWKText.text(members, keyID: keyID, .p256)
  }

  /// What brings the key back after a start; no secret, but of use to this device alone.
  public var dataRepresentation: Data { key.dataRepresentation }

  /// The signature of a message.
  ///
  /// - Throws: CryptoKit's error, as while the device is locked.
  public func sign(_ message: [UInt8]) async throws -> [UInt8] {
    Array(try key.signature(for: Data(message)).rawRepresentation)
  }
}
#endif
