/// An envelope that has just been committed, or that has just moved to its place in the line.
package struct AcceptedEnvelope: Sendable {
  /// Its place in the line.
  package var entry: LineEntry
  /// The relay's name for it.
  package var id: EnvelopeID
  /// The envelope as its sender posted it; nil for one that was accepted before and only moved.
  package var draft: EnvelopeDraft? { content?.draft }
  /// The client that sent it, read without copying ``draft``; nil where that is nil.
  package var client: String? { content?.draft.client }
  /// The content for an attempt; nil if it has to be read from the store anyway, or is not needed
  /// soon.
  package var deliverable: DeliverableEnvelope? {
    // References are filled from the store, so keeping this would gain nothing.
    guard let content, !content.draft.references, entry.standing != .parked else { return nil }
    return DeliverableEnvelope(
      serial: entry.serial, id: id, client: content.draft.client, key: content.draft.key,
      content: content.draft.content, references: false, revision: revision)
  }
  private let content: Content?
  /// The former number of an envelope that was parked and has moved to the end of the line; else
  /// nil.
  package let movedFrom: Serial?
  /// The number of posts that have replaced its content within the same commit.
  package var revision: Int64 = 0
  /// How many posts it stands for: none if it only moved, else its own, and those that have taken
  /// it over within the same commit.
  package var postCount: Int { movedFrom == nil ? 1 + Int(revision) : 0 }

  /// Describes a new envelope.
  package init(entry: LineEntry, id: EnvelopeID, draft: EnvelopeDraft, revision: Int64 = 0) {
    self.revision = revision
    self.entry = entry
    self.id = id
    content = Content(draft)
    movedFrom = nil
  }

  /// Describes one that was parked, and now has a place in the line.
  package init(entry: LineEntry, id: EnvelopeID, movedFrom serial: Serial) {
    self.entry = entry
    self.id = id
    content = nil
    movedFrom = serial
  }

  /// One shared copy of the draft: every listener goes through the envelopes of a commit, and
  /// copying each draft would count a dozen references up and down.
  private final class Content: Sendable {
    let draft: EnvelopeDraft

    init(_ draft: EnvelopeDraft) { self.draft = draft }
  }
}
