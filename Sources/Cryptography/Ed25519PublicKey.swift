import COpenSSL
import RelayCore

/// A public key of Ed25519 (RFC 8032), as its 32 bytes.
package struct Ed25519PublicKey: Sendable, Hashable {
  /// The length of a key in bytes.
  package static let byteCount = 32
  /// The length of a signature in bytes.
  package static let signatureBytes = 64

  /// The key's bytes.
  package let bytes: [UInt8]

  /// Takes a key's bytes; nil unless they are as many as a key has.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = bytes
  }

  /// The key as a JSON Web Key, with the members of its kind alone (RFC 8037 section 2).
  ///
  /// It has the form that is digested for its ``thumbprint``.
  package var jwk: [UInt8] {
    Array(#"{"crv":"Ed25519","kty":"OKP","x":"\#(Base64URL.encode(bytes))"}"#.utf8)
  }

  /// The key's name: the thumbprint of its JSON Web Key by SHA-256 (RFC 7638).
  package var thumbprint: String { Base64URL.encode(SHA256.digest(of: jwk)) }

  /// Whether a signature of a message was made by the private key that belongs to this one.
  package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
    guard signature.count == Self.signatureBytes else { return false }
    defer { OpenSSLErrors.clear() }
    // Any 32 bytes are taken here; those that are no key verify nothing.
    guard let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, bytes.count),
      let context = EVP_MD_CTX_new()
    else { preconditionFailure("EVP_PKEY_new_raw_public_key: \(OpenSSLErrors.takeReason())") }
    defer {
      EVP_MD_CTX_free(context)
      EVP_PKEY_free(key)
    }
    let status = EVP_DigestVerifyInit(context, nil, nil, nil, key)
    precondition(status == 1, "EVP_DigestVerifyInit failed for Ed25519")
    return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
  }
}
