#if PostgreSQL
import Postgres
import RelayCore

extension DatabaseReader {
  /// The extent of the event log.
  func eventLogSpan() throws(StoreError) -> EventLogSpan {
    EventLogSpan(try run([EventLogSpan.command])[0])
  }

  /// The events behind a place that pass a filter; see ``EnvelopeStore``.
  ///
  /// - Parameter serial: The number that the filter's envelope was posted under.
  func events(
    behind position: EventPosition, _ filter: EventFilter, postedUnder serial: Serial?,
    countMax: Int, looksMax: Int
  ) throws(StoreError) -> EventPage {
    // Each row holds an event at least, and if all pass, no more rows are needed than events.
    let rowsMax = filter == EventFilter() ? min(countMax, looksMax) : looksMax
    let answers = try run([
      EventLogSpan.command, .upstreamNames,
      .eventRows(from: position.row, countMax: rowsMax, bytesMax: ReadingLimits.eventBytesPerPage),
      PostgresCommand("SELECT new FROM moved WHERE old = $1", [.int64(serial)]),
    ])
    let span = EventLogSpan(answers[0])
    if let page = EventWalk.page(behind: position, in: span) { return page }
    var walk = EventWalk(
      behind: position, filter,
      places: serial.map { serial in
        answers[3].count > 0 ? [serial, answers[3].int64(0, 0)] : [serial]
      },
      upstreams: Self.upstreamNames(answers[1]), countMax: countMax, looksMax: looksMax)
    let names = try names(in: answers[2])
    var isWhole = true
    for row in 0..<answers[2].count where isWhole {
      isWhole = try walk.take(
        row: answers[2].int64(row, 0),
        at: WallTime(millisecondsSinceEpoch: answers[2].int64(row, 1)), answers[2].bytes(row, 2)
      ) { entry in names.ofWhom(entry) }
    }
    let ids = walk.envelopes.isEmpty ? [:] : try ids(of: walk.envelopes.sorted())
    return walk.page(ids, hasMore: !isWhole || walk.next < span.end)
  }

  /// The names of whom the events of some rows are about.
  private func names(in rows: PostgresRows) throws(StoreError) -> EventNames {
    var lanes: Set<LaneNumber> = []
    var clients: Set<ClientNumber> = []
    for row in 0..<rows.count {
      try EventEntries.forEach(in: rows.bytes(row, 2)) { entry in
        if let lane = entry.lane {
          lanes.insert(lane)
        } else if let client = entry.client {
          clients.insert(client)
        }
      }
    }
    return EventNames(
      lanes: lanes.isEmpty ? [:] : try laneNames(Array(lanes)),
      clients: clients.isEmpty ? [:] : try clientNames(Array(clients)))
  }

  /// Removes the names in events from some names.
  ///
  /// - Returns: The row to go on with; nil at the end of the log.
  func takeOutOfEvents(
    from names: inout NumberBits, _ kind: NameWalk.Kind, row number: Int64
  ) throws(StoreError) -> Int64? {
    let answers = try run([
      EventLogSpan.command,
      .eventRows(
        from: number, countMax: ReadingLimits.eventRowsPerStep,
        bytesMax: ReadingLimits.eventBytesPerStep),
    ])
    let rows = answers[1]
    for row in 0..<rows.count {
      try EventEntries.forEach(in: rows.bytes(row, 2)) { entry in
        if let name = kind.name(in: entry) { names.remove(name) }
      }
    }
    guard rows.count > 0 else { return nil }
    let next = rows.int64(rows.count - 1, 0) + 1
    return next < EventLogSpan(answers[0]).end.row ? next : nil
  }
}

/// The names in some rows of the log.
private struct EventNames {
  let lanes: [LaneNumber: LaneName]
  let clients: [ClientNumber: String]

  func ofWhom(_ entry: EventEntry) -> EventWalk.Names {
    if let lane = entry.lane { return (lanes[lane]?.client, lanes[lane]?.lane) }
    return (entry.client.flatMap { clients[$0] }, nil)
  }
}

extension EventLogSpan {
  fileprivate static let command = PostgresCommand(
    """
    SELECT origin, (SELECT min(number) FROM event_log), (SELECT max(number) FROM event_log)
    FROM event_origin
    """)

  fileprivate init(_ rows: PostgresRows) {
    self.init(
      origin: UInt32(truncatingIfNeeded: rows.int64(0, 0)),
      first: EventPosition(row: rows.int64OrNil(0, 1) ?? 1, index: 0),
      end: EventPosition(row: (rows.int64OrNil(0, 2) ?? 0) + 1, index: 0))
  }
}

extension PostgresCommand {
  /// Asks for rows of the event log: their numbers, times and entries.
  ///
  /// - Parameter bytesMax: The bytes of entries behind which no row begins.
  fileprivate static func eventRows(
    from number: Int64, countMax: Int, bytesMax: Int64
  ) -> PostgresCommand {
    PostgresCommand(
      """
      SELECT number, at, entries FROM (
        SELECT number, at, entries,
          sum(octet_length(entries)) OVER (ORDER BY number) - octet_length(entries) AS bytes_before
        FROM (SELECT * FROM event_log WHERE number >= $1 ORDER BY number LIMIT $2) AS first
      ) AS stretch WHERE bytes_before < $3 ORDER BY number
      """,
      [
        .int64(number), .int64(Int64(min(countMax, ReadingLimits.eventRowsPerStep))),
        .int64(bytesMax),
      ])
  }
}
#endif
