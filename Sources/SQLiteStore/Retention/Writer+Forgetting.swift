import RelayCore
import SQLite
import Synchronization

extension SQLiteStore {
  /// Implements `EnvelopeStore.forgetNames`.
  package func forgetNames(countMax: Int) async throws(StoreError) -> ForgettingPage {
    var walk = nameWalk.withLock { $0 }
    // An error starts the round over.
    nameWalk.withLock { $0 = NameWalk() }
    var page = ForgettingPage(forgottenCount: 0, isRoundDone: false)
    switch walk.phase {
    case .begin: page.isRoundDone = try await begin(&walk)
    case .gather, .line, .events: try await look(&walk)
    case .forget(let number):
      page.forgottenCount = try await forget(&walk, from: number, countMax: countMax)
    }
    guard !page.isRoundDone else { return page }
    nameWalk.withLock { [walk] in $0 = walk }
    return page
  }

  /// Begins the next range.
  ///
  /// - Returns: Whether there is none left.
  private func begin(_ walk: inout NameWalk) async throws(StoreError) -> Bool {
    let (kind, after) = (walk.kind, walk.through)
    let stretch = try await write("look for unused names") { writer throws(StoreError) in
      try writer.watchNames(kind, after: after)
    }
    guard let stretch else {
      guard kind == .lanes else { return true }
      walk = NameWalk()
      walk.kind = .clients
      return false
    }
    walk.candidates = NumberBits(stretch, areIn: false)
    walk.phase = .gather(after: after)
    return false
  }

  private func look(_ walk: inout NameWalk) async throws(StoreError) {
    let from = walk
    walk = try await read { reader throws(StoreError) in
      var walk = from
      try reader.look(&walk)
      return walk
    }
    // In most cases there is nothing left to look for.
    if walk.candidates.next(from: walk.candidates.first) == nil {
      switch walk.phase {
      case .line, .events, .forget: walk.advance()
      case .begin, .gather: break
      }
    }
  }

  private func forget(
    _ walk: inout NameWalk, from number: Int64, countMax: Int
  ) async throws(StoreError) -> Int {
    var numbers: [Int64] = []
    var next = walk.candidates.next(from: number)
    while let number = next, numbers.count < countMax {
      numbers.append(number)
      next = walk.candidates.next(from: number + 1)
    }
    if let next { walk.phase = .forget(from: next) } else { walk.advance() }
    let kind = walk.kind
    return try await write("forget names") { [numbers] writer throws(StoreError) in
      try writer.forget(kind, numbers)
    }
  }
}

extension Reader {
  /// Takes one step of a walk along names.
  fileprivate func look(_ walk: inout NameWalk) throws(StoreError) {
    switch walk.phase {
    case .begin, .forget: break
    case .gather(let number):
      let next = try gatherNames(
        walk.kind, after: number, countMax: StoreTuning.namesLookedAtPerStep,
        into: &walk.candidates)
      walk.phase =
        if let next { .gather(after: next) } else if walk.kind == .lanes { .line(after: 0) } else {
          .events(from: 0)
        }
    case .line(let serial):
      let next = try takeOutWaiting(
        from: &walk.candidates, after: serial, countMax: StoreTuning.clearingLooksPerStep)
      walk.phase = next.map { .line(after: $0) } ?? .events(from: 0)
    case .events(let number):
      let next = try takeOutOfEvents(
        from: &walk.candidates, walk.kind, row: number,
        bytesMax: StoreTuning.eventBytesLookedAtPerStep)
      walk.phase = next.map { .events(from: $0) } ?? .forget(from: walk.candidates.first)
    }
  }
}

// Counting names, and forgetting those that nothing refers to any more; see `NameWalk`.
extension Writer {
  /// Counts one lane more or less of a client.
  func changeLaneCount(of client: ClientNumber, by difference: Int64) throws(StoreError) {
    try sql.names.changeLaneCount.run(difference, client)
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
    let found = try row.forgettableLane.first(lane) { (LaneName($0), $0.client(2)) }
    // Without its row, a lane that starts paused, and was resumed, would be paused again.
    guard let (name, client) = found, !shared.startsPaused(.lane(name)) else { return false }
    try row.deleteLane.run(lane)
    try changeLaneCount(of: client, by: -1)
    lanes.removeValue(for: name)
    return true
  }

  private func forget(_ client: ClientNumber) throws(StoreError) -> Bool {
    let row = sql.names
    let found = try row.forgettableClient.first(client) { $0.text(0) ?? "" }
    guard let name = found, !shared.startsPaused(.client(name)) else { return false }
    try row.deleteCheckIn.run(client)
    try row.deleteClient.run(client)
    state.checkingIn.remove(client)
    state.ledger.names.clients -= 1
    clients.removeValue(for: name)
    return true
  }
}

// Each call is a bounded step: it removes names from the candidates, or adds names to them.
extension Reader {
  /// Adds lanes without a kept end or a sequence number, or clients without a lane.
  ///
  /// - Returns: The last number that was looked at; nil if the range is done.
  func gatherNames(
    _ kind: NameWalk.Kind, after number: Int64, countMax: Int, into names: inout NumberBits
  ) throws(StoreError) -> Int64? {
    switch kind {
    case .lanes: try gather(forgetting.lanes, after: number, countMax: countMax, into: &names)
    case .clients: try gather(forgetting.clients, after: number, countMax: countMax, into: &names)
    }
  }

  private func gather(
    _ row: borrowing Statement, after number: Int64, countMax: Int, into names: inout NumberBits
  ) throws(StoreError) -> Int64? {
    row.set(number, names.last, countMax)
    var (last, count) = (number, 0)
    while try row.step() {
      last = row.int(0)
      count += 1
      if row.bool(1) { names.insert(last) }
    }
    return count < countMax ? nil : last
  }

  /// Removes the lanes in which something waits.
  ///
  /// - Returns: The last place that was looked at; nil at the end of the line.
  func takeOutWaiting(
    from names: inout NumberBits, after serial: Serial, countMax: Int
  ) throws(StoreError) -> Serial? {
    forgetting.line.set(serial, countMax)
    var (last, count) = (serial, 0)
    while try forgetting.line.step() {
      last = forgetting.line.int(0)
      count += 1
      names.remove(forgetting.line.int(1))
    }
    return count < countMax ? nil : last
  }

  /// Removes the names in events.
  ///
  /// - Returns: The row to go on with; nil at the end of the log.
  func takeOutOfEvents(
    from names: inout NumberBits, _ kind: NameWalk.Kind, row number: Int64, bytesMax: Int
  ) throws(StoreError) -> Int64? {
    forgetting.events.set(number)
    defer { forgetting.events.reset() }
    var bytes = 0
    while try forgetting.events.step() {
      guard bytes < bytesMax else { return forgetting.events.int(0) }
      let row = forgetting.events.bytes(1)
      bytes += row.count
      try EventEntries.forEach(in: row) { entry in
        if let name = kind.name(in: entry) { names.remove(name) }
      }
    }
    return nil
  }
}
