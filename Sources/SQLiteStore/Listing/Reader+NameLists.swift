import RelayCore

extension Reader {
  /// A page of clients by name.
  func clients(
    prefix: String, after name: String, countMax: Int
  ) throws(StoreError) -> ClientPage {
    try snapshot { () throws(StoreError) -> ClientPage in
      var page = try clientNames(prefix: prefix, after: name, countMax: countMax)
      var laneCount = 0
      for index in page.clients.indices {
        page.clients[index].lanes = try lanes(of: page.clients[index].number)
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
    names.clients.bind(1, isBehind ? next : prefix)
    names.clients.bind(2, prefix + "\u{7F}")
    names.clients.bind(3, Int64(countMax) + 1)
    var page = ClientPage(clients: [], hasMore: false)
    while try names.clients.step() {
      guard page.clients.count < countMax else {
        page.hasMore = true
        names.clients.reset()
        break
      }
      page.clients.append(
        ListedClient(
          number: ClientNumber(rawValue: names.clients.int(0)), name: names.clients.text(1) ?? "",
          lanes: []))
    }
    return page
  }

  private func lanes(of client: ClientNumber) throws(StoreError) -> [LaneNumber] {
    names.lanesOfClient.bind(1, client.rawValue)
    names.lanesOfClient.bind(2, Int64(StoreLimits.lanesShownMax))
    var lanes: [LaneNumber] = []
    while try names.lanesOfClient.step() {
      lanes.append(LaneNumber(rawValue: names.lanesOfClient.int(0)))
    }
    return lanes
  }

  /// A page of lanes by number.
  func lanes(
    of client: String?, after number: LaneNumber?, countMax: Int
  ) throws(StoreError) -> LaneNamePage {
    let after = number?.rawValue ?? 0
    if let client {
      names.lanesOfName.bind(1, client)
      names.lanesOfName.bind(2, after)
      names.lanesOfName.bind(3, Int64(countMax) + 1)
      return try page(names.lanesOfName, countMax)
    }
    names.lanes.bind(1, after)
    names.lanes.bind(2, Int64(countMax) + 1)
    return try page(names.lanes, countMax)
  }

  private func page(
    _ statement: borrowing Statement, _ countMax: Int
  ) throws(StoreError) -> LaneNamePage {
    var page = LaneNamePage(lanes: [], hasMore: false)
    while try statement.step() {
      guard page.lanes.count < countMax else {
        page.hasMore = true
        statement.reset()
        break
      }
      page.lanes.append(
        (
          LaneNumber(rawValue: statement.int(0)),
          LaneName(client: statement.text(1) ?? "", lane: statement.text(2) ?? "")
        ))
    }
    return page
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
