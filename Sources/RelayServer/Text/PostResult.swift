/// The result of a post that was taken, in the contract's words.
package enum PostResult: String, Sendable {
  /// Stored now.
  case accepted
  /// Stored before under the same key or number.
  case duplicate
  /// Stored in the place of an earlier post that waits.
  case coalesced
  /// A number that counts as come from now on, without an envelope.
  case void
}
