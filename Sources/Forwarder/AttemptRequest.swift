import RelayCore

/// One attempt that the forwarder is to carry out.
package struct AttemptRequest: Sendable {
  /// Which envelope; at most one attempt of an envelope is under way at any time.
  package var serial: Serial
  /// The envelope's id, which the upstream sees as `Idempotency-Key` where the sender set none.
  package var id: EnvelopeID
  /// What the upstream sees as `Idempotency-Key` instead, if its content is no more the one that
  /// its id stands for; nil if it is.
  package var idempotencyKey: String?
  /// The sender's name: 1 to 128 visible ASCII characters.
  package var client: String
  /// The attempt's number, from 1.
  package var attempt: Int32
  /// When the envelope was accepted.
  package var acceptedAt: WallTime
  /// Where the request goes.
  package var target: UpstreamTarget
  /// The request itself.
  package var content: EnvelopeContent
  /// Whether the request only asks whether the upstream has the envelope: it is none of the
  /// envelope's own, so neither its `Idempotency-Key` nor an attempt's number goes with it.
  package var isVerification = false
  /// What the upstream sees as `traceparent` in place of the sender's; nil for the sender's own.
  package var traceParent: String?
  /// Whether it carries no envelope but something of the relay's own, and so goes without all that
  /// is said of envelopes.
  package var isOwn = false

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

  /// Describes the attempt number `attempt` of an envelope as the store handed it out.
  package init(
    _ envelope: borrowing DeliverableEnvelope, attempt: Int32, acceptedAt: WallTime,
    target: UpstreamTarget
  ) {
    self.init(
      serial: envelope.serial, id: envelope.id, client: envelope.client, attempt: attempt,
      acceptedAt: acceptedAt, target: target, content: envelope.content)
    if envelope.revision > 0 { idempotencyKey = envelope.idempotencyKey }
  }
}

/// What came of attempts since the forwarder last spoke: one for each that ended.
package struct AttemptBatch: Sendable {
  /// The attempts that ended, or were broken off, in the order in which they ended.
  package var reports: [AttemptReport] = []
  /// The attempts that were called off before they had begun: the upstream has seen nothing of
  /// them.
  ///
  /// One that had begun is reported, as ``ConnectionFailure/brokenOff``.
  package var withdrawn: [Serial] = []

  /// Whether there is nothing to say.
  package var isEmpty: Bool { reports.isEmpty && withdrawn.isEmpty }

  /// A batch with nothing in it.
  package init() {}
}
