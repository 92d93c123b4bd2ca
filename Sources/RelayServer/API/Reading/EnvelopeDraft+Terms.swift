import RelayCore

extension EnvelopeDraft {
  /// An envelope on the terms that its sender named, and on the configuration's where it named
  /// none.
  ///
  /// It has no fingerprint yet.
  ///
  /// - Parameters:
  ///   - client: The client that it counts as, whether the sender or a credential named it.
  ///   - arrival: When it came: what spans of time count from.
  init(
    _ terms: EnvelopeTerms, of client: String, to upstream: AcceptanceRules.Upstream,
    _ content: EnvelopeContent, at arrival: ArrivalTime
  ) {
    self.init(
      client: client, lane: terms.lane ?? LaneSyntax.defaultName, upstream: upstream.name,
      content: content, key: terms.key, fingerprint: [], sequence: terms.sequence, tag: terms.tag,
      hold: terms.hold ?? false, notBefore: terms.notBefore(from: arrival),
      expiresAt: terms.expiresAt(from: arrival)
        ?? arrival.deadlineStart.deadline(afterMs: upstream.deadlineMs),
      onFailure: terms.onFailure ?? upstream.onFailure, references: terms.references ?? false,
      coalesce: terms.coalesce, isVoid: false, isInOrder: terms.inOrder ?? false)
  }
}
