import RelayCore

extension Writer {
  /// The epoch of the only lease: an embedded store has one relay.
  static let epoch: Int64 = 1

  /// Makes and logs a change; a change of an envelope that no longer waits has no effect.
  ///
  /// - Returns: Whether it changed anything.
  func apply(_ transition: Transition, into receipt: inout Receipt) throws(StoreError) -> Bool {
    guard let plan = try ChangeRules.plan(transition, facts: self) else { return false }
    try carryOut(plan, of: transition, into: &receipt)
    return true
  }

  private func carryOut(
    _ plan: ChangePlan, of transition: Transition, into receipt: inout Receipt
  ) throws(StoreError) {
    let serial = transition.serial
    switch plan.line {
    case .begin:
      try run(sql.beginLine, for: serial)
    case .retry(let time, let doubt):
      sql.retryLine.bind(1, time.millisecondsSinceEpoch)
      sql.retryLine.bind(2, plan.attempts)
      sql.retryLine.bind(3, serial)
      sql.retryLine.bind(4, doubt)
      try sql.retryLine.run()
      noteTime(transition.at)
    case .block(let reason):
      sql.blockLine.bind(1, reason)
      sql.blockLine.bind(2, plan.attempts)
      sql.blockLine.bind(3, serial)
      try sql.blockLine.run()
      try quarantine(transition, reason: reason)
    case .end(let state, let reason, let isInDoubt):
      try finish(transition, plan, as: state, reason: reason, isInDoubt: isInDoubt)
    case .release(_, let spendsHold):
      try releaseFromQuarantine(serial)
      try run(sql.releaseLine, for: serial)
      if spendsHold { try run(sql.spendHold, for: serial) }
    case .edit:
      guard case .edit(let edit) = transition.change else { preconditionFailure("no edit") }
      try apply(edit, into: &receipt)
    case .requeue(let end):
      guard case .requeue(let entry) = transition.change else { preconditionFailure("no place") }
      try requeue(entry, end, plan)
      if plan.isParkedAgain { receipt.parkedAgain.insert(serial) }
    }
    if plan.keepsAttempt { try keepAttempt(transition, plan) }
    if let response = transition.response { try keep(response, of: serial) }
    if let former = plan.former { state.ledger.add(-1, standing: former) }
    if let standing = plan.standing { state.ledger.add(1, standing: standing) }
    if let event = plan.event { log(event) }
  }

  func move(from old: Standing, to new: Standing) {
    state.ledger.add(-1, standing: old)
    state.ledger.add(1, standing: new)
  }

  private func finish(
    _ transition: Transition, _ plan: ChangePlan, as end: EnvelopeState, reason: String?,
    isInDoubt: Bool
  ) throws(StoreError) {
    guard let code = end.endCode else { preconditionFailure("\(end) is no end") }
    try run(sql.deleteLine, for: transition.serial)
    let attempt = transition.attempt
    sql.insertEnded.bind(1, transition.serial)
    sql.insertEnded.bind(2, code)
    sql.insertEnded.bind(3, transition.at.millisecondsSinceEpoch)
    sql.insertEnded.bind(4, plan.attempts)
    sql.insertEnded.bind(5, reason)
    sql.insertEnded.bind(6, attempt.map { Int64($0.number) })
    sql.insertEnded.bind(7, attempt?.startedAt.millisecondsSinceEpoch)
    sql.insertEnded.bind(8, attempt?.durationMs)
    sql.insertEnded.bind(9, attempt?.outcome.code)
    sql.insertEnded.bind(10, attempt?.status.map { Int64($0) })
    sql.insertEnded.bind(11, attempt?.error)
    sql.insertEnded.bind(12, isInDoubt ? 1 : 0)
    sql.insertEnded.bind(13, try numberEnding(of: transition.serial, client: plan.client))
    try sql.insertEnded.run()
    state.ledger.add(1, endCode: code)
    state.endedLog.append(lane: transition.lane, endCode: code, isDeletion: false)
    state.use[plan.client, default: WaitingUse()] += plan.use
    try noteEnd(of: transition)
  }

  private func keepAttempt(
    _ transition: Transition, _ plan: ChangePlan
  ) throws(StoreError) {
    guard let attempt = transition.attempt else { return }
    sql.insertAttempt.bind(1, transition.serial)
    sql.insertAttempt.bind(2, Int64(attempt.number))
    sql.insertAttempt.bind(3, attempt.startedAt.millisecondsSinceEpoch)
    sql.insertAttempt.bind(4, attempt.durationMs)
    sql.insertAttempt.bind(5, attempt.outcome.code)
    sql.insertAttempt.bind(6, attempt.status.map { Int64($0) })
    sql.insertAttempt.bind(7, attempt.error)
    try sql.insertAttempt.run()
    guard let number = plan.attemptsDroppedThrough else { return }
    sql.trimAttempts.bind(1, transition.serial)
    sql.trimAttempts.bind(2, number)
    try sql.trimAttempts.run()
  }

  private func keep(_ response: UpstreamResponse, of serial: Serial) throws(StoreError) {
    sql.insertResponse.bind(1, serial)
    sql.insertResponse.bind(2, Int64(response.status))
    sql.insertResponse.bind(3, response.isTruncated ? 1 : 0)
    sql.insertResponse.bind(4, response.headers.bytes)
    try sql.insertResponse.runBorrowing(5, response.body)
  }

  // MARK: - Counts by lane

  /// Writes this transaction's endings to the log, or adds all of them up once the log is long.
  func sealEndedLog() throws(StoreError) {
    guard state.endedLog.entryCount > 0 else { return }
    guard !lasting.isListLost else { return state.endedLog.clear() }
    if state.endedLog.loggedCount + state.endedLog.entryCount > StoreTuning.endedLogEntriesMax {
      return try part(.listing) { () throws(StoreError) in try foldEndedLog() }
    }
    sql.insertEndedLog.bind(1, state.endedLog.entries)
    try part(.listing) { () throws(StoreError) in try sql.insertEndedLog.run() }
    state.endedLog.loggedCount += state.endedLog.entryCount
    state.endedLog.clear()
  }

  /// Adds all logged endings to their lanes' rows, in the rows' order, and empties the log.
  func foldEndedLog() throws(StoreError) {
    var sums: [Int64: EndedLog.Counts] = [:]
    func add(_ lane: Int64, _ end: Int, _ difference: Int64) {
      sums[lane, default: [0, 0, 0, 0]][end] += difference
    }
    EndedLog.forEach(in: state.endedLog.entries, add)
    while try sql.readEndedLog.step() {
      EndedLog.forEach(in: sql.readEndedLog.bytes(0), add)
    }
    for lane in sums.keys.sorted() {
      let number = LaneNumber(rawValue: lane)
      guard let sum = sums[lane], !lasting.uncounted.contains(number) else { continue }
      for index in 0..<4 { sql.addToLane.bind(Int32(index + 1), sum[index]) }
      sql.addToLane.bind(5, lane)
      try part(.counting(number)) { () throws(StoreError) in try sql.addToLane.run() }
    }
    try sql.clearEndedLog.run()
    state.endedLog.clear()
    state.endedLog.loggedCount = 0
  }
}
