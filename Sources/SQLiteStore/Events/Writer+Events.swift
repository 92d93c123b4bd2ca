import EventLoop
import RelayCore
import SQLite

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
    for entries in rows {
      let row = state.events.add(row: entries)
      sql.insertEvents.set(row.number)
      sql.insertEvents.bind(3, row.bytesThrough)
      try sql.insertEvents.runBorrowing(4, row.entries)
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

  /// Forgets rows from the beginning on, as long as they are too old.
  ///
  /// - Returns: Whether there are no more that are too old.
  private func forgetEvents(
    countMax: Int, isTooOld: ((at: Int64, bytesThrough: Int64)) -> Bool
  ) throws(StoreError) -> Bool {
    var step = EventForgetting(state.events, bytesMax: StoreTuning.eventBytesForgottenMax)
    sql.oldestEvents.set(state.events.lastRow, countMax)
    while try sql.oldestEvents.step() {
      let number = sql.oldestEvents.int(0)
      let bytesThrough = sql.oldestEvents.int(2)
      let isOld = isTooOld((at: sql.oldestEvents.int(1), bytesThrough: bytesThrough))
      guard step.take(number, bytesThrough: bytesThrough, isTooOld: isOld) else { break }
    }
    sql.oldestEvents.reset()
    guard let last = step.last else { return true }
    try sql.forgetEvents.run(last.number)
    state.events.bytesForgotten = last.bytesThrough
    return step.isDone
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
      if let page = EventWalk.page(behind: position, in: try eventLogSpan()) { return page }
      var walk = EventWalk(
        behind: position, filter,
        places: try filter.envelope.map { id throws(StoreError) in
          [id.serial, try present(id.serial)]
        },
        upstreams: try upstreamNames(), countMax: countMax, looksMax: looksMax)
      defer { events.rows.reset() }
      events.rows.set(position.row)
      var hasMore = false
      while !hasMore, try events.rows.step() {
        hasMore = try !walk.take(
          row: events.rows.int(0), at: events.rows.time(1), events.rows.bytes(2)
        ) { entry throws(StoreError) in try names(of: entry) }
      }
      return walk.page(try ids(of: walk.envelopes.sorted()), hasMore: hasMore)
    }
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
