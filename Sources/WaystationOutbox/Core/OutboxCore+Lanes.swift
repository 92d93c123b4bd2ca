import RelayCore

// What the relay tells of lanes: where one stands, what it waits for, and whether it has lost what
// it once had.
extension OutboxCore {
  /// Takes what a check-in says of lanes.
  func takeLanes(
    _ answer: SyncAnswer, asked: [SyncRequest.LaneQuestion], at now: Moment
  ) throws(StoreError) {
    if answer.features.contains("blocked-lanes") { try takeBlockers(answer, at: now) }
    for lane in answer.lanes {
      guard let number = state.laneNumbers[lane.name],
        let question = asked.first(where: { $0.name == lane.name })
      else { continue }
      try takeUnknown(lane, question, number)
    }
  }

  /// Lanes stand at the relay, or do so no more: an answer names all that do.
  private func takeBlockers(_ answer: SyncAnswer, at now: Moment) throws(StoreError) {
    var standing: Set<String> = []
    for blocker in answer.lanes.compactMap(\.blocker) {
      if let key = blocker.key { standing.insert(key) }
      try takeBlocker(blocker)
    }
    // An answer that could not look anything up names none.
    guard state.attention > 0, !answer.lanes.isEmpty || !answer.hasMore else { return }
    for item in try file.itemsNeedingAttention(after: 0, countMax: CoreLimits.expiredPerStep)
    where item.refuser == .upstreamAtRelay && !standing.contains(item.key) {
      try changedAtRelay(item.key, .retry(nil), at: now)
    }
  }

  private func takeBlocker(_ blocker: SyncAnswer.Blocker) throws(StoreError) {
    guard let key = blocker.key, !state.changedMeanwhile.contains(key) else { return }
    guard var item = try file.item(key: key) else {
      // A relay that was restored stands behind what was settled before.
      if try file.ending(key: key) != nil, !state.givenUp.contains(key) {
        state.givenUp.append(key)
      }
      return
    }
    guard !item.state.needsAttention else { return }
    item = try handOver(item, relayID: "")
    try block(item, by: .upstreamAtRelay, blocker.error)
  }

  /// Looks at the numbers that the relay has not, of those that were given out.
  ///
  /// Those that are on their way come by themselves. A number whose item is over will not come any
  /// more, and the relay is told so. Of the others the relay has lost what it once said it had: it
  /// was restored from an older backup.
  private func takeUnknown(
    _ lane: SyncAnswer.LaneAnswer, _ question: SyncRequest.LaneQuestion, _ number: LaneNumber
  ) throws(StoreError) {
    var lost: [UInt64] = []
    for sequence in Self.unknown(lane, given: question.last) {
      guard let item = try file.item(number, sequence: sequence) else {
        try file.insert(VoidNumber(lane: number, sequence: sequence))
        continue
      }
      guard item.isHanded, !state.underwayItems.contains(item.id) else { continue }
      if try takeBack(item) { continue }
      lost.append(sequence)
      try file.insert(VoidNumber(lane: number, sequence: sequence))
      try end(item, .unknown, error: .lostByRelay)
    }
    guard let first = lost.first, let last = lost.last else { return }
    tell(.relayBehind(Lane(lane.name), first: first, last: last))
  }

  /// The first numbers that the relay has not, up to the last one that was given out with the
  /// question.
  private static func unknown(
    _ lane: SyncAnswer.LaneAnswer, given last: UInt64
  ) -> [UInt64] {
    var numbers: Set<UInt64> = []
    for range in (lane.send ?? []) + lane.missing {
      var number = range.lowerBound
      while number <= min(range.upperBound, last), numbers.count < CoreLimits.expiredPerStep {
        numbers.insert(number)
        number += 1
      }
    }
    return numbers.sorted()
  }

  /// Takes an item back from a relay that has lost it; it goes again.
  ///
  /// - Returns: false if its content was given up when the relay took it.
  func takeBack(_ item: KeptItem) throws(StoreError) -> Bool {
    guard try file.content(of: item.id) != nil else { return false }
    if try forgetUnproven(item) { try file.forgetEnding(item.id) }
    // It goes as it is by now.
    if let sequence = item.sequence { try file.deleteDigest(item.lane, sequence) }
    var back = item
    back.state = .sealed
    back.isHanded = false
    back.relayID = nil
    if item.state.needsAttention {
      state.attention -= 1
      back.error = nil
      back.refuser = nil
    }
    try file.update(back)
    change(item.lane) { $0.line += 1 }
    return true
  }

  /// Has the relay give up an item that is over here.
  func giveUp(_ key: String) -> OutgoingExchange {
    state.givenUp.removeAll { $0 == key }
    return begin(
      .giveUp(key: key),
      OutgoingRequest(
        method: "POST", path: RelayPath.envelope(key, of: settings.client) + "/resolve",
        headers: [HeaderLine(name: "Content-Type", value: "application/json")],
        body: .bytes(Array(#"{"action":"discard"}"#.utf8))))
  }

  // MARK: - A restored device

  /// Asks the relay how far the lanes have come.
  func rejoinRequest() -> OutgoingRequest {
    OutgoingRequest(
      method: "GET", path: "/v1/clients/\(RelayPath.escaped(settings.client))")
  }

  /// Goes on above the relay's numbers.
  func takeRejoin(_ response: Response, at now: Moment) throws(StoreError) {
    guard response.status == 200 || response.status == 404,
      let highest = HighestNumbers(response)
    else {
      return notReachable(
        ConnectionFailure(
          reason: "the relay does not say how far the lanes have come", mayHaveArrived: false),
        at: now)
    }
    state.sender.answered()
    for (name, number) in highest.lanes.sorted(by: { $0.key < $1.key }) where number > 0 {
      let lane = lane(named: name)
      let isPassed = number >= lane.next
      if isPassed {
        change(lane.number) { $0.next = number + 1 }
        try endChain(of: lane.number)
        try beginSigningAnew(in: lane.number)
      }
      if state.conflictedLanes.contains(lane.number) || isPassed { tell(.rejoined(Lane(name))) }
    }
    state.conflictedLanes = []
    state.mustRejoin = false
    try file.set(.mustRejoin, 0)
    if state.atRelay == 0 { try endInquiryOfRestored() }
  }
}

extension RecordedError {
  /// The relay has lost what it had taken, and the device has kept no copy.
  static let lostByRelay = RecordedError(
    id: "lost-by-relay",
    message: "The relay had taken it, and was restored from an older backup. "
      + "The device has no copy any more: custody was not .delivered.")
  /// The relay does not know any more how it ended.
  static let forgottenByRelay = RecordedError(
    id: "forgotten-by-relay",
    message: "The relay had taken it, and does not remember any more how it ended.")
}
