/// The part of a waiting envelope that an attempt needs.
package struct DeliverableEnvelope: Sendable {
  /// The envelope's number.
  package var serial: Serial
  /// The relay's name for it.
  package var id: EnvelopeID
  /// The sender's name.
  package var client: String
  /// The sender's key, if it gave one.
  package var key: String?
  /// The request to be made.
  package var content: EnvelopeContent
  /// Whether the content holds references that are to be filled first.
  package var references: Bool
  /// The number of times that the content has been replaced by a later post's.
  package var revision: Int64
  /// What the upstream is told of it, if its lane is an evidence lane.
  package var evidence: EvidenceMark?

  /// The key by which the upstream recognises a repeat, unless the content has a header field for
  /// that.
  package var idempotencyKey: String { id.idempotencyKey(revision: revision) }

  /// Puts the parts together.
  package init(
    serial: Serial, id: EnvelopeID, client: String, key: String?, content: EnvelopeContent,
    references: Bool = false, revision: Int64 = 0, evidence: EvidenceMark? = nil
  ) {
    self.evidence = evidence
    self.revision = revision
    self.references = references
    self.serial = serial
    self.id = id
    self.client = client
    self.key = key
    self.content = content
  }
}

extension EnvelopeID {
  /// The key by which an upstream recognises a repeat of content that has replaced other content so
  /// many times.
  ///
  /// Such content has a key of its own, since the former content may have arrived unnoticed.
  package func idempotencyKey(revision: Int64) -> String {
    revision == 0 ? description : "\(self).\(revision)"
  }
}
