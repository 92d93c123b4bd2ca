/// What a store lists: a selection, as it stands at a moment.
package struct EnvelopeFilter: Sendable {
  /// The selection.
  package var selection: EnvelopeSelection
  /// Tags of which it has one; nil to select all.
  package var anyOfTags: Set<String>?
  /// The envelopes that are being attempted: they are stored as ``EnvelopeState/queued``, but count
  /// as ``EnvelopeState/delivering``.
  package var inFlight: Set<Serial>

  /// Makes a filter that passes everything by default.
  package init(
    client: String? = nil, lane: String? = nil, upstream: String? = nil, tag: String? = nil,
    states: Set<EnvelopeState> = Set(EnvelopeState.allCases), inFlight: Set<Serial> = []
  ) {
    self.init(
      EnvelopeSelection(client: client, lane: lane, upstream: upstream, tag: tag, states: states),
      inFlight: inFlight)
  }

  /// Makes a filter of a selection.
  package init(_ selection: EnvelopeSelection, inFlight: Set<Serial> = []) {
    self.selection = selection
    self.inFlight = inFlight
  }

  /// Whether a waiting envelope of this standing is in one of the states.
  package func wants(_ standing: Standing, of serial: Serial) -> Bool {
    let isInFlight = standing == .queued && inFlight.contains(serial)
    return selection.states.contains(isInFlight ? .delivering : standing.state)
  }
}

/// A page of the envelopes that pass a filter.
package struct EnvelopePage: Sendable {
  /// The envelopes, in order of acceptance.
  package var envelopes: [EnvelopeSummary]
  /// The number up to which envelopes have been looked at.
  package var scannedThrough: Serial
  /// Whether there are envelopes behind it to look at, even if none of them passes the filter.
  package var hasMore: Bool

  /// Puts a page together.
  package init(envelopes: [EnvelopeSummary], scannedThrough: Serial, hasMore: Bool) {
    self.envelopes = envelopes
    self.scannedThrough = scannedThrough
    self.hasMore = hasMore
  }
}

/// An envelope as shown in a list: without its header fields, its body and its attempts.
package struct EnvelopeSummary: Sendable {
  /// The relay's name for it.
  package var id: EnvelopeID
  /// The sender's part as it stands now: the names, the request line, the terms.
  package var terms: Terms
  /// The lane that it stands or stood in.
  package var lane: LaneNumber
  /// The size of its body in bytes.
  package var bodyBytes: Int64
  /// Its state, how it came to it, and the number of attempts.
  package var fate: EnvelopeFate
  /// The time of its next attempt; nil if nothing keeps it, or it has ended.
  package var dueAt: WallTime?
  /// The failure of its last attempt, in words; nil if it did not fail.
  package var lastError: String?
  /// Whether the upstream may have it already, and is to be asked before it is sent again.
  package var isInDoubt = false

  /// The sender's part of an envelope, without header fields and body.
  ///
  /// Each part means what it means in ``EnvelopeDraft``.
  package struct Terms: Sendable {
    /// The client's name.
    package var client: String
    /// The lane's name within the client.
    package var lane: String
    /// The upstream's name.
    package var upstream: String
    /// The request method.
    package var method: String
    /// Path and query.
    package var target: [UInt8]
    /// The sender's own key.
    package var key: String?
    /// The sender's own number within the lane.
    package var sequence: Int64?
    /// The sender's own word for it, to find it by.
    package var tag: String?
    /// Whether it waits, or waited, until someone runs it.
    package var hold: Bool
    /// The earliest time for an attempt.
    package var notBefore: WallTime?
    /// The time past which it ends as `expired`.
    package var expiresAt: WallTime
    /// The effect on the lane if it is refused.
    package var onFailure: FailurePolicy
    /// Whether its content holds references to earlier envelopes' answers.
    package var references: Bool
    /// The name under which a later post replaces its content.
    package var coalesce: String?

    /// Puts the terms together.
    package init(
      client: String, lane: String, upstream: String, method: String, target: [UInt8],
      key: String?, sequence: Int64?, tag: String?, hold: Bool, notBefore: WallTime?,
      expiresAt: WallTime, onFailure: FailurePolicy, references: Bool, coalesce: String?
    ) {
      self.coalesce = coalesce
      self.references = references
      self.client = client
      self.lane = lane
      self.upstream = upstream
      self.method = method
      self.target = target
      self.key = key
      self.sequence = sequence
      self.tag = tag
      self.hold = hold
      self.notBefore = notBefore
      self.expiresAt = expiresAt
      self.onFailure = onFailure
    }
  }

  /// Puts a summary together; see the properties for what each part means.
  package init(
    id: EnvelopeID, terms: Terms, lane: LaneNumber, bodyBytes: Int64, fate: EnvelopeFate,
    dueAt: WallTime?, lastError: String?
  ) {
    self.id = id
    self.terms = terms
    self.lane = lane
    self.bodyBytes = bodyBytes
    self.fate = fate
    self.dueAt = dueAt
    self.lastError = lastError
  }

  /// Makes the summary of a full record.
  package init(_ record: EnvelopeRecord) {
    let draft = record.draft
    terms = Terms(
      client: draft.client, lane: draft.lane, upstream: draft.upstream,
      method: draft.content.method, target: draft.content.target, key: draft.key,
      sequence: draft.sequence, tag: draft.tag, hold: draft.hold, notBefore: draft.notBefore,
      expiresAt: draft.expiresAt, onFailure: draft.onFailure, references: draft.references,
      coalesce: draft.coalesce)
    id = record.id
    lane = record.lane
    bodyBytes = draft.content.body.byteCount
    fate = EnvelopeFate(
      id: record.id, serial: record.entry.serial, state: record.state, reason: record.reason,
      endedAt: record.endedAt, attemptCount: record.attemptCount,
      responseStatus: record.responseStatus)
    dueAt = record.dueAt
    lastError = record.attempts.last?.error
    isInDoubt = record.entry.isInDoubt && !record.state.isEnd
  }
}

/// A name by which somebody refers to an envelope.
package enum EnvelopeReference: Hashable, Sendable {
  /// The relay's own id.
  case id(EnvelopeID)
  /// The key that a client posted it under.
  case key(String, client: String)
}

/// An envelope's state so far.
package struct EnvelopeFate: Sendable, Equatable {
  /// The relay's name for it.
  package var id: EnvelopeID
  /// Its number in the line; the one that it was accepted under, unless it was parked.
  package var serial: Serial
  /// Its state; never ``EnvelopeState/delivering``, which only the dispatcher knows.
  package var state: EnvelopeState
  /// The reason why it ended or stands, in words; nil if there is none.
  package var reason: String?
  /// The time when it ended; nil if it has not.
  package var endedAt: WallTime?
  /// The number of recorded attempts.
  package var attemptCount: Int32
  /// The status of the kept answer; nil if there is none.
  package var responseStatus: Int?

  /// Puts the parts together; see the properties for what each part means.
  package init(
    id: EnvelopeID, serial: Serial, state: EnvelopeState, reason: String?,
    endedAt: WallTime?, attemptCount: Int32, responseStatus: Int?
  ) {
    self.id = id
    self.serial = serial
    self.state = state
    self.reason = reason
    self.endedAt = endedAt
    self.attemptCount = attemptCount
    self.responseStatus = responseStatus
  }
}
