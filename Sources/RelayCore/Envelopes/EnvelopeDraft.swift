/// An envelope as it is handed to the store: checked, but not accepted yet.
package struct EnvelopeDraft: Sendable, Equatable {
  /// The client's name: 1 to 128 visible ASCII characters.
  package var client: String
  /// The lane's name within the client: 1 to 128 visible ASCII characters.
  package var lane: String
  /// A configured upstream's name.
  package var upstream: String
  /// The request itself.
  package var content: EnvelopeContent
  /// The sender's own key, by which a repeated post is recognised; nil if it sent none.
  package var key: String?
  /// A digest of what the sender said of the envelope, by which a repeated key or number with other
  /// content is recognised.
  ///
  /// 32 bytes; empty where there is neither a key nor a sequence number.
  package var fingerprint: [UInt8]
  /// The digest of what a receipt covers of it, ``CoveredItem/bytes``; empty where no receipt is to
  /// be made.
  package var coveredDigest: [UInt8] = []
  /// The sender's own number within the lane, from 1; nil if it sends none.
  package var sequence: Int64?
  /// The sender's own word for it, to find it by; nil if it gave none.
  package var tag: String?
  /// Whether the envelope waits until someone runs it.
  package var hold: Bool
  /// The earliest time for an attempt; nil for at once.
  package var notBefore: WallTime?
  /// The time past which the envelope ends as `expired`.
  package var expiresAt: WallTime
  /// The effect on the lane if this envelope is refused.
  package var onFailure: FailurePolicy
  /// Whether its content holds references to earlier envelopes' answers, to be filled when it is
  /// sent.
  package var references: Bool
  /// The name under which a later post of the same lane replaces this one's content as long as it
  /// waits; nil for never.
  ///
  /// 1 to 128 visible ASCII characters.
  package var coalesce: String?
  /// Whether it is no envelope at all: its sequence number counts as come, and nothing is stored of
  /// it beside that.
  package var isVoid: Bool
  /// Whether its sender hands the lane over in order: lower numbers that are missing are not waited
  /// for, and a number that nobody waits for any more is left away.
  package var isInOrder: Bool

  /// Puts a draft together; see the properties for what each part means.
  ///
  /// Nothing has a default, so that the compiler asks each place about a new part: what one of them
  /// leaves out would be lost there.
  package init(
    client: String, lane: String, upstream: String, content: EnvelopeContent, key: String?,
    fingerprint: [UInt8], sequence: Int64?, tag: String?, hold: Bool, notBefore: WallTime?,
    expiresAt: WallTime, onFailure: FailurePolicy, references: Bool, coalesce: String?,
    isVoid: Bool, isInOrder: Bool
  ) {
    self.client = client
    self.lane = lane
    self.upstream = upstream
    self.content = content
    self.key = key
    self.fingerprint = fingerprint
    self.sequence = sequence
    self.tag = tag
    self.hold = hold
    self.notBefore = notBefore
    self.expiresAt = expiresAt
    self.onFailure = onFailure
    self.references = references
    self.coalesce = coalesce
    self.isVoid = isVoid
    self.isInOrder = isInOrder
  }

  /// A draft of which nothing is said beyond the request, where it goes, and until when.
  package init(
    client: String, lane: String, upstream: String, content: EnvelopeContent, expiresAt: WallTime
  ) {
    self.init(
      client: client, lane: lane, upstream: upstream, content: content, key: nil, fingerprint: [],
      sequence: nil, tag: nil, hold: false, notBefore: nil, expiresAt: expiresAt,
      onFailure: .skip, references: false, coalesce: nil, isVoid: false, isInOrder: false)
  }

  /// ``coveredDigest``, nil if there is none.
  package var knownDigest: [UInt8]? { coveredDigest.isEmpty ? nil : coveredDigest }

  /// The same without a number.
  package var unnumbered: EnvelopeDraft {
    var draft = self
    draft.sequence = nil
    return draft
  }
}
