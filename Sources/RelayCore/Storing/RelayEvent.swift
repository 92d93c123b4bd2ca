/// An event as it is read from the log, with names in place of the store's numbers.
///
/// A nil part does not apply to this kind, or is not known any more.
package struct RelayEvent: Sendable, Equatable {
  /// The position after it, from which a listener that has seen it goes on.
  package var position: EventPosition
  /// The time when it was logged.
  package var at: WallTime
  /// The kind.
  package var kind: EventKind
  /// The envelope; also nil if it is not kept any more.
  package var id: EnvelopeID?
  /// The client's name.
  package var client: String?
  /// The lane's name within the client.
  package var lane: String?
  /// The upstream's name.
  package var upstream: String?
  /// The envelope's state after it.
  package var state: EnvelopeState?
  /// The attempt's number, from 1.
  package var attempt: Int32?
  /// The upstream's status.
  package var status: Int?
  /// The time of the envelope's next attempt.
  package var dueAt: WallTime?
  /// See ``EventEntry/numbers``.
  package var numbers: [Int64]
  /// The reason in words.
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

/// A selection of events; a part that is nil selects all.
///
/// An event passes if it fits every part that is set. An event about the whole relay always passes.
package struct EventFilter: Sendable, Equatable {
  /// The client's name.
  package var client: String?
  /// The lane's name, of any client.
  package var lane: String?
  /// The upstream's name.
  package var upstream: String?
  /// The envelope's id.
  package var envelope: EnvelopeID?

  /// Makes a filter that passes everything by default.
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

/// A page of the event log.
package struct EventPage: Sendable {
  /// The events that passed the filter, in order.
  package var events: [RelayEvent]
  /// The position up to which events have been looked at, and from which to go on.
  package var next: EventPosition
  /// Whether there is more behind it now, even if none of it passes the filter.
  package var hasMore: Bool
  /// Whether events after the requested position are not kept any more; the page is empty then.
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
