/// A waiting envelope that has taken over a later post's content and terms; its id, number, place
/// and time of acceptance have stayed.
package struct CoalescedEnvelope: Sendable {
  /// Its place in the line, with the new terms.
  package var entry: LineEntry
  /// The relay's name for it.
  package var id: EnvelopeID
  /// The last post.
  package var draft: EnvelopeDraft
  /// The number of times that its content has been replaced, from 1.
  package var revision: Int64
  /// The upstream that it went to before.
  package var formerUpstream: UpstreamNumber
  /// Whether its ``LineEntry/dueAt`` is, in whole or in part, a wait after a failed attempt.
  package var keepsBackoff: Bool
  /// How many posts have taken its place within the same commit, of which it has the last one's
  /// content.
  package var postCount = 1

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
  /// The entry once a later post has replaced the content.
  ///
  /// A blocked envelope goes on blocking its lane. A wait after a failed attempt stays, if the
  /// envelope still goes to the same upstream: a client that posts often must not try an upstream
  /// more often.
  ///
  /// - Parameters:
  ///   - notBefore: The earliest time that the former post asked for.
  /// - Returns: The entry, and whether it keeps the wait.
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
