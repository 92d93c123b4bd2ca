import EventLoop
import RelayCore

extension Writer {
  /// Reads how large the log is.
  static func eventLog(on connection: borrowing Connection) throws(StoreError) -> EventLog {
    var log = EventLog()
    let last = try Statement(
      "SELECT number, bytes_through FROM event_log ORDER BY number DESC LIMIT 1", on: connection)
    guard try last.step() else { return log }
    log.lastRow = last.int(0)
    log.bytesThrough = last.int(1)
    let first = try Statement(
      "SELECT bytes_through - length(entries) FROM event_log ORDER BY number LIMIT 1",
      on: connection)
    guard try first.step() else { return log }
    log.bytesForgotten = first.int(0) - EventLog.rowOverheadBytes
    return log
  }

  /// Logs an event; whom it is about is in use.
  func log(_ entry: EventEntry) {
    nameWatch?.note(entry)
    state.events.append(entry)
  }

  /// Writes what the transaction logged, and makes room if the log is too large.
  func sealEventLog() throws(StoreError) {
    guard !state.events.isEmpty else { return }
    let rows = state.events.takeRows()
    try unlessLeftOut(.events) { () throws(StoreError) in try write(rows) }
    let bytesMax = shared.eventLogBytesMax
    // Not at every transaction: each time takes one page more to be written.
    guard state.events.bytes > bytesMax + bytesMax / StoreTuning.eventLogSlackShare else { return }
    try unlessLeftOut(.eventDeletion) { () throws(StoreError) in
      _ = try forgetEvents(countMax: StoreTuning.eventRowsForgottenMax) { row in
        row.bytesThrough <= state.events.bytesThrough - bytesMax
      }
    }
  }

  private func write(_ rows: [[UInt8]]) throws(StoreError) {
    sql.insertEvents.bind(2, clock().millisecondsSinceEpoch)
    for row in rows {
      state.events.lastRow += 1
      state.events.bytesThrough += Int64(row.count) + EventLog.rowOverheadBytes
      sql.insertEvents.set(state.events.lastRow)
      sql.insertEvents.bind(3, state.events.bytesThrough)
      try sql.insertEvents.runBorrowing(4, row)
    }
  }

  /// Forgets events that were logged before a time; see ``EnvelopeStore``.
  func forgetEvents(before time: WallTime, countMax: Int) throws(StoreError) -> Bool {
    var isDone = true
    try unlessLeftOut(.eventDeletion) { () throws(StoreError) in
      isDone = try forgetEvents(countMax: countMax) { row in row.at < time.millisecondsSinceEpoch }
    }
    return isDone
  }

  /// Forgets rows from the beginning on, as long as they are too old, and never the last one, which
  /// keeps the count.
  ///
  /// - Returns: Whether there are no more that are too old.
  private func forgetEvents(
    countMax: Int, isTooOld: ((at: Int64, bytesThrough: Int64)) -> Bool
  ) throws(StoreError) -> Bool {
    var last: (number: Int64, bytesThrough: Int64)?
    var count = 0
    var isDone = false
    let bytesMax = state.events.bytesForgotten + StoreTuning.eventBytesForgottenMax
    sql.oldestEvents.set(state.events.lastRow, countMax)
    while try sql.oldestEvents.step() {
      let bytesThrough = sql.oldestEvents.int(2)
      guard isTooOld((at: sql.oldestEvents.int(1), bytesThrough: bytesThrough)) else {
        isDone = true
        break
      }
      last = (sql.oldestEvents.int(0), bytesThrough)
      count += 1
      if bytesThrough >= bytesMax { break }
    }
    sql.oldestEvents.reset()
    guard let last else { return true }
    try sql.forgetEvents.run(last.number)
    state.events.bytesForgotten = last.bytesThrough
    return isDone || last.number == state.events.lastRow - 1
  }
}

extension Reader {
  /// The extent of the event log.
  func eventLogSpan() throws(StoreError) -> EventLogSpan {
    try events.span.one(or: "no event log") { row in
      EventLogSpan(
        origin: UInt32(truncatingIfNeeded: row.int(0)),
        first: EventPosition(row: max(1, row.int(1)), index: 0),
        end: EventPosition(row: row.int(2) + 1, index: 0))
    }
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
      events.rows.set(position.row)
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
    let at = events.rows.time(1)
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
