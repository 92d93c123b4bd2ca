import RelayCore

/// What the writer says to the database of the names themselves, prepared once.
final class NameStatements {
  let laneCount: Statement
  let changeLaneCount: Statement
  let forgettableLane: Statement
  let forgettableClient: Statement
  let deleteLane: Statement
  let deleteClient: Statement
  let deleteCheckIn: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    laneCount = try Statement("SELECT lane_count FROM client WHERE number = ?", on: connection)
    changeLaneCount = try Statement(
      "UPDATE client SET lane_count = lane_count + ? WHERE number = ?", on: connection)
    forgettableLane = try Statement(
      """
      SELECT c.name, l.name, c.number FROM lane AS l JOIN client AS c ON c.number = l.client \
      WHERE l.number = ?1 AND l.last_sequence IS NULL AND l.delivered = 0 AND l.failed = 0 \
      AND l.expired = 0 AND l.cancelled = 0 \
      AND NOT EXISTS (SELECT 1 FROM paused WHERE kind = 2 AND number = ?1)
      """, on: connection)
    forgettableClient = try Statement(
      """
      SELECT name FROM client AS c WHERE number = ?1 \
      AND NOT EXISTS (SELECT 1 FROM lane WHERE client = ?1) \
      AND NOT EXISTS (SELECT 1 FROM paused WHERE kind = 1 AND number = ?1)
      """, on: connection)
    deleteLane = try Statement("DELETE FROM lane WHERE number = ?", on: connection)
    deleteClient = try Statement("DELETE FROM client WHERE number = ?", on: connection)
    deleteCheckIn = try Statement("DELETE FROM checks_in WHERE client = ?", on: connection)
  }
}

// How many names there are, and forgetting those that nothing refers to any more; see `NameWalk`.
extension Writer {
  /// Names that are about to become known together.
  struct NewNames {
    private var lanes: [String: Set<String>] = [:]
    private var newClients: Set<String> = []
    fileprivate var laneCount = 0
    fileprivate var clientCount: Int { newClients.count }

    /// Notes a lane; whether its client is new as well.
    mutating func note(_ name: LaneName, isNewClient: Bool) {
      if lanes[name.client, default: []].insert(name.lane).inserted { laneCount += 1 }
      if isNewClient { newClients.insert(name.client) }
    }

    fileprivate func has(_ name: LaneName) -> Bool {
      lanes[name.client]?.contains(name.lane) ?? false
    }
    fileprivate func has(client: String) -> Bool { newClients.contains(client) }
    fileprivate func laneCount(of client: String) -> Int { lanes[client]?.count ?? 0 }
  }

  /// The limit that keeps a lane from becoming known which is not yet; nil if none does.
  ///
  /// - Parameter planned: What is to become known in the same act; the lane is added to it.
  func refusal(
    ofNew name: LaneName, besides planned: inout NewNames
  ) throws(StoreError) -> QuotaRefusal? {
    guard !planned.has(name) else { return nil }
    let limits = shared.nameLimits
    let client = try knownClient(name.client)
    if client == nil, !planned.has(client: name.client),
      let refusal = Self.refusal(
        .clients, isOfClient: false, limits.clientsMax,
        used: state.ledger.names.clients + Int64(planned.clientCount))
    {
      return refusal
    }
    var own = Int64(planned.laneCount(of: name.client))
    if let client { own += try laneCount(of: client) }
    let refusal =
      Self.refusal(.lanes, isOfClient: true, limits.clientLanesMax, used: own)
      ?? Self.refusal(
        .lanes, isOfClient: false, limits.lanesMax,
        used: state.ledger.names.lanes + Int64(planned.laneCount))
    if refusal == nil { planned.note(name, isNewClient: client == nil) }
    return refusal
  }

  /// The limit that keeps a client from becoming known; nil if none does, or it is known.
  func refusal(ofClient name: String) throws(StoreError) -> QuotaRefusal? {
    guard try knownClient(name) == nil else { return nil }
    return Self.refusal(
      .clients, isOfClient: false, shared.nameLimits.clientsMax, used: state.ledger.names.clients)
  }

