/// An event as it is read from the log: with names in place of the store's numbers.
///
/// What is nil is not said of this kind, or not known any more.
package struct RelayEvent: Sendable, Equatable {
  /// The place behind it: where a listener goes on that has seen it.
  package var position: EventPosition
  /// When it was written.
  package var at: WallTime
  /// What happened.
  package var kind: EventKind
  /// The envelope; nil also if it is not kept any more.
  package var id: EnvelopeID?
  /// The client's name.
  package var client: String?
  /// The lane's name within the client.
  package var lane: String?
  /// The upstream's name.
  package var upstream: String?
  /// Where the envelope is after it.
  package var state: EnvelopeState?
  /// Which attempt it was, from 1.
  package var attempt: Int32?
  /// The upstream's status.
  package var status: Int?
  /// When the envelope is to be attempted next.
  package var dueAt: WallTime?
  /// See ``EventEntry/numbers``.
  package var numbers: [Int64]
  /// In words, why.
  package var reason: String?

  /// Puts an event together from its entry and the names that belong to it.
  package init(
    _ entry: EventEntry, position: EventPosition, at: WallTime, id: EnvelopeID?, client: String?,
    lane: String?, upstream: String?
  ) {
    self.position = position
    self.at = at
    kind = entry.kind
    self.id = id
    self.client = client
    self.lane = lane
    self.upstream = upstream
    state = entry.kind.state ?? entry.standing?.state
    attempt = entry.attempt
    status = entry.status
    dueAt = entry.dueAt
    numbers = entry.numbers
    reason = entry.reason
  }
}

/// Which events somebody wants; what is nil is not asked about.
///
/// An event passes if it is about what every part names. One that is about the whole relay passes
/// always.
package struct EventFilter: Sendable, Equatable {
  /// The client's name.
  package var client: String?
  /// The lane's name, in whichever client's lanes.
  package var lane: String?
  /// The upstream's name.
  package var upstream: String?
  /// One envelope.
  package var envelope: EnvelopeID?

  /// A filter that lets everything pass unless it is told otherwise.
  package init(
    client: String? = nil, lane: String? = nil, upstream: String? = nil,
    envelope: EnvelopeID? = nil
  ) {
    self.client = client
    self.lane = lane
    self.upstream = upstream
    self.envelope = envelope
  }
}

/// A stretch of the event log.
package struct EventPage: Sendable {
  /// What passed the filter, in order.
  package var events: [RelayEvent]
  /// Everything up to here has been looked at: where to go on.
  package var next: EventPosition
  /// Whether there is more behind it now, be it that none of it passes the filter.
  package var hasMore: Bool
  /// Whether something behind the place that was asked for is not kept any more; the page is empty
  /// then.
  package var isPastGone: Bool

  /// Puts a page together.
  package init(
    events: [RelayEvent], next: EventPosition, hasMore: Bool, isPastGone: Bool = false
  ) {
    self.events = events
    self.next = next
    self.hasMore = hasMore
    self.isPastGone = isPastGone
  }
}
