/// What the answer to a request that carried several envelopes speaks of.
package enum BatchAnswerSubject: Sendable {
  /// All of them as one. If it refuses them, nothing is known of any: they go again in two halves.
  case whole
  /// Each of them.
  case each
  /// Nobody knows: it has results, and they do not fit the envelopes. Each has a request to itself
  /// the next time, when there is nothing to mistake.
  case unreadable
}
