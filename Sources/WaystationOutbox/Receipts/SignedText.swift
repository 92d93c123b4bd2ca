import JSON
import RelayCore

/// A compact JWS (RFC 7515 section 7.1), as it was read: nobody has verified it yet.
package struct SignedText: Sendable, Equatable {
  /// The name of the key.
  package let keyID: String
  /// How it was signed (`alg`).
  package let algorithm: String
  /// The bytes that are signed.
  package let message: [UInt8]
  /// What it says.
  package let payload: [UInt8]
  /// The signature.
  package let signature: [UInt8]

  /// Reads one; nil if it is none, or of another type, or signed otherwise.
  ///
  /// - Parameter algorithms: How it may be signed.
  package init?(
    _ text: String, type: StaticString, algorithms: Set<String> = ["EdDSA"]
  ) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Base64URL.decode(parts[0]),
      let payload = Base64URL.decode(parts[1]), let signature = Base64URL.decode(parts[2]),
      let object = try? JSONValue.parse(header).object(),
      let algorithm = try? object["alg"]?.string(), algorithms.contains(algorithm),
      object["typ"]?.equals(type) == true,
      object["crit"] == nil, let keyID = try? object["kid"]?.string()
    else { return nil }
    self.keyID = keyID
    self.algorithm = algorithm
    message = Array(text[..<parts[1].endIndex].utf8)
    self.payload = payload
    self.signature = signature
  }
}
