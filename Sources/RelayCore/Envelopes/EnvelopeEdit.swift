/// The new content and terms of an envelope; its key, client, lane and place stay.
package struct EnvelopeEdit: Sendable, Equatable {
  /// The request itself.
  package var content: EnvelopeContent
  /// The sender's own word for it, to find it by; nil for none.
  package var tag: String?
  /// Its place in the line, with what changes there: the upstream, the deadline, the time when it
  /// is due, whether it is held, and what happens to its lane if it is refused.
  package var entry: LineEntry
  /// The sender's part in ``LineEntry/dueAt``, as it is shown.
  package var notBefore: WallTime?
  /// Whether the content holds references to earlier envelopes' answers.
  package var references: Bool
  /// Whether it waits until someone runs it, now or once it is in line.
  package var hold: Bool

  /// Puts an edit together; see the properties for what each part means.
  ///
  /// - Parameter hold: nil for what ``LineEntry/standing`` says.
  package init(
    content: EnvelopeContent, tag: String?, entry: LineEntry, notBefore: WallTime?,
    references: Bool = false, hold: Bool? = nil
  ) {
    self.references = references
    self.content = content
    self.tag = tag
    self.entry = entry
    // Corrected content has never been sent.
    self.entry.isInDoubt = false
    self.notBefore = notBefore
    self.hold = hold ?? (entry.standing == .held)
  }
}
