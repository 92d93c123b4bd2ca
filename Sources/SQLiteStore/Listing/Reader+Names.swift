import RelayCore
import SQLite

extension Reader {
  /// The record of a client, including the endings that are not added up yet.
  func client(_ name: String) throws(StoreError) -> ClientRecord? {
    try snapshot { () throws(StoreError) -> ClientRecord? in
      guard let number = try sql.findClient.first(name, read: { $0.client(0) }) else { return nil }
      var lanes: [LaneRecord] = try lanes(of: number)
      try addLoggedEndings(to: &lanes)
      return ClientRecord(number: number, lanes: lanes)
    }
  }

  private func lanes(of client: ClientNumber) throws(StoreError) -> [LaneRecord] {
    var lanes = try sql.lanes.rows(client, StoreLimits.lanesShownMax, read: LaneRecord.init(_:))
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
    for number in numbers { names[number] = try sql.clientName.first(number) { $0.text(0) ?? "" } }
    return names
  }

  /// The names of lanes and of their clients.
  func laneNames(_ numbers: [LaneNumber]) throws(StoreError) -> [LaneNumber: LaneName] {
    var names: [LaneNumber: LaneName] = [:]
    for number in numbers {
      names[number] = try sql.laneName.first(number, read: LaneName.init(_:))
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
    let rows = try sql.upstreams.rows { ($0.upstream(0), $0.text(1) ?? "") }
    return Dictionary(rows) { $1 }
  }

  /// All pauses in force.
  func pauses() throws(StoreError) -> Set<PauseTarget> {
    Set(
      try sql.pauses.rows { row throws(StoreError) in
        try PauseTarget(kindCode: row.int(0), number: row.int(1))
      })
  }

  // MARK: - Lists

  /// A page of clients by name.
  func clients(
    prefix: String, after name: String, countMax: Int
  ) throws(StoreError) -> ClientPage {
    try snapshot { () throws(StoreError) -> ClientPage in
      var page = try clientNames(prefix: prefix, after: name, countMax: countMax)
      var laneCount = 0
      for index in page.clients.indices {
        page.clients[index].lanes = try laneNumbers(of: page.clients[index].number)
        laneCount += page.clients[index].lanes.count
        if laneCount >= StoreLimits.lanesListedMax, index + 1 < page.clients.count {
          page.clients.removeSubrange((index + 1)...)
          page.hasMore = true
          break
        }
      }
      return page
    }
  }

  /// The names of a page of clients.
  ///
  /// Names are visible ASCII. So the least name after another is that name with a `!`, and all
  /// names with a prefix come before the prefix with DEL.
  private func clientNames(
    prefix: String, after name: String, countMax: Int
  ) throws(StoreError) -> ClientPage {
    let next = name.isEmpty ? "" : name + "!"
    let isBehind = prefix.utf8.lexicographicallyPrecedes(next.utf8)
    let page = try names.clients.page(
      isBehind ? next : prefix, prefix + "\u{7F}", countMax: countMax
    ) { row in
      ListedClient(number: row.client(0), name: row.text(1) ?? "", lanes: [])
    }
    return ClientPage(clients: page.rows, hasMore: page.hasMore)
  }

  private func laneNumbers(of client: ClientNumber) throws(StoreError) -> [LaneNumber] {
    try names.lanesOfClient.rows(client, StoreLimits.lanesShownMax) { $0.lane(0) }
  }

  /// A page of lanes by number.
  func lanes(
    of client: String?, after number: LaneNumber?, countMax: Int
  ) throws(StoreError) -> LaneNamePage {
    let after = number?.rawValue ?? 0
    let read: (borrowing Statement) -> (LaneNumber, LaneName) = { row in
      (row.lane(2), LaneName(row))
    }
    let page =
      if let client {
        try names.lanesOfName.page(client, after, countMax: countMax, read: read)
      } else {
        try names.lanes.page(after, countMax: countMax, read: read)
      }
    return LaneNamePage(lanes: page.rows, hasMore: page.hasMore)
  }
}

extension LaneName {
  /// The client's and the lane's name in the first two columns of the present row.
  init(_ row: borrowing Statement) {
    self.init(client: row.text(0) ?? "", lane: row.text(1) ?? "")
  }
}

extension LaneRecord {
  /// The lane in the present row.
  fileprivate init(_ row: borrowing Statement) {
    var ended: [EnvelopeState: Int] = [:]
    for (index, state) in EnvelopeState.ends.enumerated() {
      ended[state] = Int(row.int(Int32(3 + index)))
    }
    self.init(
      number: row.lane(0), name: row.text(1) ?? "", lastSequence: row.optionalInt(2), ended: ended)
  }
}

extension SQLiteStore {
  /// Implements `NameStore.clients`.
  package func clients(
    prefix: String, after name: String, countMax: Int
  ) async throws(StoreError) -> ClientPage {
    try await read { reader throws(StoreError) in
      try reader.clients(prefix: prefix, after: name, countMax: countMax)
    }
  }

  /// Implements `NameStore.lanes`.
  package func lanes(
    of client: String?, after number: LaneNumber?, countMax: Int
  ) async throws(StoreError) -> LaneNamePage {
    try await read { reader throws(StoreError) in
      try reader.lanes(of: client, after: number, countMax: countMax)
    }
  }
}
