#if PostgreSQL
import Postgres
import RelayCore

// The log of events: each transaction appends what it logs, and deletes some of the oldest if there
// is too much.
extension DatabaseWriter {
  /// Writes a transaction together with what it logs; nothing if both are empty.
  ///
  /// - Parameter commit: Is told where the log ends from then on.
  func write(
    _ commands: [PostgresCommand], shards: Set<Int>, changeCount: Int = 0,
    logging events: [EventEntry], in commit: inout Commit,
    counting: (inout StoreCounts) -> Void = { _ in }
  ) throws(StoreError) {
    guard !events.isEmpty else {
      guard !commands.isEmpty else { return }
      try write(commands, shards: shards, changeCount: changeCount, counting: counting)
      return
    }
    var log = eventLog
    for event in events {
      // Whom it is about is in use.
      nameWatch?.note(event)
      log.append(event)
    }
    var rows: [EventLog.Row] = []
    for entries in log.takeRows() { rows.append(log.add(row: entries)) }
    var logging = [PostgresCommand.insert(events: rows, at: shared.clock())]
    if let last = try excess(of: log) {
      logging.append(.forgetEvents(through: last.number))
      log.bytesForgotten = last.bytesThrough
    }
    try write(
      commands + logging, shards: shards, changeCount: changeCount, counting: counting)
    eventLog = log
    commit.eventsEnd = log.end
  }

  /// Logs an event that belongs to nothing else.
  func note(_ entry: EventEntry) throws(StoreError) {
    var commit = Commit()
    try write([], shards: [], logging: [entry], in: &commit)
    tell(commit)
  }

  /// Forgets events that were logged before a time; see ``EnvelopeStore``.
  func forgetEvents(before time: WallTime, countMax: Int) throws(StoreError) -> Bool {
    let step = try forgetting(eventLog, countMax: countMax) { row in
      row.at < time.millisecondsSinceEpoch
    }
    guard let last = step.last else { return true }
    try write([.forgetEvents(through: last.number)], shards: [])
    eventLog.bytesForgotten = last.bytesThrough
    return step.isDone
  }

  /// The last of the oldest rows that go since the log is too large; nil if it is not.
  ///
  /// Not at every transaction: each time takes one more question.
  private func excess(
    of log: EventLog
  ) throws(StoreError) -> (number: Int64, bytesThrough: Int64)? {
    let bytesMax = shared.eventLogBytesMax
    guard log.bytes > bytesMax + bytesMax / limits.eventLogSlackShare else { return nil }
    return try forgetting(log, countMax: limits.eventRowsForgottenMax) { row in
      row.bytesThrough <= log.bytesThrough - bytesMax
    }.last
  }

  private func forgetting(
    _ log: EventLog, countMax: Int, isTooOld: ((at: Int64, bytesThrough: Int64)) -> Bool
  ) throws(StoreError) -> EventForgetting {
    let rows = try read([
      PostgresCommand(
        """
        SELECT number, at, bytes_through FROM event_log WHERE number < $1 ORDER BY number LIMIT $2
        """, [.int64(log.lastRow), .int64(Int64(countMax))])
    ])[0]
    var step = EventForgetting(log, bytesMax: limits.eventBytesForgottenMax)
    for row in 0..<rows.count {
      let bytesThrough = rows.int64(row, 2)
      let isOld = isTooOld((at: rows.int64(row, 1), bytesThrough: bytesThrough))
      guard step.take(rows.int64(row, 0), bytesThrough: bytesThrough, isTooOld: isOld) else {
        break
      }
    }
    return step
  }
}

extension PostgresCommand {
  fileprivate static func insert(events rows: [EventLog.Row], at time: WallTime) -> PostgresCommand
  {
    PostgresCommand(
      """
      INSERT INTO event_log SELECT number, $4, bytes_through, entries
      FROM unnest($1, $2, $3) AS new(number, bytes_through, entries)
      """,
      [
        .int64s(rows.map(\.number)), .int64s(rows.map(\.bytesThrough)),
        .byteStrings(rows.map(\.entries)), .int64(time.millisecondsSinceEpoch),
      ])
  }

  fileprivate static func forgetEvents(through number: Int64) -> PostgresCommand {
    PostgresCommand("DELETE FROM event_log WHERE number <= $1", [.int64(number)])
  }
}
#endif
