/// A waiting envelope that has got a later post's content and terms; its id, its number, its place
/// and the time of its acceptance have stayed.
package struct CoalescedEnvelope: Sendable {
  /// Its place in the line, with the new terms.
  package var entry: LineEntry
  /// The relay's name for it.
  package var id: EnvelopeID
  /// What the sender handed over last.
  package var draft: EnvelopeDraft
  /// How often its content has been replaced, from 1.
  package var revision: Int64
  /// Where it went before.
  package var formerUpstream: UpstreamNumber
  /// Whether its ``LineEntry/dueAt`` comes, in whole or in part, from an attempt that failed.
  package var keepsBackoff: Bool

  /// Puts the parts together; see the properties for what each means.
  package init(
    entry: LineEntry, id: EnvelopeID, draft: EnvelopeDraft, revision: Int64,
    formerUpstream: UpstreamNumber, keepsBackoff: Bool
  ) {
    self.entry = entry
    self.id = id
    self.draft = draft
    self.revision = revision
    self.formerUpstream = formerUpstream
    self.keepsBackoff = keepsBackoff
  }
}

extension LineEntry {
  /// Its place once a later post has taken it over.
  ///
  /// One that blocks its lane goes on blocking it. A wait after an attempt that failed stays a
  /// wait, if it still goes to the same upstream: whoever posts often must not try an upstream more
  /// often.
  ///
  /// - Parameters:
  ///   - notBefore: The former post's wish.
  /// - Returns: The place, and whether it keeps the wait.
  package func replaced(
    by draft: EnvelopeDraft, to upstream: UpstreamNumber, formerNotBefore notBefore: WallTime?
  ) -> (entry: LineEntry, keepsBackoff: Bool) {
    var entry = self
    entry.upstream = upstream
    entry.expiresAt = draft.expiresAt
    entry.onFailure = draft.onFailure
    if standing != .blocked { entry.standing = draft.hold ? .held : .queued }
    let keepsBackoff =
      attempts > 0 && dueAt != nil && dueAt != notBefore && upstream == self.upstream
    entry.dueAt =
      keepsBackoff ? [dueAt, draft.notBefore].compactMap { $0 }.max() : draft.notBefore
    return (entry, keepsBackoff)
  }
}
