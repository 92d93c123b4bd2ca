import RelayCore

extension Reader {
  /// A stretch of the line, with only the numbers of one client's envelopes.
  func waiting(
    of client: ClientNumber, after serial: Serial, countMax: Int
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
        if sql.lineOfClients.int(1) == client.rawValue { serials.append(last) }
      }
      return (serials, last, count == countMax)
    }
  }
}
