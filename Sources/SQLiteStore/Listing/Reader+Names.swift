import RelayCore

extension Reader {
  /// The record of a client, including the endings that are not added up yet.
  func client(_ name: String) throws(StoreError) -> ClientRecord? {
    try snapshot { () throws(StoreError) -> ClientRecord? in
      sql.findClient.bind(1, name)
      guard try sql.findClient.step() else { return nil }
      let number = sql.findClient.int(0)
      sql.findClient.reset()
      var lanes = try lanes(of: number)
      try addLoggedEndings(to: &lanes)
      return ClientRecord(number: ClientNumber(rawValue: number), lanes: lanes)
    }
  }

  private func lanes(of client: Int64) throws(StoreError) -> [LaneRecord] {
    var lanes: [LaneRecord] = []
    sql.lanes.bind(1, client)
    sql.lanes.bind(2, Int64(StoreLimits.lanesShownMax))
    while try sql.lanes.step() {
      var ended: [EnvelopeState: Int] = [:]
      for (index, state) in EnvelopeState.ends.enumerated() {
        ended[state] = Int(sql.lanes.int(Int32(3 + index)))
      }
      lanes.append(
        LaneRecord(
          number: LaneNumber(rawValue: sql.lanes.int(0)), name: sql.lanes.text(1) ?? "",
          lastSequence: sql.lanes.optionalInt(2), ended: ended))
    }
    for index in lanes.indices where lanes[index].lastSequence != nil {
      try addMissing(to: &lanes[index])
    }
    return lanes
  }

  private func addMissing(to lane: inout LaneRecord) throws(StoreError) {
    lane.missing = try missing(in: lane.number)
    lane.skipped = try skipped(in: lane.number)
    guard let gap = lane.missing.ranges.first else { return }
    lane.highestSequence = lane.lastSequence
    lane.lastSequence = gap.first - 1
  }

  private func addLoggedEndings(to lanes: inout [LaneRecord]) throws(StoreError) {
    var places: [Int64: Int] = [:]
    for (place, lane) in lanes.enumerated() { places[lane.number.rawValue] = place }
    while try sql.endedLog.step() {
      EndedLog.forEach(in: sql.endedLog.bytes(0)) { lane, end, difference in
        guard let place = places[lane] else { return }
        lanes[place].ended[EnvelopeState.ends[end], default: 0] += Int(difference)
      }
    }
  }

  /// The names of clients.
  func clientNames(_ numbers: [ClientNumber]) throws(StoreError) -> [ClientNumber: String] {
    var names: [ClientNumber: String] = [:]
    for number in numbers {
      sql.clientName.bind(1, number.rawValue)
      guard try sql.clientName.step() else { continue }
      names[number] = sql.clientName.text(0)
      sql.clientName.reset()
    }
    return names
  }

  /// The names of lanes and of their clients.
  func laneNames(_ numbers: [LaneNumber]) throws(StoreError) -> [LaneNumber: LaneName] {
    var names: [LaneNumber: LaneName] = [:]
    for number in numbers {
      sql.laneName.bind(1, number.rawValue)
      guard try sql.laneName.step() else { continue }
      names[number] = LaneName(
        client: sql.laneName.text(0) ?? "", lane: sql.laneName.text(1) ?? "")
      sql.laneName.reset()
    }
    return names
  }

  /// The ids of envelopes, also by numbers that they had while they were parked.
  func ids(of serials: [Serial]) throws(StoreError) -> [Serial: EnvelopeID] {
    var ids: [Serial: EnvelopeID] = [:]
    for serial in serials {
      do throws(StoreError) {
        ids[serial] = try identity(of: try present(serial))
      } catch {
        // An unreadable one must not hide all the others.
        guard error.kind == .corrupt else { throw error }
      }
    }
    return ids
  }

  /// All upstream names.
  func upstreamNames() throws(StoreError) -> [UpstreamNumber: String] {
    var names: [UpstreamNumber: String] = [:]
    while try sql.upstreams.step() {
      let number = UpstreamNumber(rawValue: Int32(truncatingIfNeeded: sql.upstreams.int(0)))
      names[number] = sql.upstreams.text(1)
    }
    return names
  }

  /// All pauses in force.
  func pauses() throws(StoreError) -> Set<PauseTarget> {
    var targets: Set<PauseTarget> = []
    while try sql.pauses.step() {
      targets.insert(
        try PauseTarget(kindCode: sql.pauses.int(0), number: sql.pauses.int(1)))
    }
    return targets
  }
}
