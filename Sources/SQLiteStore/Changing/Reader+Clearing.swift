import RelayCore

extension Reader {
  /// A page of the line, of which only one client's envelopes that were accepted up to a number are
  /// returned, wherever they have moved since.
  func waiting(
    of client: ClientNumber, through end: Serial, after serial: Serial, countMax: Int
  ) throws(StoreError) -> (serials: [Serial], scannedThrough: Serial, hasMore: Bool) {
    try snapshot {
      () throws(StoreError) -> (serials: [Serial], scannedThrough: Serial, hasMore: Bool) in
      var serials: [Serial] = []
      var last = serial
      var count = 0
      sql.lineOfClients.bind(1, serial)
      sql.lineOfClients.bind(2, Int64(countMax))
      while try sql.lineOfClients.step() {
        last = sql.lineOfClients.int(0)
        count += 1
        guard sql.lineOfClients.int(1) == client.rawValue else { continue }
        let accepted = last <= end ? last : try acceptedNumber(of: last)
        if accepted <= end { serials.append(last) }
      }
      return (serials, last, count == countMax)
    }
  }

  /// The number under which an envelope was accepted, which is in its id.
  private func acceptedNumber(of serial: Serial) throws(StoreError) -> Serial {
    guard let id = try identity(of: serial) else {
      throw .invalidRow("a place without its envelope")
    }
    return id.serial
  }
}
