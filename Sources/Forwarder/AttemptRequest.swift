import RelayCore

/// One attempt that the forwarder is to carry out.
package struct AttemptRequest: Sendable {
  /// The envelope; at most one attempt of an envelope is running at any time.
  package var serial: Serial
  /// The envelope's id, which the upstream gets as `Idempotency-Key` if the sender set none.
  package var id: EnvelopeID
  /// The `Idempotency-Key` that replaces the id once a later post has replaced the envelope's
  /// content; nil if none has.
  package var idempotencyKey: String?
  /// The sender's name: 1 to 128 visible ASCII characters.
  package var client: String
  /// The attempt's number, from 1.
  package var attempt: Int32
  /// The time when the envelope was accepted.
  package var acceptedAt: WallTime
  /// The upstream's settings.
  package var target: UpstreamTarget
  /// The request itself.
  package var content: EnvelopeContent
  /// Whether the request only asks whether the upstream has the envelope.
  ///
  /// It is then not a request of the envelope, so neither its `Idempotency-Key` nor an attempt's
  /// number is sent.
  package var isVerification = false
  /// The `traceparent` that replaces the sender's; nil for the sender's own.
  package var traceParent: String?
  /// The number of envelopes in the request, which is then no single one's; nil for one.
  package var batchCount: Int?
  /// The most bytes of the response's body that are kept, if more than of the upstream's others.
  package var responseBodyBytesMax = 0
  /// The fields that tell another relay the envelope's terms, or any other upstream what an
  /// evidence lane's ledger has of it; empty for an upstream that is told neither.
  package var termFields = HeaderBlock()
  /// Whether it carries no envelope but something of the relay itself, so that no fields about
  /// envelopes are sent.
  package var isOwn = false
  /// The access token that it carries; nil for none.
  var accessToken: FetchedToken?
  /// Whether it was sent before with another token, which the upstream did not accept.
  var isRepeated = false
  /// The beginning of the attempt, if its request could not be sent at once.
  var beganAt: Now?

  /// Describes an attempt; see the properties for what each part means.
  package init(
    serial: Serial, id: EnvelopeID, client: String, attempt: Int32, acceptedAt: WallTime,
    target: UpstreamTarget, content: EnvelopeContent
  ) {
    self.serial = serial
    self.id = id
    self.client = client
    self.attempt = attempt
    self.acceptedAt = acceptedAt
    self.target = target
    self.content = content
  }

  /// Describes attempt number `attempt` of an envelope from the store.
  package init(
    _ envelope: borrowing DeliverableEnvelope, attempt: Int32, acceptedAt: WallTime,
    target: UpstreamTarget
  ) {
    self.init(
      serial: envelope.serial, id: envelope.id, client: envelope.client, attempt: attempt,
      acceptedAt: acceptedAt, target: target, content: envelope.content)
    if envelope.revision > 0 { idempotencyKey = envelope.idempotencyKey }
    if let mark = envelope.evidence { termFields = mark.fields(key: envelope.key) }
  }
}

/// The results of attempts since the last delivery, one for each that ended.
package struct AttemptBatch: Sendable {
  /// The attempts that ended or were cut off, in the order in which they ended.
  package var reports: [AttemptReport] = []
  /// The attempts that were called off before they had begun, so that the upstream has seen nothing
  /// of them.
  ///
  /// One that had begun is reported, as ``ConnectionFailure/brokenOff``.
  package var withdrawn: [Serial] = []
  /// What hides the access tokens of attempts whose answers came compressed: whoever unpacks such
  /// an answer has to hide them in it.
  package var masks: [Serial: CredentialMask] = [:]

  /// Whether there are no results.
  package var isEmpty: Bool { reports.isEmpty && withdrawn.isEmpty }

  /// Makes an empty batch.
  package init() {}
}

extension EvidenceMark {
  /// The fields that tell an upstream where the envelope stands in its lane, and by which it can
  /// tell later that nothing was changed; `docs/receipts.md` has them.
  fileprivate func fields(key: String?) -> HeaderBlock {
    var fields = HeaderBlock()
    if let key { fields.append(name: "Waystation-Key", value: key) }
    fields.append(name: "Waystation-Lane", value: lane)
    fields.append(name: "Waystation-Sequence", value: String(number))
    fields.append(name: "Waystation-Item-Digest", value: Base64URL.encode(digest))
    fields.append(name: "Waystation-Link", value: Base64URL.encode(link))
    return fields
  }
}
