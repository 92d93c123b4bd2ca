/// A walk along the event log: what passes a filter, with names in place of numbers.
///
/// A store hands over row after row. What the names are is asked of it, entry by entry; ids are
/// filled in at the end, for those alone that passed.
package struct EventWalk: Sendable {
  /// The names of whom an event is about.
  package typealias Names = (client: String?, lane: String?)

  /// Where the walk has come to.
  package private(set) var next: EventPosition
  private var events: [RelayEvent] = []
  /// The envelopes that ``events`` are about.
  private var serials: [Serial?] = []
  private let filter: EventFilter
  private let places: Set<Serial>?
  private let upstreams: [UpstreamNumber: String]
  private let countMax: Int
  private var looksLeft: Int

  /// Begins a walk; see ``EnvelopeStore/events(behind:_:countMax:looksMax:)``.
  ///
  /// - Parameters:
  ///   - places: The numbers that the filter's one envelope has, or had while it was parked; nil
  ///     for all envelopes.
  ///   - upstreams: The names of all upstreams.
  package init(
    behind position: EventPosition, _ filter: EventFilter, places: Set<Serial>?,
    upstreams: [UpstreamNumber: String], countMax: Int, looksMax: Int
  ) {
    next = position
    self.filter = filter
    self.places = places
    self.upstreams = upstreams
    self.countMax = countMax
    looksLeft = looksMax
  }

  /// The answer without a walk, if there is nothing behind a position, or not all of it is kept.
  package static func page(behind position: EventPosition, in span: EventLogSpan) -> EventPage? {
    guard span.first <= position else {
      return EventPage(events: [], next: span.first, hasMore: true, isPastGone: true)
    }
    return position < span.end ? nil : EventPage(events: [], next: position, hasMore: false)
  }

  /// Takes what passes of a row.
  ///
  /// - Returns: Whether the walk goes on.
  package mutating func take(
    row number: Int64, at time: WallTime, _ bytes: [UInt8],
    names: (EventEntry) throws(StoreError) -> Names
  ) throws(StoreError) -> Bool {
    var entries = EventEntries(bytes)
    let seen = number == next.row ? next.index : 0
    while !entries.isAtEnd {
      guard events.count < countMax, looksLeft > 0 else { return false }
      let entry = try entries.next()
      guard entries.count > seen else { continue }
      looksLeft -= 1
      next = EventPosition(row: number, index: entries.count)
      if let entry { try take(entry, at: time, names: names) }
    }
    next = EventPosition(row: number + 1, index: 0)
    return true
  }

  private mutating func take(
    _ entry: EventEntry, at time: WallTime, names: (EventEntry) throws(StoreError) -> Names
  ) throws(StoreError) {
    let upstream = entry.upstream.flatMap { upstreams[$0] }
    if entry.isAboutSomebody {
      if let places, entry.serial.map(places.contains) != true { return }
      if let wanted = filter.upstream, upstream != wanted { return }
    }
    let (client, lane) = try names(entry)
    if entry.isAboutSomebody {
      if let wanted = filter.client, client != wanted { return }
      if let wanted = filter.lane, lane != wanted { return }
    }
    serials.append(entry.serial)
    events.append(
      RelayEvent(
        entry, position: next, at: time, id: nil, client: client, lane: lane, upstream: upstream))
  }

  /// The envelopes whose ids are to be looked up.
  package var envelopes: Set<Serial> { Set(serials.compactMap(\.self)) }

  /// The page.
  ///
  /// - Parameter ids: The ids of ``envelopes``, as far as they are kept.
  package func page(_ ids: [Serial: EnvelopeID], hasMore: Bool) -> EventPage {
    var page = EventPage(events: events, next: next, hasMore: hasMore)
    for (index, serial) in serials.enumerated() {
      page.events[index].id = serial.flatMap { ids[$0] }
    }
    return page
  }
}

extension EventEntry {
  /// Whether it is about a client, a lane, an upstream or an envelope, and not the whole relay.
  fileprivate var isAboutSomebody: Bool {
    serial != nil || client != nil || lane != nil || upstream != nil
  }
}
