import RelayCore

extension Writer {
  /// The epoch of the only lease: an embedded store has one relay.
  static let epoch: Int64 = 1

  /// Makes and logs a change; a change of an envelope that no longer waits has no effect.
  ///
  /// - Returns: Whether it changed anything.
  func apply(_ transition: Transition, into receipt: inout Receipt) throws(StoreError) -> Bool {
    guard try change(transition, into: &receipt) else { return false }
    guard transition.isEvent else { return true }
    guard receipt.parkedAgain.contains(transition.serial) else {
      log(EventEntry(transition))
      return true
    }
    var parked = transition
    parked.noteParked()
    log(EventEntry(parked))
    return true
  }

  private func change(
    _ transition: Transition, into receipt: inout Receipt
  ) throws(StoreError) -> Bool {
    if case .requeue(let entry) = transition.change { return try requeue(entry, into: &receipt) }
    sql.waiting.bind(1, transition.serial)
    guard try sql.waiting.step() else { return false }
    let code = sql.waiting.int(0)
    let attemptsBefore = sql.waiting.int(1)
    let client = ClientNumber(rawValue: sql.waiting.int(2))
    let wasInDoubt = sql.waiting.int(3) != 0
    let bytes = sql.waiting.int(4)
    sql.waiting.reset()
    let standing = try Standing(code: code)
    let attempts =
      transition.attempt.map { max(Int64($0.number), attemptsBefore) } ?? attemptsBefore
    switch transition.change {
    case .begin:
      sql.beginLine.bind(1, transition.serial)
      try sql.beginLine.run()
    case .retry(let time):
      sql.retryLine.bind(1, time.millisecondsSinceEpoch)
      sql.retryLine.bind(2, attempts)
      sql.retryLine.bind(3, transition.serial)
      sql.retryLine.bind(4, transition.doubt)
      try sql.retryLine.run()
      try keepAttempt(transition)
      noteTime(transition.at)
      move(from: standing, to: .queued)
    case .block(let reason):
      sql.blockLine.bind(1, reason)
      sql.blockLine.bind(2, attempts)
      sql.blockLine.bind(3, transition.serial)
      try sql.blockLine.run()
      try keepAttempt(transition)
      try quarantine(transition, reason: reason)
      move(from: standing, to: .blocked)
    case .end(let end, let reason):
      try finish(
        transition, of: client, as: end, reason: reason, attempts: attempts,
        isInDoubt: transition.leavesDoubt(wasInDoubt))
      state.ledger.add(-1, standing: standing)
      state.use[client, default: WaitingUse()] += WaitingUse(count: -1, bytes: -bytes)
      try noteEnd(of: transition)
    case .release:
      try releaseFromQuarantine(transition.serial)
      sql.releaseLine.bind(1, transition.serial)
      try sql.releaseLine.run()
      if standing == .held { try run(sql.spendHold, for: transition.serial) }
      move(from: standing, to: .queued)
    case .edit(let edit):
      try apply(edit, into: &receipt)
      move(from: standing, to: edit.entry.standing)
    case .requeue:
      break
    }
    if let response = transition.response { try keep(response, of: transition.serial) }
    return true
  }

  func move(from old: Standing, to new: Standing) {
    state.ledger.add(-1, standing: old)
    state.ledger.add(1, standing: new)
  }

  private func finish(
    _ transition: Transition, of client: ClientNumber, as end: EnvelopeState, reason: String,
    attempts: Int64, isInDoubt: Bool
  ) throws(StoreError) {
    guard let code = end.endCode else { preconditionFailure("\(end) is no end") }
    sql.deleteLine.bind(1, transition.serial)
    try sql.deleteLine.run()
    let attempt = transition.attempt
    sql.insertEnded.bind(1, transition.serial)
    sql.insertEnded.bind(2, code)
    sql.insertEnded.bind(3, transition.at.millisecondsSinceEpoch)
    sql.insertEnded.bind(4, attempts)
    sql.insertEnded.bind(5, reason.isEmpty ? nil : reason)
    sql.insertEnded.bind(6, attempt.map { Int64($0.number) })
    sql.insertEnded.bind(7, attempt?.startedAt.millisecondsSinceEpoch)
    sql.insertEnded.bind(8, attempt?.durationMs)
    sql.insertEnded.bind(9, attempt?.outcome.code)
    sql.insertEnded.bind(10, attempt?.status.map { Int64($0) })
    sql.insertEnded.bind(11, attempt?.error)
    sql.insertEnded.bind(12, isInDoubt ? 1 : 0)
    sql.insertEnded.bind(13, try numberEnding(of: transition.serial, client: client))
    try sql.insertEnded.run()
    state.ledger.add(1, endCode: code)
    state.endedLog.append(lane: transition.lane, endCode: code, isDeletion: false)
  }

  private func keepAttempt(_ transition: Transition) throws(StoreError) {
    guard let attempt = transition.attempt else { return }
    sql.insertAttempt.bind(1, transition.serial)
    sql.insertAttempt.bind(2, Int64(attempt.number))
    sql.insertAttempt.bind(3, attempt.startedAt.millisecondsSinceEpoch)
    sql.insertAttempt.bind(4, attempt.durationMs)
    sql.insertAttempt.bind(5, attempt.outcome.code)
    sql.insertAttempt.bind(6, attempt.status.map { Int64($0) })
    sql.insertAttempt.bind(7, attempt.error)
    try sql.insertAttempt.run()
    let excess = Int64(attempt.number) - Int64(StoreLimits.attemptsKeptMax)
    guard excess > 0 else { return }
    sql.trimAttempts.bind(1, transition.serial)
    sql.trimAttempts.bind(2, excess)
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
