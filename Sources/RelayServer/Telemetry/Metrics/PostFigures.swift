import RelayCore

/// What became of posts, counted since the start.
package struct PostFigures: Sendable, Equatable {
  /// What became of one envelope of a post, in the words of a batch's results.
  package enum Result: String, CaseIterable, Sendable {
    /// It is stored.
    case accepted
    /// It was stored before.
    case duplicate
    /// It has taken an earlier one's place.
    case coalesced
    /// It was not taken.
    case rejected
  }

  /// How many envelopes were posted, by what became of them.
  package private(set) var results: [Result: UInt64] = [:]
  /// How many were refused for a quota, by the name of its limit.
  package private(set) var quotas: [String: UInt64] = [:]

  /// Nothing so far.
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
