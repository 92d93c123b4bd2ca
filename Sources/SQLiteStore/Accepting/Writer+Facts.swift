import RelayCore
import SQLite

// What `AppendRules` asks, read row by row: what a post needs beyond the caches is at most a few
// look-ups of rows that are in memory.
extension Writer: AppendFacts {
  var given: GivenNumbers { state.ledger.given }

  var nameLimits: NameLimits { shared.nameLimits }

  func post(
    ofKey key: String, of client: ClientNumber
  ) throws(StoreError) -> StoredPost? {
    let found = try sql.findKey.first(client, key) { row in
      (serial: row.int(0), fingerprint: row.isNull(1) ? nil : row.bytes(1))
    }
    guard let found else { return nil }
    guard var post = try post(found.serial) else { throw .invalidRow("a key without its envelope") }
    if let fingerprint = found.fingerprint { post.fingerprint = fingerprint }
    return post
  }

  func rememberedDigest(
    ofKey key: String, of client: String
  ) throws(StoreError) -> [UInt8]? {
    guard state.remembersKeys else { return nil }
    return try rememberedKeys.digest(ofKey: key, of: client)
  }

  /// What an envelope was posted as; nil if it is not kept any longer.
  func post(_ serial: Serial) throws(StoreError) -> StoredPost? {
    let row = try sql.findIdentity.first(serial) { row throws(StoreError) in
      (id: try row.id(0), fingerprint: row.bytes(1), key: row.text(2))
    }
    guard let row else { return nil }
    return StoredPost(
      id: row.id, fingerprint: row.fingerprint, key: row.key, state: try presentState(of: serial))
  }

  private func presentState(of serial: Serial) throws(StoreError) -> EnvelopeState {
    let standing = try sql.findStanding.first(serial) { row throws(StoreError) in
      try row.standing(0)
    }
    if let standing { return standing.state }
    return try sql.findEnd.one(serial, or: "an envelope without a state") {
      row throws(StoreError) in try row.end(0)
    }
  }

  func laneCount(of client: ClientNumber) throws(StoreError) -> Int64 {
    try sql.names.laneCount.one(client, or: "a client without a row") { $0.int(0) }
  }
}

// What `ChangeRules` asks.
extension Writer: ChangeFacts {
  func waiting(_ serial: Serial) throws(StoreError) -> WaitingPlace? {
    try sql.waiting.first(serial) { row throws(StoreError) in
      WaitingPlace(
        client: row.client(2), standing: try row.standing(0), attempts: row.int(1),
        isInDoubt: row.bool(3), bytes: row.int(4))
    }
  }

  func end(of serial: Serial) throws(StoreError) -> StoredEnd? {
    try sql.findEnd.first(serial) { row throws(StoreError) in
      StoredEnd(
        state: try row.end(0), attempts: row.int(1), isInDoubt: row.bool(3),
        ending: row.optionalInt(2), at: row.time(4), isTried: row.bool(5))
    }
  }

  func isAheadOfGap(_ serial: Serial) throws(StoreError) -> Bool {
    let row = try gaps.findNumbered.one(serial, or: "a place without its envelope") {
      (lane: $0.lane(0), number: $0.optionalInt(1))
    }
    guard let number = row.number, let placed = try placedThrough(row.lane) else { return false }
    return number > placed
  }
}

extension Writer {
  /// The client's number; nil if it has sent nothing yet.
  func knownClient(_ name: String) throws(StoreError) -> ClientNumber? {
    if let number = clients.value(for: name) { return number }
    guard let number = try sql.findClient.first(name, read: { $0.client(0) }) else { return nil }
    clients.insert(number, for: name)
    return number
  }

  /// The facts of a lane; nil if nothing was ever sent to it.
  func knownLane(_ name: LaneName) throws(StoreError) -> KnownLane? {
    if let lane = lanes.value(for: name) { return lane }
    guard let client = try knownClient(name.client) else { return nil }
    let found = try sql.findLane.first(client, name.lane) { row in
      KnownLane(client: client, number: row.lane(0), lastSequence: row.optionalInt(1))
    }
    guard var lane = found else { return nil }
    // A number that this very transaction has taken is not in the row yet.
    if let last = state.sequences[lane.number] { lane.lastSequence = last }
    lanes.insert(lane, for: name)
    return lane
  }

  /// The number of a client, which is known from now on.
  func rememberClient(_ name: String) throws(StoreError) -> ClientNumber {
    if let known = try knownClient(name) { return known }
    let number = given.nextClient
    try makeClient(name, number)
    return number
  }

  /// The number of a lane, which is known from now on.
  func rememberLane(_ name: LaneName) throws(StoreError) -> LaneNumber {
    if let known = try knownLane(name) { return known.number }
    let client = try rememberClient(name.client)
    let number = given.nextLane
    try makeLane(name, number, of: client)
    lanes.insert(KnownLane(client: client, number: number, lastSequence: nil), for: name)
    return number
  }

  /// Makes a lane known.
  func makeLane(
    _ name: LaneName, _ number: LaneNumber, of client: ClientNumber
  ) throws(StoreError) {
    try sql.insertLane.run(client, name.lane, number)
    try changeLaneCount(of: client, by: 1)
    state.ledger.lastLane = number.rawValue
    try startPaused(.lane(name), .lane(number))
  }

  /// Makes a client known.
  func makeClient(_ name: String, _ number: ClientNumber) throws(StoreError) {
    try sql.insertClient.run(name, number)
    state.ledger.lastClient = number.rawValue
    state.ledger.names.clients += 1
    clients.insert(number, for: name)
    try startPaused(.client(name), .client(number))
  }

  /// The upstream's number, given out now if the name is new.
  func upstreamNumber(_ name: String) throws(StoreError) -> UpstreamNumber {
    if let number = state.upstreams[name] { return number }
    let number = try sql.insertUpstream.one(name, or: "a row without a number") { $0.upstream(0) }
    state.upstreams[name] = number
    return number
  }
}