  private static func refusal(
    _ limit: QuotaRefusal.Limit, isOfClient: Bool, _ countMax: Int, used: Int64
  ) -> QuotaRefusal? {
    guard used >= Int64(countMax) else { return nil }
    return QuotaRefusal(limit: limit, isOfClient: isOfClient, max: Double(countMax), used: used)
  }

  private func laneCount(of client: ClientNumber) throws(StoreError) -> Int64 {
    sql.names.laneCount.bind(1, client.rawValue)
    guard try sql.names.laneCount.step() else { throw .senseless("a client without a row") }
    defer { sql.names.laneCount.reset() }
    return sql.names.laneCount.int(0)
  }

  /// A client has one lane more, or one less.
  func changeLaneCount(of client: ClientNumber, by difference: Int64) throws(StoreError) {
    sql.names.changeLaneCount.bind(1, difference)
    sql.names.changeLaneCount.bind(2, client.rawValue)
    try sql.names.changeLaneCount.run()
    state.ledger.names.lanes += difference
  }

  // MARK: - Forgetting

  /// Begins to note which names of the next stretch are used.
  ///
  /// - Returns: The stretch; nil if there is none, or it is not known what has ended in lanes.
  func watchNames(
    _ kind: NameWalk.Kind, after number: Int64
  ) throws(StoreError) -> ClosedRange<Int64>? {
    nameWatch = nil
    guard !state.damage.leftOut.contains(.laneCounts) else { return nil }
    let end = kind == .lanes ? state.ledger.lastLane : state.ledger.lastClient
    guard number < end else { return nil }
    // What has ended, or was deleted, so far stands in the lanes' rows from here on.
    if kind == .lanes, state.endedLog.loggedCount + state.endedLog.entryCount > 0 {
      try foldEndedLog()
    }
    let stretch = number + 1...min(end, number + NumberBits.spanMax)
    nameWatch = NameWatch(kind, stretch)
    return stretch
  }

  /// Forgets those of some names that have not been used since ``watchNames(_:after:)``.
  ///
  /// - Returns: How many.
  func forget(_ kind: NameWalk.Kind, _ numbers: [Int64]) throws(StoreError) -> Int {
    guard let watch = nameWatch, watch.kind == kind else { return 0 }
    var count = 0
    for number in numbers where watch.unused.contains(number) {
      let isForgotten =
        switch kind {
        case .lanes: try forget(LaneNumber(rawValue: number))
        case .clients: try forget(ClientNumber(rawValue: number))
        }
      if isForgotten { count += 1 }
    }
    return count
  }

  private func forget(_ lane: LaneNumber) throws(StoreError) -> Bool {
    let row = sql.names
    guard state.sequences[lane] == nil else { return false }
    row.forgettableLane.bind(1, lane.rawValue)
    guard try row.forgettableLane.step() else { return false }
    let name = LaneName(
      client: row.forgettableLane.text(0) ?? "", lane: row.forgettableLane.text(1) ?? "")
    let client = ClientNumber(rawValue: row.forgettableLane.int(2))
    row.forgettableLane.reset()
    // That it was resumed must not be forgotten.
    guard !shared.startsPaused(.lane(name)) else { return false }
    row.deleteLane.bind(1, lane.rawValue)
    try row.deleteLane.run()
    try changeLaneCount(of: client, by: -1)
    lanes.removeValue(for: name)
    return true
  }

  private func forget(_ client: ClientNumber) throws(StoreError) -> Bool {
    let row = sql.names
    row.forgettableClient.bind(1, client.rawValue)
    guard try row.forgettableClient.step() else { return false }
    let name = row.forgettableClient.text(0) ?? ""
    row.forgettableClient.reset()
    guard !shared.startsPaused(.client(name)) else { return false }
    row.deleteCheckIn.bind(1, client.rawValue)
    try row.deleteCheckIn.run()
    row.deleteClient.bind(1, client.rawValue)
    try row.deleteClient.run()
    state.checkingIn.remove(client)
    state.ledger.names.clients -= 1
    clients.removeValue(for: name)
    return true
  }
}
