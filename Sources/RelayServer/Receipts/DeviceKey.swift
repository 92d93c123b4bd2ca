import Cryptography
import JSON
import RelayCore

/// A public key with which a device signs what it hands over (`docs/outbox.md`, "Signing").
package struct DeviceKey: Sendable {
  private enum Kind: Sendable {
    case ed25519(Ed25519PublicKey)
    case p256(P256PublicKey)
  }

  private let kind: Kind

  /// Reads a JSON Web Key (RFC 7517); nil for one of another kind than Ed25519 or P-256.
  package init?(_ key: JSONObject) {
    guard let kty = try? key["kty"]?.string(), let crv = try? key["crv"]?.string(),
      let x = Self.coordinate(key["x"])
    else { return nil }
    switch (kty, crv) {
    case ("OKP", "Ed25519"):
      guard let key = Ed25519PublicKey(x) else { return nil }
      kind = .ed25519(key)
    case ("EC", "P-256"):
      guard let y = Self.coordinate(key["y"]), let key = P256PublicKey(x: x, y: y) else {
        return nil
      }
      kind = .p256(key)
    default: return nil
    }
  }

  private static func coordinate(_ value: JSONValue?) -> [UInt8]? {
    (try? value?.string()).flatMap { Base64URL.decode($0) }
  }

  /// Its name: its thumbprint (RFC 7638).
  package var id: String {
    switch kind {
    case .ed25519(let key): key.thumbprint
    case .p256(let key): key.thumbprint
    }
  }

  /// How it signs, by its name in a JWS.
  package var algorithm: String {
    switch kind {
    case .ed25519: "EdDSA"
    case .p256: "ES256"
    }
  }

  /// Whether its private key has signed a message.
  package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
    switch kind {
    case .ed25519(let key): key.verifies(signature, of: message)
    case .p256(let key): key.verifies(signature, of: message)
    }
  }
}
