import RelayCore
import SQLite

extension Writer {
  /// Forgets keys, and then looks at the next `countMax` ended envelopes, and deletes those that
  /// ended before the cutoffs.
  func deleteEnded(
    _ retention: RetentionCutoffs, countMax: Int, into deletedFiles: inout [String]
  ) throws(StoreError) -> RetentionPage {
    var result = RetentionPage(deletedCount: 0, isRoundDone: false)
    result.forgottenKeyCount = try forgetKeys(before: retention.keys, countMax: countMax)
    if result.forgottenKeyCount > 0 { considerGivingBack() }
    guard result.forgottenKeyCount < countMax else { return result }
    var searchBlocks: Set<Int64> = []
    for _ in 0..<countMax {
      guard let row = try nextEnded() else {
        result.isRoundDone = true
        break
      }
      state.retentionCursor = row.serial
      guard try deleteIfReadable(row, retention, into: &deletedFiles) else { continue }
      result.deletedCount += 1
      searchBlocks.insert(SearchBlock.number(of: row.serial))
    }
    try forgetSearchBlocks(of: searchBlocks)
    if result.isRoundDone { state.retentionCursor = 0 }
    if result.deletedCount > 0 { considerGivingBack() }
    return result
  }

  /// Deletes an envelope that ended before the cutoff.
  ///
  /// One that cannot be read is left, and so is one that may be referred to.
  ///
  /// - Returns: Whether it was deleted.
  private func deleteIfReadable(
    _ row: EndedRow, _ retention: RetentionCutoffs, into deletedFiles: inout [String]
  ) throws(StoreError) -> Bool {
    let serial = row.serial
    guard !exceptions.undeleted.contains(serial), !lasting.undeleted.contains(serial) else {
      return false
    }
    return try part(.deletion(serial)) { () throws(StoreError) -> Bool in
      let state = try EnvelopeState(endCode: row.code)
      guard RetentionRules.isDue(state, endedAt: row.endedAt, retention),
        try !sql.isReferable.hasRow(serial)
      else { return false }
      if RetentionRules.remembersKeys(state, endedAt: row.endedAt, retention) {
        try rememberKeys(of: serial, endedAt: row.endedAt)
      }
      try delete(row, into: &deletedFiles)
      return true
    }
  }

  private struct EndedRow {
    let serial: Serial
    /// The code of its end; see ``EnvelopeState/endCode``.
    let code: Int64
    let endedAt: WallTime
    /// The number of its ending, if its client is told of it; else nil.
    let ending: EndingNumber?
    /// Whether an attempt led to the end.
    let isTried: Bool
  }

  /// The next readable ended envelope of the present round.
  ///
  /// They are read one at a time: so it is known where a damaged page begins.
  private func nextEnded() throws(StoreError) -> EndedRow? {
    let first = lasting.endedToRead(from: state.retentionCursor + 1)
    guard first <= state.ledger.lastSerial else { return nil }
    return try part(.ended(first)) { () throws(StoreError) -> EndedRow? in
      try sql.nextEnded.first(first) { row in
        EndedRow(
          serial: row.int(0), code: row.int(1), endedAt: row.time(2), ending: row.optionalInt(3),
          isTried: row.bool(4))
      }
    }
  }

  private func delete(
    _ row: EndedRow, into deletedFiles: inout [String]
  ) throws(StoreError) {
    let serial = row.serial
    sql.deleted.set(serial)
    guard try sql.deleted.step() else { throw .invalidRow("an end without its envelope") }
    let client = sql.deleted.int(0)
    let lane = sql.deleted.lane(1)
    let key = sql.deleted.text(2)
    state.ledger.contentBytes -= sql.deleted.int(3)
    let number = sql.deleted.optionalInt(4)
    let id = try sql.deleted.id(5)
    let coalesceKey = sql.deleted.text(6)
    let revision = sql.deleted.int(7)
    let upstream = sql.deleted.upstream(8)
    sql.deleted.reset()
    if let number { try forgetNumber(number, of: lane) }
    if id.serial != serial { try gaps.deleteMoved.run(id.serial) }
    try forgetCoalescing(
      of: serial, client: client, lane: lane, name: coalesceKey, revision: revision)
    if let key { try sql.deleteKey.run(client, key) }
    try forgetEnding(row.ending, of: ClientNumber(rawValue: client))
    try deleteBodyFile(of: serial, into: &deletedFiles)
    if number != nil { try laneLedger.close(serial, at: clock(), shared.receiptRules?.hash) }
    try sql.deleteAttempts.run(serial)
    try sql.deleteResponse.run(serial)
    try sql.deleteEnded.run(serial)
    try sql.deleteEnvelope.run(serial)
    try releaseFromQuarantine(serial)
    state.ledger.add(-1, endCode: row.code)
    state.endedLog.append(lane: lane, endCode: row.code, isDeletion: true)
    let end = try EnvelopeState(endCode: row.code)
    guard end != .delivered else { return }
    state.endsChanged.append(
      EndChange(
        serial: serial, lane: lane, upstream: upstream, state: end, endedAt: row.endedAt,
        isTried: row.isTried, result: .gone))
  }

  /// Deletes the row of a body file; the file itself is deleted once that is committed.
  func deleteBodyFile(
    of serial: Serial, into deletedFiles: inout [String]
  ) throws(StoreError) {
    let file = try sql.findBodyFile.first(serial) { (name: $0.text(0) ?? "", bytes: $0.int(1)) }
    guard let file else { return }
    try sql.deleteBodyFile.run(serial)
    state.ledger.contentBytes -= file.bytes
    state.ledger.fileBytes -= file.bytes
    deletedFiles.append(file.name)
  }

  // MARK: - Keys

  /// Remembers the keys of an envelope that is about to be deleted.
  private func rememberKeys(of serial: Serial, endedAt: WallTime) throws(StoreError) {
    for key in try rememberedKeys.keys(of: serial) {
      try rememberedKeys.insert(key, endedAt: endedAt)
      state.remembersKeys = true
    }
  }

  /// Forgets keys whose envelopes ended before a time.
  ///
  /// - Returns: How many.
  private func forgetKeys(before time: WallTime, countMax: Int) throws(StoreError) -> Int {
    guard state.remembersKeys else { return 0 }
    var count = 0
    try unlessLeftOut(.keyDeletion) { () throws(StoreError) in
      count = try rememberedKeys.forget(before: time, countMax: countMax)
      if count < countMax { state.remembersKeys = try rememberedKeys.hasAny() }
    }
    return count
  }
}
