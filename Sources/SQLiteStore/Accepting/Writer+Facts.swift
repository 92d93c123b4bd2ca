import RelayCore

// What `AppendRules` asks, read row by row: what a post needs beyond the caches is at most a few
// look-ups of rows that are in memory.
extension Writer: AppendFacts {
  var given: GivenNumbers { state.ledger.given }

  var nameLimits: NameLimits { shared.nameLimits }

  func post(
    ofKey key: String, of client: ClientNumber
  ) throws(StoreError) -> StoredPost? {
    sql.findKey.bind(1, client.rawValue)
    sql.findKey.bind(2, key)
    guard try sql.findKey.step() else { return nil }
    let serial = sql.findKey.int(0)
    let ownFingerprint = sql.findKey.isNull(1) ? nil : sql.findKey.bytes(1)
    sql.findKey.reset()
    sql.findIdentity.bind(1, serial)
    guard try sql.findIdentity.step() else { throw .invalidRow("a key without its envelope") }
    let id = try EnvelopeID(stored: sql.findIdentity.bytes(0))
    let fingerprint = ownFingerprint ?? sql.findIdentity.bytes(1)
    let latestKey = sql.findIdentity.text(2)
    sql.findIdentity.reset()
    return StoredPost(
      id: id, fingerprint: fingerprint, key: latestKey, state: try presentState(of: serial))
  }

  func presentState(of serial: Serial) throws(StoreError) -> EnvelopeState {
    sql.findStanding.bind(1, serial)
    if try sql.findStanding.step() {
      defer { sql.findStanding.reset() }
      return try Standing(code: sql.findStanding.int(0)).state
    }
    sql.findEnd.bind(1, serial)
    guard try sql.findEnd.step() else { throw .invalidRow("an envelope without a state") }
    defer { sql.findEnd.reset() }
    return try EnvelopeState(endCode: sql.findEnd.int(0))
  }

  func laneCount(of client: ClientNumber) throws(StoreError) -> Int64 {
    sql.names.laneCount.bind(1, client.rawValue)
    guard try sql.names.laneCount.step() else { throw .invalidRow("a client without a row") }
    defer { sql.names.laneCount.reset() }
    return sql.names.laneCount.int(0)
  }
}
