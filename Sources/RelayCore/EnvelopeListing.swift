/// Which envelopes somebody asks for; what is nil is not asked about.
package struct EnvelopeFilter: Sendable {
  /// The client's name.
  package var client: String?
  /// The lane's name, in whichever client's lanes.
  package var lane: String?
  /// The upstream's name, whether or not it is configured.
  package var upstream: String?
  /// The sender's own label.
  package var tag: String?
  /// Labels of which it has one; nil if that is not asked about.
  package var anyOfTags: Set<String>?
  /// Where they are: any of these.
  package var states: Set<EnvelopeState>
  /// The envelopes of which an attempt is under way: of what is stored as
  /// ``EnvelopeState/queued``, these are ``EnvelopeState/delivering``.
  package var inFlight: Set<Serial>

  /// A filter that lets everything pass unless it is told otherwise.
  package init(
    client: String? = nil, lane: String? = nil, upstream: String? = nil, tag: String? = nil,
    states: Set<EnvelopeState> = Set(EnvelopeState.allCases), inFlight: Set<Serial> = []
  ) {
    self.client = client
    self.lane = lane
    self.upstream = upstream
    self.tag = tag
    self.states = states
    self.inFlight = inFlight
  }

  /// Whether an envelope that waits, and stands so, is in one of the states.
  package func wants(_ standing: Standing, of serial: Serial) -> Bool {
    let isInFlight = standing == .queued && inFlight.contains(serial)
    return states.contains(isInFlight ? .delivering : standing.state)
  }
}

/// A stretch of the envelopes that pass a filter.
package struct EnvelopePage: Sendable {
  /// What passed, in order of acceptance.
  package var envelopes: [EnvelopeSummary]
  /// Everything up to this number has been looked at.
  package var scannedThrough: Serial
  /// Whether there is something behind it to look at, be it that none of it passes the filter.
  package var hasMore: Bool

  /// Puts a page together.
  package init(envelopes: [EnvelopeSummary], scannedThrough: Serial, hasMore: Bool) {
    self.envelopes = envelopes
    self.scannedThrough = scannedThrough
    self.hasMore = hasMore
  }
}

/// What is shown of an envelope in a list: all but its header fields, its body and its attempts.
package struct EnvelopeSummary: Sendable {
  /// The relay's name for it.
  package var id: EnvelopeID
  /// What its sender handed over, as it stands now: the names, the request line, the terms.
  package var terms: Terms
  /// The lane that it stands, or stood, in.
  package var lane: LaneNumber
  /// How many bytes its body has.
  package var bodyBytes: Int64
  /// Where it is, how it came there, and how often it was tried.
  package var fate: EnvelopeFate
  /// When it is to be attempted next; nil if nothing keeps it, or it has ended.
  package var dueAt: WallTime?
  /// In words, what went wrong at its last attempt; nil if nothing did.
  package var lastError: String?
  /// Whether the upstream may have it already, and is to be asked before it is sent again.
  package var isInDoubt = false

  /// What a sender says of an envelope beside its header fields and its body.
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
    /// The sender's own label.
    package var tag: String?
    /// Whether it waits, or waited, until someone runs it.
    package var hold: Bool
    /// Not to be attempted before this time.
    package var notBefore: WallTime?
    /// Past this time it ends as `expired`.
    package var expiresAt: WallTime
    /// What becomes of the lane if it is refused.
    package var onFailure: FailurePolicy
    /// Whether its content holds references to earlier envelopes' answers.
    package var references: Bool
    /// The name under which a later post takes its place.
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

  /// The same of a record that holds everything.
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

/// What somebody calls an envelope by.
package enum EnvelopeReference: Hashable, Sendable {
  /// The relay's own name.
  case id(EnvelopeID)
  /// The key that a client posted it under.
  case key(String, client: String)
}

/// What has become of an envelope so far.
package struct EnvelopeFate: Sendable, Equatable {
  /// The relay's name for it.
  package var id: EnvelopeID
  /// Its number in the line; the one in its id, unless it was parked.
  package var serial: Serial
  /// Where it is; never ``EnvelopeState/delivering``, which only the dispatcher knows.
  package var state: EnvelopeState
  /// In words, why it ended or stands; nil if there is nothing to say.
  package var reason: String?
  /// When it ended; nil if it has not.
  package var endedAt: WallTime?
  /// How many attempts were recorded in all.
  package var attemptCount: Int32
  /// The status of the kept answer; nil if there is none.
  package var responseStatus: Int?

  /// Puts the parts together; see the properties for what each part means.
  package init(
    id: EnvelopeID, serial: Serial? = nil, state: EnvelopeState, reason: String?,
    endedAt: WallTime?, attemptCount: Int32, responseStatus: Int?
  ) {
    self.id = id
    self.serial = serial ?? id.serial
    self.state = state
    self.reason = reason
    self.endedAt = endedAt
    self.attemptCount = attemptCount
    self.responseStatus = responseStatus
  }
}
