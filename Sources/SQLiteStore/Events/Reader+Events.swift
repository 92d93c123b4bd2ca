import EventLoop
import RelayCore

extension Reader {
  /// The extent of the event log.
  func eventLogSpan() throws(StoreError) -> EventLogSpan {
    let row = events
    guard try row.span.step() else { throw .invalidRow("no event log") }
    defer { row.span.reset() }
    return EventLogSpan(
      origin: UInt32(truncatingIfNeeded: row.span.int(0)),
      first: EventPosition(row: max(1, row.span.int(1)), index: 0),
      end: EventPosition(row: row.span.int(2) + 1, index: 0))
  }

  /// The events behind a place that pass a filter; see ``EnvelopeStore``.
  func events(
    behind position: EventPosition, _ filter: EventFilter, countMax: Int, looksMax: Int
  ) throws(StoreError) -> EventPage {
    try snapshot { () throws(StoreError) -> EventPage in
      let span = try eventLogSpan()
      guard span.first <= position else {
        return EventPage(events: [], next: span.first, hasMore: true, isPastGone: true)
      }
      guard position < span.end else {
        return EventPage(events: [], next: position, hasMore: false)
      }
      var walk = EventWalk(
        page: EventPage(events: [], next: position, hasMore: true), filter: filter,
        places: try filter.envelope.map { id throws(StoreError) in
          [id.serial, try present(id.serial)]
        },
        upstreams: try upstreamNames(), countMax: countMax, looksMax: looksMax)
      defer { events.rows.reset() }
      events.rows.bind(1, position.row)
      while try events.rows.step() {
        guard try take(into: &walk) else { return walk.page }
      }
      walk.page.hasMore = false
      return walk.page
    }
  }

  /// A walk along the log: its filter, and its findings.
  private struct EventWalk {
    var page: EventPage
    let filter: EventFilter
    /// The numbers that the one envelope has, or had while it was parked; nil for all envelopes.
    let places: Set<Serial>?
    let upstreams: [UpstreamNumber: String]
    let countMax: Int
    var looksMax: Int

    var isOver: Bool { page.events.count >= countMax || looksMax <= 0 }
  }

  /// Takes what passes of the present row.
  ///
  /// - Returns: Whether the walk goes on.
  private func take(into walk: inout EventWalk) throws(StoreError) -> Bool {
    let number = events.rows.int(0)
    let at = WallTime(millisecondsSinceEpoch: events.rows.int(1))
    var entries = EventEntries(events.rows.bytes(2))
    let seen = number == walk.page.next.row ? walk.page.next.index : 0
    while !entries.isAtEnd {
      guard !walk.isOver else { return false }
      let entry = try entries.next()
      guard entries.count > seen else { continue }
      walk.looksMax -= 1
      walk.page.next = EventPosition(row: number, index: entries.count)
      guard let entry, let event = try event(entry, at: at, walk) else { continue }
      walk.page.events.append(event)
    }
    walk.page.next = EventPosition(row: number + 1, index: 0)
    return true
  }

  /// An event with its names; nil if it does not pass.
  private func event(
    _ entry: EventEntry, at time: WallTime, _ walk: EventWalk
  ) throws(StoreError) -> RelayEvent? {
    let filter = walk.filter
    let upstream = entry.upstream.flatMap { walk.upstreams[$0] }
    if entry.isAboutSomebody {
      if let places = walk.places, entry.serial.map(places.contains) != true { return nil }
      if let wanted = filter.upstream, upstream != wanted { return nil }
    }
    let (client, lane) = try names(of: entry)
    if entry.isAboutSomebody {
      if let wanted = filter.client, client != wanted { return nil }
      if let wanted = filter.lane, lane != wanted { return nil }
    }
    var id: EnvelopeID?
    if let serial = entry.serial { id = try ids(of: [serial])[serial] }
    return RelayEvent(
      entry, position: walk.page.next, at: time, id: id, client: client, lane: lane,
      upstream: upstream)
  }

  private func names(
    of entry: EventEntry
  ) throws(StoreError) -> (client: String?, lane: String?) {
    if let lane = entry.lane {
      if let name = events.laneNames.value(for: lane) { return (name.client, name.lane) }
      guard let name = try laneNames([lane])[lane] else { return (nil, nil) }
      events.laneNames.insert(name, for: lane)
      return (name.client, name.lane)
    }
    guard let client = entry.client else { return (nil, nil) }
    return (try clientNames([client])[client], nil)
  }
}

extension EventEntry {
  /// Whether it is about a client, a lane, an upstream or an envelope, and not the whole relay.
  fileprivate var isAboutSomebody: Bool {
    serial != nil || client != nil || lane != nil || upstream != nil
  }
}
