import RelayCore

// Counting names, and forgetting those that nothing refers to any more; see `NameWalk`.
extension Writer {
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
    // Without its row, a lane that starts paused, and was resumed, would be paused again.
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
