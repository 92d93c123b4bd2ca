/// How a client's key is remembered once its envelope is forgotten.
///
/// A row is small: one digest stands for the client and its key, another one for what was posted
/// under it. The client is named and not numbered, since its number is forgotten sooner.
package enum RememberedKey {
  /// The length of each digest in a row.
  ///
  /// Among a billion keys two have the same one once in 10^20 times, and nobody can look for such a
  /// pair by trying.
  package static let digestBytes = 16

  /// What the SHA-256 of a key is taken of, whose first ``digestBytes`` are its digest.
  ///
  /// Neither names nor keys have the byte in between.
  package static func subject(_ key: String, of client: String) -> [UInt8] {
    Array(client.utf8) + [0] + Array(key.utf8)
  }

  /// What is kept of the fingerprint of a post.
  package static func digest(of fingerprint: [UInt8]) -> [UInt8] {
    Array(fingerprint.prefix(digestBytes))
  }
}
