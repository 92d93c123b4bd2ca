import RelayCore
import SQLite

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
      try sql.beginLine.run(serial)
    case .retry(let time, let doubt):
      try sql.retryLine.run(time, plan.attempts, serial, doubt)
      noteTime(transition.at)
    case .block(let reason):
      try sql.blockLine.run(reason, plan.attempts, serial)
      try quarantine(transition, reason: reason)
    case .end(let state, let reason, let isInDoubt):
      try finish(transition, plan, as: state, reason: reason, isInDoubt: isInDoubt)
    case .release(_, let spendsHold):
      try releaseFromQuarantine(serial)
      try sql.releaseLine.run(serial)
      if spendsHold { try sql.spendHold.run(serial) }
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
    try sql.deleteLine.run(transition.serial)
    let attempt = transition.attempt
    try sql.insertEnded.run(
      transition.serial, code, transition.at, plan.attempts, reason, attempt?.number,
      attempt?.startedAt, attempt?.durationMs, attempt?.outcome, attempt?.status, attempt?.error,
      isInDoubt, try numberEnding(of: transition.serial, client: plan.client))
    state.ledger.add(1, endCode: code)
    state.endedLog.append(lane: transition.lane, endCode: code, isDeletion: false)
    state.use[plan.client, default: WaitingUse()] += plan.use
    try noteEnd(of: transition)
  }

  private func keepAttempt(
    _ transition: Transition, _ plan: ChangePlan
  ) throws(StoreError) {
    guard let attempt = transition.attempt else { return }
    try sql.insertAttempt.run(
      transition.serial, attempt.number, attempt.startedAt, attempt.durationMs, attempt.outcome,
      attempt.status, attempt.error)
    guard let number = plan.attemptsDroppedThrough else { return }
    try sql.trimAttempts.run(transition.serial, number)
  }

  private func keep(_ response: UpstreamResponse, of serial: Serial) throws(StoreError) {
    sql.insertResponse.set(serial, response.status, response.isTruncated, response.headers.bytes)
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
    sql.insertEndedLog.set(state.endedLog.entries)
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
