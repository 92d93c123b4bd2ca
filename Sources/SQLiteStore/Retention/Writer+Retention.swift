import RelayCore

extension Writer {
  /// Looks at the next `countMax` ended envelopes, and deletes those that ended before the cutoffs.
  func deleteEnded(
    _ retention: RetentionCutoffs, countMax: Int, into deletedFiles: inout [String]
  ) throws(StoreError) -> RetentionPage {
    var result = RetentionPage(deletedCount: 0, isRoundDone: false)
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
      guard
        RetentionRules.isDue(
          try EnvelopeState(endCode: row.code), endedAt: row.endedAt, retention),
        try !isReferable(serial)
      else { return false }
      try delete(row, into: &deletedFiles)
      return true
    }
  }

  /// Whether it has a key, and an envelope with references waits behind it in its lane.
  ///
  /// The references themselves are not looked up.
  private func isReferable(_ serial: Serial) throws(StoreError) -> Bool {
    sql.isReferable.bind(1, serial)
    guard try sql.isReferable.step() else { return false }
    sql.isReferable.reset()
    return true
  }

  private struct EndedRow {
    let serial: Serial
    /// The code of its end; see ``EnvelopeState/endCode``.
    let code: Int64
    let endedAt: WallTime
    /// The number of its ending, if its client is told of it; else nil.
    let ending: EndingNumber?
  }

  /// The next readable ended envelope of the present round.
  ///
  /// They are read one at a time: so it is known where a damaged page begins.
  private func nextEnded() throws(StoreError) -> EndedRow? {
    let first = lasting.endedToRead(from: state.retentionCursor + 1)
    guard first <= state.ledger.lastSerial else { return nil }
    return try part(.ended(first)) { () throws(StoreError) -> EndedRow? in
      sql.nextEnded.bind(1, first)
      guard try sql.nextEnded.step() else { return nil }
      defer { sql.nextEnded.reset() }
      return EndedRow(
        serial: sql.nextEnded.int(0), code: sql.nextEnded.int(1),
        endedAt: WallTime(millisecondsSinceEpoch: sql.nextEnded.int(2)),
        ending: sql.nextEnded.optionalInt(3))
    }
  }

  private func delete(
    _ row: EndedRow, into deletedFiles: inout [String]
  ) throws(StoreError) {
    let serial = row.serial
    sql.deleted.bind(1, serial)
    guard try sql.deleted.step() else { throw .invalidRow("an end without its envelope") }
    let client = sql.deleted.int(0)
    let lane = LaneNumber(rawValue: sql.deleted.int(1))
    let key = sql.deleted.text(2)
    state.ledger.contentBytes -= sql.deleted.int(3)
    let number = sql.deleted.optionalInt(4)
    let id = try EnvelopeID(stored: sql.deleted.bytes(5))
    let coalesceKey = sql.deleted.text(6)
    let revision = sql.deleted.int(7)
    sql.deleted.reset()
    if let number { try forgetNumber(number, of: lane) }
    if id.serial != serial { try delete(id.serial, with: gaps.deleteMoved) }
    try forgetCoalescing(
      of: serial, client: client, lane: lane, name: coalesceKey, revision: revision)
    if let key {
      sql.deleteKey.bind(1, client)
      sql.deleteKey.bind(2, key)
      try sql.deleteKey.run()
    }
    try forgetEnding(row.ending, of: ClientNumber(rawValue: client))
    try deleteBodyFile(of: serial, into: &deletedFiles)
    try delete(serial, with: sql.deleteAttempts)
    try delete(serial, with: sql.deleteResponse)
    try delete(serial, with: sql.deleteEnded)
    try delete(serial, with: sql.deleteEnvelope)
    try releaseFromQuarantine(serial)
    state.ledger.add(-1, endCode: row.code)
    state.endedLog.append(lane: lane, endCode: row.code, isDeletion: true)
  }

  private func delete(_ serial: Serial, with statement: borrowing Statement) throws(StoreError) {
    statement.bind(1, serial)
    try statement.run()
  }

  /// Deletes the row of a body file; the file itself is deleted once that is committed.
  func deleteBodyFile(
    of serial: Serial, into deletedFiles: inout [String]
  ) throws(StoreError) {
    sql.findBodyFile.bind(1, serial)
    guard try sql.findBodyFile.step() else { return }
    let name = sql.findBodyFile.text(0) ?? ""
    let bytes = sql.findBodyFile.int(1)
    sql.findBodyFile.reset()
    try delete(serial, with: sql.deleteBodyFile)
    state.ledger.contentBytes -= bytes
    state.ledger.fileBytes -= bytes
    deletedFiles.append(name)
  }
}
