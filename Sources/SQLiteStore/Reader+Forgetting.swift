import RelayCore

/// What readers ask to find names that nothing refers to any more, prepared once.
final class ForgettingQuestions {
  let lanes: Statement
  let clients: Statement
  let line: Statement
  let events: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    lanes = try Statement(
      """
      SELECT number, last_sequence IS NULL AND delivered = 0 AND failed = 0 AND expired = 0 \
      AND cancelled = 0 FROM lane WHERE number > ? AND number <= ? ORDER BY number LIMIT ?
      """, on: connection)
    clients = try Statement(
      """
      SELECT number, lane_count = 0 FROM client WHERE number > ? AND number <= ? \
      ORDER BY number LIMIT ?
      """, on: connection)
    line = try Statement(
      "SELECT serial, lane FROM line WHERE serial > ? ORDER BY serial LIMIT ?", on: connection)
    events = try Statement(
      "SELECT number, entries FROM event_log WHERE number >= ? ORDER BY number", on: connection)
  }
}

// Each call is a step: it takes out of the candidates, or puts in, what a bounded look shows.
extension Reader {
  /// Puts in what has no end that is kept, and no sequence number, or no lane.
  ///
  /// - Returns: The last number that was looked at; nil if the stretch is done.
  func gatherNames(
    _ kind: NameWalk.Kind, after number: Int64, countMax: Int, into names: inout NumberBits
  ) throws(StoreError) -> Int64? {
    switch kind {
    case .lanes: try gather(forgetting.lanes, after: number, countMax: countMax, into: &names)
    case .clients: try gather(forgetting.clients, after: number, countMax: countMax, into: &names)
    }
  }

  private func gather(
    _ row: borrowing Statement, after number: Int64, countMax: Int, into names: inout NumberBits
  ) throws(StoreError) -> Int64? {
    row.bind(1, number)
    row.bind(2, names.last)
    row.bind(3, Int64(countMax))
    var (last, count) = (number, 0)
    while try row.step() {
      last = row.int(0)
      count += 1
      if row.int(1) != 0 { names.insert(last) }
    }
    return count < countMax ? nil : last
  }

  /// Takes out the lanes in which something waits.
  ///
  /// - Returns: The last place that was looked at; nil at the end of the line.
  func takeOutWaiting(
    from names: inout NumberBits, after serial: Serial, countMax: Int
  ) throws(StoreError) -> Serial? {
    forgetting.line.bind(1, serial)
    forgetting.line.bind(2, Int64(countMax))
    var (last, count) = (serial, 0)
    while try forgetting.line.step() {
      last = forgetting.line.int(0)
      count += 1
      names.remove(forgetting.line.int(1))
    }
    return count < countMax ? nil : last
  }

  /// Takes out what events speak of.
  ///
  /// - Returns: The row to go on with; nil at the end of the log.
  func takeOutOfEvents(
    from names: inout NumberBits, _ kind: NameWalk.Kind, row number: Int64, bytesMax: Int
  ) throws(StoreError) -> Int64? {
    forgetting.events.bind(1, number)
    defer { forgetting.events.reset() }
    var bytes = 0
    while try forgetting.events.step() {
      guard bytes < bytesMax else { return forgetting.events.int(0) }
      let row = forgetting.events.bytes(1)
      bytes += row.count
      var entries = EventEntries(row)
      while !entries.isAtEnd {
        guard let entry = try entries.next() else { continue }
        switch kind {
        case .lanes: if let lane = entry.lane { names.remove(lane.rawValue) }
        case .clients: if let client = entry.client { names.remove(client.rawValue) }
        }
      }
    }
    return nil
  }
}
