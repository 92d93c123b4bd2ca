/// The text of a public key (RFC 7517).
package enum JWKText {
  /// The members of a key, with its name and its use.
  ///
  /// - Parameter members: The JSON of which the name is the thumbprint (RFC 7638).
  package static func text(
    _ members: [UInt8], keyID: KeyID, _ algorithm: SignatureAlgorithm
  ) -> String {
    let rest = #","kid":"\#(keyID.thumbprint)","use":"sig","alg":"\#(algorithm.rawValue)"}"#
    return String(decoding: members.dropLast(), as: UTF8.self) + rest
  }
}
