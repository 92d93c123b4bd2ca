import RelayCore

// Counting names, and forgetting those that nothing refers to any more; see `NameWalk`.
extension Writer {
  /// Names that are about to become known together.
  struct NewNames {
    private var lanes: [String: Set<String>] = [:]
    private var newClients: Set<String> = []
    fileprivate var laneCount = 0
    fileprivate var clientCount: Int { newClients.count }

    /// Notes a lane, and its client if that is new.
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

  /// The limit that keeps an unknown lane from becoming known; nil if none does.
  ///
  /// - Parameter planned: The names that become known together with it; the lane is added to them.
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
    guard try sql.names.laneCount.step() else { throw .invalidRow("a client without a row") }
    defer { sql.names.laneCount.reset() }
    return sql.names.laneCount.int(0)
  }

  /// Counts one lane more or less of a client.
  func changeLaneCount(of client: ClientNumber, by difference: Int64) throws(StoreError) {
    sql.names.changeLaneCount.bind(1, difference)
    sql.names.changeLaneCount.bind(2, client.rawValue)
    try sql.names.changeLaneCount.run()
    state.ledger.names.lanes += difference
  }

  // MARK: - Forgetting

  /// Begins to note which names of the next range are used.
  ///
  /// - Returns: The range; nil if there is none, or the lanes' counts of ended envelopes are lost.
  func watchNames(
    _ kind: NameWalk.Kind, after number: Int64
  ) throws(StoreError) -> ClosedRange<Int64>? {
    nameWatch = nil
    guard !state.damage.leftOut.contains(.laneCounts) else { return nil }
    let end = kind == .lanes ? state.ledger.lastLane : state.ledger.lastClient
    guard number < end else { return nil }
    // From here on the lanes' rows include everything that has ended or was deleted so far.
    if kind == .lanes, state.endedLog.loggedCount + state.endedLog.entryCount > 0 {
      try foldEndedLog()
    }
    let stretch = number + 1...min(end, number + NumberBits.spanMax)
    nameWatch = NameWatch(kind, stretch)
    return stretch
  }

  /// Forgets those of some names that have not been used since ``watchNames(_:after:)``.
  ///
  /// - Returns: The number of forgotten names.
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
    if kind == .clients, count > 0 { state.hasForgottenClients = true }
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
    // It must not be forgotten that the lane was resumed.
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
