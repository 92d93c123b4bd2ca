/// What a sender said of a waiting envelope beside the request itself, as the next relay is told
/// it.
///
/// The deadline and the effect on the lane stand in its ``LineEntry``.
package struct SenderTerms: Hashable, Sendable {
  /// The lane's name within the client.
  package var lane: String
  /// The sender's own number within the lane; nil if it gave none.
  package var sequence: Int64?
  /// The sender's own word for it, to find it by; nil if it gave none.
  package var tag: String?
  /// The name under which a later post takes its place; nil for never.
  package var coalesce: String?

  /// Puts the terms together.
  package init(
    lane: String, sequence: Int64?, tag: String?, coalesce: String?
  ) {
    self.lane = lane
    self.sequence = sequence
    self.tag = tag
    self.coalesce = coalesce
  }
}
