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

  /// What is known of a lane; nil if nothing was ever sent to it.
  func knownLane(_ name: LaneName) throws(StoreError) -> Lane? {
    if let lane = lanes.value(for: name) { return lane }
    guard let client = try knownClient(name.client) else { return nil }
    sql.findLane.bind(1, client.rawValue)
    sql.findLane.bind(2, name.lane)
    guard try sql.findLane.step() else { return nil }
    defer { sql.findLane.reset() }
    let number = LaneNumber(rawValue: sql.findLane.int(0))
    // A number that this very transaction has taken is not in the row yet.
    let last = state.sequences[number] ?? sql.findLane.optionalInt(1)
    let lane = Lane(client: client, number: number, lastSequence: last)
    lanes.insert(lane, for: name)
    return lane
  }

  /// The lane of a draft that is taken, made if it is new, with the draft's sequence number noted.
  func remember(_ draft: EnvelopeDraft, lane known: Lane?) throws(StoreError) -> Lane {
    if let known, draft.sequence == nil { return known }
    let name = LaneName(client: draft.client, lane: draft.lane)
    // Not `??`, whose right side cannot throw a StoreError.
    var lane = if let known { known } else { try makeLane(name) }
    if let sequence = draft.sequence {
      if let error = exceptions.unnumbered[lane.number] { throw error }
      let highest = max(sequence, lane.lastSequence ?? 0)
      lane.lastSequence = highest
      state.sequences[lane.number] = highest
    }
    lanes.insert(lane, for: name)
    return lane
  }

  /// The number of a client, which is known from now on.
  func rememberClient(_ name: String) throws(StoreError) -> ClientNumber {
    let known = try knownClient(name)
    return if let known { known } else { try makeClient(name) }
  }

  /// The number of a lane, which is known from now on.
  func rememberLane(_ name: LaneName) throws(StoreError) -> LaneNumber {
    if let known = try knownLane(name) { return known.number }
    let lane = try makeLane(name)
    lanes.insert(lane, for: name)
    return lane.number
  }

  private func makeLane(_ name: LaneName) throws(StoreError) -> Lane {
    let client = try rememberClient(name.client)
    let number = LaneNumber(rawValue: state.ledger.lastLane + 1)
    sql.insertLane.bind(1, client.rawValue)
    sql.insertLane.bind(2, name.lane)
    sql.insertLane.bind(3, number.rawValue)
    try sql.insertLane.run()
    try changeLaneCount(of: client, by: 1)
    state.ledger.lastLane = number.rawValue
    try startPaused(.lane(name), .lane(number))
    return Lane(client: client, number: number, lastSequence: nil)
  }

  private func makeClient(_ name: String) throws(StoreError) -> ClientNumber {
    let number = ClientNumber(rawValue: state.ledger.lastClient + 1)
    sql.insertClient.bind(1, name)
    sql.insertClient.bind(2, number.rawValue)
    try sql.insertClient.run()
    state.ledger.lastClient = number.rawValue
    state.ledger.names.clients += 1
    clients.insert(number, for: name)
    try startPaused(.client(name), .client(number))
    return number
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
