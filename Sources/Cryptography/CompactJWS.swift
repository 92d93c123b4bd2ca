import RelayCore

/// A signed text in the compact form of JWS (RFC 7515 section 3.1).
///
/// Header, payload and signature stand there in Base64 for URLs, with dots between them.
package struct CompactJWS: Sendable {
  /// The protected header: a JSON object.
  package let header: [UInt8]
  /// The signed bytes.
  package let payload: [UInt8]
  private let signature: [UInt8]
  private let signed: [UInt8]

  /// Reads a text; nil if it has another form.
  ///
  /// Nothing is verified yet.
  package init?(_ text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Base64URL.decode(parts[0]),
      let payload = Base64URL.decode(parts[1]), let signature = Base64URL.decode(parts[2])
    else { return nil }
    self.header = header
    self.payload = payload
    self.signature = signature
    signed = Array(text[..<parts[1].endIndex].utf8)
  }

  /// Whether a key of Ed25519 has signed it.
  ///
  /// The header's `alg` plays no part: who names a key knows how that signs.
  package func isSigned(by key: Ed25519PublicKey) -> Bool {
    key.verifies(signature, of: signed)
  }

  /// Signs a payload.
  ///
  /// - Parameter header: The protected header, a JSON object whose `alg` is the key's.
  package static func text(header: [UInt8], payload: [UInt8], key: SigningKey) -> String {
    let signed = Base64URL.encode(header) + "." + Base64URL.encode(payload)
    return signed + "." + Base64URL.encode(key.sign(Array(signed.utf8)))
  }
}
