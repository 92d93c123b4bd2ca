/// An envelope that has just been committed, or that has just moved to its place in the line.
package struct AcceptedEnvelope: Sendable {
  /// Its place in the line.
  package var entry: LineEntry
  /// The relay's name for it.
  package var id: EnvelopeID
  /// What the sender handed over; nil for one that was accepted before and only moved.
  package var draft: EnvelopeDraft? { content?.draft }
  /// The client that sent it; nil as for ``draft``, of which this is no copy.
  package var client: String? { content?.draft.client }
  /// What an attempt needs of it; nil if it has to be read all the same, or is not needed soon.
  package var deliverable: DeliverableEnvelope? {
    // References are filled from the store, so there is nothing to be gained by keeping it.
    guard let content, !content.draft.references, entry.standing != .parked else { return nil }
    return DeliverableEnvelope(
      serial: entry.serial, id: id, client: content.draft.client, key: content.draft.key,
      content: content.draft.content, references: false, revision: revision)
  }
  private let content: Content?
  /// Of one that was parked, and has moved to the end of the line: the number that it had.
  package let movedFrom: Serial?
  /// How often another post has taken it over within the same commit.
  package var revision: Int64 = 0

  /// Describes an envelope that is new.
  package init(entry: LineEntry, id: EnvelopeID, draft: EnvelopeDraft, revision: Int64 = 0) {
    self.revision = revision
    self.entry = entry
    self.id = id
    content = Content(draft)
    movedFrom = nil
  }

  /// Describes one that was parked, and has a place in line now.
  package init(entry: LineEntry, id: EnvelopeID, movedFrom serial: Serial) {
    self.entry = entry
    self.id = id
    content = nil
    movedFrom = serial
  }

  /// Keeps what the sender handed over in one place: whoever is told of a commit goes through its
  /// envelopes, and a copy of each would count a dozen references up and down.
  private final class Content: Sendable {
    let draft: EnvelopeDraft

    init(_ draft: EnvelopeDraft) { self.draft = draft }
  }
}
