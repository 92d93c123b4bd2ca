/// The end of an attempt, as the forwarder saw it; ``OutcomeRules`` decides what it means.
package enum AttemptEvent: Sendable {
  /// The upstream answered, with whatever status.
  case answered(UpstreamResponse)
  /// No answer came; `detail` says why in a sentence, or is empty.
  case failed(ConnectionFailure, detail: String)
  /// Nothing was sent, and trying again as it is would not help: the envelope refers to an answer
  /// that does not exist. `reason` says so as a part of a sentence.
  case unsendable(reason: String)
}

/// The reason that no answer came from the upstream.
package enum ConnectionFailure: String, Sendable, CaseIterable {
  /// The host's name could not be resolved.
  case nameResolution
  /// No connection could be made.
  case connect
  /// The connection could not be secured, or the certificate did not hold.
  case tls
  /// The time for connecting or for the whole attempt ran out.
  case timeout
  /// The connection ended before the answer was complete.
  case cut
  /// The answer was not valid HTTP.
  case malformedResponse
  /// The access token that the request needs could not be fetched.
  case token
  /// The relay's credentials were refused: by the server that gives access tokens, or by the
  /// upstream in a way that cannot be about the envelope. Nothing was taken.
  case credentials
  /// The next relay forwards to no upstream of the name that this relay's configuration gives it.
  /// Nothing was taken.
  case notForwarded
  /// The relay could not make the request: a body file was gone, say, or memory ran out.
  case local
  /// The relay cut the attempt off, since it was shutting down and the grace period was over.
  case brokenOff
}

/// The upstream's answer, kept for the device to fetch.
package struct UpstreamResponse: Sendable, Equatable {
  /// The status code, 200 to 599.
  package var status: Int
  /// The fields of the final answer, hop-by-hop ones left out.
  package var headers: HeaderBlock
  /// The body, or its beginning.
  package var body: [UInt8]
  /// Whether the body was longer than what was kept.
  package var isTruncated: Bool

  /// Puts an answer together.
  package init(status: Int, headers: HeaderBlock, body: [UInt8], isTruncated: Bool = false) {
    self.status = status
    self.headers = headers
    self.body = body
    self.isTruncated = isTruncated
  }

  /// The same with at most so many bytes of the body.
  package func keeping(bodyBytesMax: Int) -> UpstreamResponse {
    guard body.count > bodyBytesMax else { return self }
    return UpstreamResponse(
      status: status, headers: headers, body: Array(body.prefix(bodyBytesMax)), isTruncated: true)
  }
}

/// An attempt that has ended, with the forwarder's measurements.
package struct AttemptReport: Sendable {
  /// The envelope that was tried.
  package var serial: Serial
  /// The end of the attempt.
  package var event: AttemptEvent
  /// The time at which it began.
  package var startedAt: WallTime
  /// The duration, in milliseconds.
  package var durationMs: Int64
  /// Whether the request had been written whole, as far as that could be known: if not, the
  /// upstream cannot have taken it.
  package var isWritten: Bool
  /// Whether the answer may be about something else than the envelope.
  ///
  /// It may be about the relay's access token, or come from what stands before the next relay. The
  /// envelope is then tried again, whatever the status means.
  package var isUnclear = false
  /// Whether the connection's failure is told by what an answer says.
  ///
  /// A device may have had the upstream say it.
  package var isToldByAnswer = false
  /// Whether the connection failed over the certificate that the relay shows, or does not show.
  package var isOfIdentity = false
  /// Whether an answer came that shows that the upstream is there, though nothing in it settles the
  /// envelope: a failure is then this envelope's alone.
  package var isUnsettled = false
  /// Whether a wait that the answer asks for is for this envelope's client, and not for all that
  /// goes to the upstream.
  package var isOfClient = false
  /// What the upstream said where it did not take the envelope, in a few words; nil if nothing.
  package var words: String?

  /// Reports an attempt.
  package init(
    serial: Serial, event: AttemptEvent, startedAt: WallTime, durationMs: Int64,
    isWritten: Bool = false
  ) {
    self.serial = serial
    self.event = event
    self.startedAt = startedAt
    self.durationMs = durationMs
    self.isWritten = isWritten
  }

  /// Whether nobody can tell if the upstream has taken the envelope: the request was written whole,
  /// and no answer came.
  package var isInDoubt: Bool {
    if case .failed = event { isWritten } else { false }
  }
}

