/// An entry of the event log as it is written, with the store's numbers.
///
/// A nil part does not apply. Names and ids are looked up when the entry is read.
package struct EventEntry: Sendable, Equatable {
  /// The kind of event.
  package var kind: EventKind
  /// The envelope.
  package var serial: Serial?
  /// The client; may be left out where there is a lane.
  package var client: ClientNumber?
  /// The lane.
  package var lane: LaneNumber?
  /// The upstream: the event's own, or the envelope's.
  package var upstream: UpstreamNumber?
  /// The envelope's standing after the event, where ``EventKind/state`` does not tell.
  package var standing: Standing?
  /// The attempt's number, from 1.
  package var attempt: Int32?
  /// The upstream's status.
  package var status: Int?
  /// The time of the envelope's next attempt.
  package var dueAt: WallTime?
  /// Further numbers, whose meaning depends on the kind.
  package var numbers: [Int64]
  /// The reason in words; a store keeps the first ``EventLimits/reasonBytesMax`` bytes.
  package var reason: String?

  /// Puts an entry together; see the properties for what each part means.
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

  /// The entry for an acceptance.
  package init(accepted entry: LineEntry) {
    self.init(
      .accepted, serial: entry.serial, lane: entry.lane, upstream: entry.upstream,
      standing: entry.standing)
  }

  /// The entry for a change of an envelope.
  ///
  /// - Precondition: ``Transition/isEvent``.
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

  /// The entry for a correction of an envelope that has ended.
  package init(editedEnded entry: LineEntry) {
    self.init(.edited, serial: entry.serial, lane: entry.lane, upstream: entry.upstream)
  }

  /// The entry for cancelling an envelope that failed or expired.
  package init(cancelledEnded entry: LineEntry, reason: String) {
    self.init(
      .cancelled, serial: entry.serial, lane: entry.lane, upstream: entry.upstream, reason: reason)
  }

  /// The entry for a later post that replaced an envelope's content.
  package init(coalesced entry: LineEntry) {
    self.init(
      .coalesced, serial: entry.serial, lane: entry.lane, upstream: entry.upstream,
      standing: entry.standing, dueAt: entry.dueAt)
  }

  /// The entry for an envelope that was parked and stands in line now, under a new number.
  package init(placed entry: LineEntry) {
    self.init(
      .placed, serial: entry.serial, lane: entry.lane, upstream: entry.upstream,
      standing: entry.standing)
  }

  /// The entry for the beginning or end of a pause.
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
  /// Whether it is logged as an event.
  ///
  /// The announcement of an attempt is not, nor is taking it back, nor an upstream's answer that
  /// leaves an envelope waiting without an attempt.
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

/// The limits on the contents of the event log.
package enum EventLimits {
  /// The most bytes of UTF-8 of a reason.
  package static let reasonBytesMax = 512
}
