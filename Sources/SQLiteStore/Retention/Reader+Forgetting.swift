import RelayCore

// Each call is a bounded step: it removes names from the candidates, or adds names to them.
extension Reader {
  /// Adds lanes without a kept end or a sequence number, or clients without a lane.
  ///
  /// - Returns: The last number that was looked at; nil if the range is done.
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

  /// Removes the lanes in which something waits.
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

  /// Removes the names in events.
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