/// The meaning of an attempt's end.
package enum Outcome: String, Sendable, CaseIterable {
  /// The upstream took the envelope.
  case delivered
  /// The attempt says nothing about the envelope: try again.
  case unreachable
  /// Trying again as it is would not help: the upstream refused it.
  case refused
  /// The request was written whole, and no answer came: the upstream may have taken it.
  case ambiguous
}

/// An attempt in an envelope's history.
package struct AttemptRecord: Sendable, Equatable {
  /// The attempt's number, from 1.
  package var number: Int32
  /// The time at which it began.
  package var startedAt: WallTime
  /// The duration, in milliseconds.
  package var durationMs: Int64
  /// Its meaning.
  package var outcome: Outcome
  /// The upstream's status; nil if it did not answer.
  package var status: Int?
  /// A description of the failure; nil if there was none.
  package var error: String?

  /// Puts the parts together.
  package init(
    number: Int32, startedAt: WallTime, durationMs: Int64, outcome: Outcome, status: Int?,
    error: String?
  ) {
    self.number = number
    self.startedAt = startedAt
    self.durationMs = durationMs
    self.outcome = outcome
    self.status = status
    self.error = error
  }
}

/// A change of a waiting envelope that is to be made durable.
///
/// The lane moves on only when the store has committed this: only committed state decides.
package struct Transition: Sendable, Equatable {
  /// A change of the envelope.
  package enum Change: Sendable, Equatable {
    /// An attempt is about to begin at an upstream that must not get the envelope twice. From here
    /// on nobody can tell, without asking there, whether it has arrived.
    case begin
    /// It stays at the head of its lane and waits until the given time.
    case retry(at: WallTime)
    /// It stays at the head of its lane, which stands still.
    case block(reason: String)
    /// It ends.
    case end(EnvelopeState, reason: String)
    /// Someone runs it, or has it tried again: it is no longer held, and no longer waits for a
    /// time.
    case release
    /// Someone corrected it.
    indirect case edit(EnvelopeEdit)
    /// It had ended, and waits again, in the place that its number gives it.
    indirect case requeue(LineEntry)
  }

  /// The envelope's number.
  package var serial: Serial
  /// The lane in which it stands.
  package var lane: LaneNumber
  /// The upstream that it goes to.
  package var upstream: UpstreamNumber
  /// The change of the envelope.
  package var change: Change
  /// The time of the decision.
  package var at: WallTime
  /// The attempt that led to it; nil if none did.
  package var attempt: AttemptRecord?
  /// The upstream's answer, where there is one to be kept.
  package var response: UpstreamResponse?
  /// The reason that the upstream may have the envelope already, so that it is asked before the
  /// envelope is sent again; nil if it cannot have it, or need not be asked.
  package var doubt: String?
  /// Whether the upstream answered: either the envelope itself or the question whether it has it.
  package var isAnswered: Bool
  /// Whether the answer may be about something else: see ``AttemptReport/isUnclear``.
  package var isUnclear = false
  /// The epoch of the lease under which the attempt was made.
  package var epoch: Int64
  /// Whether the store found no such envelope any more, so that nothing was changed.
  ///
  /// Set by the store.
  package var isMoot = false
  /// Whether the envelope is blocked because the store cannot read it.
  package var isQuarantine = false
  /// The time of acceptance, where somebody may need it: for the delay of a delivery, or since an
  /// envelope that was parked ends; else nil.
  package var acceptedAt: WallTime?

  /// Describes a change; see the properties for what each part means.
  package init(
    serial: Serial, lane: LaneNumber, upstream: UpstreamNumber, change: Change, at: WallTime,
    attempt: AttemptRecord? = nil, response: UpstreamResponse? = nil, doubt: String? = nil,
    isAnswered: Bool = false, acceptedAt: WallTime? = nil, epoch: Int64
  ) {
    self.acceptedAt = acceptedAt
    self.serial = serial
    self.lane = lane
    self.upstream = upstream
    self.change = change
    self.at = at
    self.attempt = attempt
    self.response = response
    self.doubt = doubt
    self.isAnswered = isAnswered
    self.epoch = epoch
  }
}
