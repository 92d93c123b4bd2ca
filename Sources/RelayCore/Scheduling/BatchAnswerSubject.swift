/// What the answer to a request that carried several envelopes speaks of.
package enum BatchAnswerSubject: Sendable {
  /// All of them as one; see ``BatchVerdict`` for refusals that say nothing of a single one.
  case whole
  /// Each of them.
  case each
  /// Nobody knows: it has results, and they do not fit the envelopes. Each is the only one in its
  /// request the next time, where there is nothing to mistake.
  case unreadable
  /// The coding of the request's body, which can be left out, and none of them.
  case coding
}
