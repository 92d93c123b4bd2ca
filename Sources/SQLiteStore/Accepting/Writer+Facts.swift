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

// What `ChangeRules` asks.
extension Writer: ChangeFacts {
  func waiting(_ serial: Serial) throws(StoreError) -> WaitingPlace? {
    sql.waiting.bind(1, serial)
    guard try sql.waiting.step() else { return nil }
    defer { sql.waiting.reset() }
    return WaitingPlace(
      client: ClientNumber(rawValue: sql.waiting.int(2)),
      standing: try Standing(code: sql.waiting.int(0)), attempts: sql.waiting.int(1),
      isInDoubt: sql.waiting.int(3) != 0, bytes: sql.waiting.int(4))
  }

  func end(of serial: Serial) throws(StoreError) -> StoredEnd? {
    sql.findEnd.bind(1, serial)
    guard try sql.findEnd.step() else { return nil }
    defer { sql.findEnd.reset() }
    return StoredEnd(
      state: try EnvelopeState(endCode: sql.findEnd.int(0)), attempts: sql.findEnd.int(1),
      isInDoubt: sql.findEnd.int(3) != 0, ending: sql.findEnd.optionalInt(2))
  }

  func isAheadOfGap(_ serial: Serial) throws(StoreError) -> Bool {
    gaps.findNumbered.bind(1, serial)
    guard try gaps.findNumbered.step() else { throw .invalidRow("a place without its envelope") }
    let lane = LaneNumber(rawValue: gaps.findNumbered.int(0))
    let number = gaps.findNumbered.optionalInt(1)
    gaps.findNumbered.reset()
    guard let number, let placed = try placedThrough(lane) else { return false }
    return number > placed
  }
}
