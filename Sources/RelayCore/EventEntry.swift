/// One line of the event log, as it is written: what happened to whom, in the store's numbers.
///
/// Whatever is nil is not said. Names and ids are looked up when somebody reads it.
package struct EventEntry: Sendable, Equatable {
  /// What happened.
  package var kind: EventKind
  /// To which envelope.
  package var serial: Serial?
  /// To which client; needs not be said where a lane is.
  package var client: ClientNumber?
  /// In which lane.
  package var lane: LaneNumber?
  /// To which upstream, or on the way to which.
  package var upstream: UpstreamNumber?
  /// How the envelope stands after it, where ``EventKind/state`` leaves that open.
  package var standing: Standing?
  /// Which attempt it was, from 1.
  package var attempt: Int32?
  /// The upstream's status.
  package var status: Int?
  /// When the envelope is to be attempted next.
  package var dueAt: WallTime?
  /// What else the kind has to say: its own numbers, in an order of its own.
  package var numbers: [Int64]
  /// In words, why; a store keeps the first ``EventLimits/reasonBytesMax`` bytes.
  package var reason: String?

  /// Writes a line; see the properties for what each part means.
  package init(
    _ kind: EventKind, serial: Serial? = nil, client: ClientNumber? = nil,
    lane: LaneNumber? = nil, upstream: UpstreamNumber? = nil, standing: Standing? = nil,
    attempt: Int32? = nil, status: Int? = nil, dueAt: WallTime? = nil, numbers: [Int64] = [],
    reason: String? = nil
  ) {
    self.kind = kind
    self.serial = serial
    self.client = client
    self.lane = lane
    self.upstream = upstream
    self.standing = standing
    self.attempt = attempt
    self.status = status
    self.dueAt = dueAt
    self.numbers = numbers
    self.reason = reason
  }

  /// What is logged of an acceptance.
  package init(accepted entry: LineEntry) {
    self.init(
      .accepted, serial: entry.serial, lane: entry.lane, upstream: entry.upstream,
      standing: entry.standing)
  }

  /// What is logged of a change of an envelope.
  ///
  /// - Precondition: It is one that is logged: ``Transition/isEvent``.
  package init(_ transition: borrowing Transition) {
    self.init(
      .released, serial: transition.serial, lane: transition.lane, upstream: transition.upstream,
      attempt: transition.attempt?.number, status: transition.attempt?.status)
    switch transition.change {
    case .begin: preconditionFailure("nothing has happened yet that is an event")
    case .retry(let time):
      kind = .attempted
      dueAt = time
      reason = transition.attempt?.error
    case .block(let sentence):
      kind = .blocked
      reason = sentence
    case .end(let state, let sentence):
      kind = EventKind(end: state)
      reason = sentence.isEmpty ? nil : sentence
    case .release:
      kind = .released
    case .edit(let edit):
      kind = .edited
      upstream = edit.entry.upstream
      standing = edit.entry.standing
      dueAt = edit.entry.dueAt
    case .requeue(let entry):
      kind = .requeued
      standing = entry.standing
      dueAt = entry.dueAt
    }
  }

  /// What is logged of a correction of an envelope that has ended.
  package init(editedEnded entry: LineEntry) {
    self.init(.edited, serial: entry.serial, lane: entry.lane, upstream: entry.upstream)
  }

  /// What is logged when somebody takes back an envelope that failed or expired.
  package init(cancelledEnded entry: LineEntry, reason: String) {
    self.init(
      .cancelled, serial: entry.serial, lane: entry.lane, upstream: entry.upstream, reason: reason)
  }

  /// What is logged of a later post that took an envelope's place.
  package init(coalesced entry: LineEntry) {
    self.init(
      .coalesced, serial: entry.serial, lane: entry.lane, upstream: entry.upstream,
      standing: entry.standing, dueAt: entry.dueAt)
  }

  /// What is logged of a pause's beginning or end.
  package init(isPaused: Bool, _ target: PauseTarget) {
    self.init(isPaused ? .paused : .resumed)
    switch target {
    case .upstream(let number): upstream = number
    case .client(let number): client = number
    case .lane(let number): lane = number
    }
  }
}

extension Transition {
  /// Whether it is worth an event: that an attempt begins, or was not begun after all, is none, nor
  /// is an answer of the upstream's that leaves an envelope waiting without an attempt.
  package var isEvent: Bool {
    switch change {
    case .begin: false
    case .retry: attempt != nil
    case .block, .end, .release, .edit, .requeue: true
    }
  }
}

extension EventKind {
  /// The kind of an envelope's end.
  fileprivate init(end: EnvelopeState) {
    switch end {
    case .delivered: self = .delivered
    case .failed: self = .failed
    case .expired: self = .expired
    case .cancelled: self = .cancelled
    case .held, .queued, .parked, .delivering, .blocked: preconditionFailure("\(end) is no end")
    }
  }
}

/// The limits of what the event log keeps.
package enum EventLimits {
  /// How much of a reason is kept, in bytes of UTF-8.
  package static let reasonBytesMax = 512
}
