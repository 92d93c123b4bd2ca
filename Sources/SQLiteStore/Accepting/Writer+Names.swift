import RelayCore

extension Writer {
  /// The client's number; nil if it has sent nothing yet.
  func knownClient(_ name: String) throws(StoreError) -> ClientNumber? {
    if let number = clients.value(for: name) { return number }
    sql.findClient.bind(1, name)
    guard try sql.findClient.step() else { return nil }
    defer { sql.findClient.reset() }
    let number = ClientNumber(rawValue: sql.findClient.int(0))
    clients.insert(number, for: name)
    return number
  }

  /// The facts of a lane; nil if nothing was ever sent to it.
  func knownLane(_ name: LaneName) throws(StoreError) -> KnownLane? {
    if let lane = lanes.value(for: name) { return lane }
    guard let client = try knownClient(name.client) else { return nil }
    sql.findLane.bind(1, client.rawValue)
    sql.findLane.bind(2, name.lane)
    guard try sql.findLane.step() else { return nil }
    defer { sql.findLane.reset() }
    let number = LaneNumber(rawValue: sql.findLane.int(0))
    // A number that this very transaction has taken is not in the row yet.
    let last = state.sequences[number] ?? sql.findLane.optionalInt(1)
    let lane = KnownLane(client: client, number: number, lastSequence: last)
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
    sql.insertLane.bind(1, client.rawValue)
    sql.insertLane.bind(2, name.lane)
    sql.insertLane.bind(3, number.rawValue)
    try sql.insertLane.run()
    try changeLaneCount(of: client, by: 1)
    state.ledger.lastLane = number.rawValue
    try startPaused(.lane(name), .lane(number))
  }

  /// Makes a client known.
  func makeClient(_ name: String, _ number: ClientNumber) throws(StoreError) {
    sql.insertClient.bind(1, name)
    sql.insertClient.bind(2, number.rawValue)
    try sql.insertClient.run()
    state.ledger.lastClient = number.rawValue
    state.ledger.names.clients += 1
    clients.insert(number, for: name)
    try startPaused(.client(name), .client(number))
  }

  /// The upstream's number, given out now if the name is new.
  func upstreamNumber(_ name: String) throws(StoreError) -> UpstreamNumber {
    if let number = state.upstreams[name] { return number }
    sql.insertUpstream.bind(1, name)
    guard try sql.insertUpstream.step() else { throw .invalidRow("a row without a number") }
    defer { sql.insertUpstream.reset() }
    let number = UpstreamNumber(rawValue: Int32(sql.insertUpstream.int(0)))
    state.upstreams[name] = number
    return number
  }
}
