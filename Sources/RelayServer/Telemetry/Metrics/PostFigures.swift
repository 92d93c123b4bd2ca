import RelayCore

/// Counts of posts by their results since the start.
package struct PostFigures: Sendable, Equatable {
  /// The result of one envelope of a post, in the words of a batch's results.
  package enum Result: String, CaseIterable, Sendable {
    /// It is stored.
    case accepted
    /// It was stored before.
    case duplicate
    /// It has taken an earlier one's place.
    case coalesced
    /// It was a number that counts as come, without an envelope.
    case void
    /// It was not taken.
    case rejected
  }

  /// The number of posted envelopes, by result.
  package private(set) var results: [Result: UInt64] = [:]
  /// The number refused for a quota, by the name of its limit.
  package private(set) var quotas: [String: UInt64] = [:]

  /// Begins with nothing counted.
  package init() {}

  /// Counts envelopes.
  package mutating func count(_ result: Result, _ count: Int = 1) {
    results[result, default: 0] &+= UInt64(count)
  }

  /// Counts a request or an envelope that a quota has no room for.
  package mutating func count(_ refusal: QuotaRefusal) {
    quotas[refusal.limitName, default: 0] &+= 1
  }
}
