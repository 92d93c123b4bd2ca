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
      sql.insertEvents.bind(1, state.events.lastRow)
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
    sql.oldestEvents.bind(1, state.events.lastRow)
    sql.oldestEvents.bind(2, Int64(countMax))
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
    sql.forgetEvents.bind(1, last.number)
    try sql.forgetEvents.run()
    state.events.bytesForgotten = last.bytesThrough
    return isDone || last.number == state.events.lastRow - 1
  }
}
