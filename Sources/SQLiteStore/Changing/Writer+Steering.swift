import RelayCore

// Operators' changes to envelopes: correcting a waiting one, and putting an ended one back in line.
extension Writer {
  /// Replaces a waiting envelope's request by the corrected one.
  ///
  /// The key, the fingerprint of the post and the place in the line stay.
  func apply(_ edit: EnvelopeEdit, into receipt: inout Receipt) throws(StoreError) {
    let serial = edit.entry.serial
    sql.editLine.bind(1, Int64(edit.entry.upstream.rawValue))
    sql.editLine.bind(2, edit.entry.expiresAt.millisecondsSinceEpoch)
    sql.editLine.bind(3, Int64(edit.entry.standing.rawValue))
    sql.editLine.bind(4, edit.entry.onFailure.code)
    sql.editLine.bind(5, edit.entry.dueAt?.millisecondsSinceEpoch)
    sql.editLine.bind(6, edit.content.byteCount)
    sql.editLine.bind(7, edit.references ? 1 : 0)
    sql.editLine.bind(8, serial)
    try sql.editLine.run()
    let bytesBefore = state.ledger.contentBytes
    try replaceContent(edit, into: &receipt.deletedFiles)
    state.use[edit.entry.client, default: WaitingUse()] += WaitingUse(
      bytes: state.ledger.contentBytes - bytesBefore)
  }

  /// Replaces an envelope's request by the corrected one, whether it waits or has ended.
  func replaceContent(
    _ edit: EnvelopeEdit, into deletedFiles: inout [String]
  ) throws(StoreError) {
    try forgetContent(of: edit.entry.serial, into: &deletedFiles)
    try writeContent(edit)
    if case .file(let file) = edit.content.body {
      let name = BodyFiles.name(of: file)
      if deletedFiles.contains(name) {
        // A body that stays keeps its file, and is not more readable than before.
        return deletedFiles.removeAll { $0 == name }
      }
    }
    try releaseFromQuarantine(edit.entry.serial)
  }

  private func writeContent(_ edit: EnvelopeEdit) throws(StoreError) {
    let content = edit.content
    sql.editEnvelope.bind(1, Int64(edit.entry.upstream.rawValue))
    sql.editEnvelope.bind(2, edit.tag)
    sql.editEnvelope.bind(3, edit.hold ? 1 : 0)
    sql.editEnvelope.bind(4, edit.notBefore?.millisecondsSinceEpoch)
    sql.editEnvelope.bind(5, edit.entry.expiresAt.millisecondsSinceEpoch)
    sql.editEnvelope.bind(6, edit.entry.onFailure.code)
    sql.editEnvelope.bind(7, content.method)
    sql.editEnvelope.bind(8, content.target)
    sql.editEnvelope.bind(9, content.headers.bytes)
    sql.editEnvelope.bind(11, edit.entry.serial)
    sql.editEnvelope.bind(12, edit.references ? 1 : 0)
    sql.editEnvelope.bind(13, try checksum(of: edit))
    switch content.body {
    case .inline(let bytes): try sql.editEnvelope.runBorrowing(10, bytes)
    case .file(let file):
      sql.editEnvelope.bindNull(10)
      try sql.editEnvelope.run()
      try insertBodyFile(file, serial: edit.entry.serial)
    }
    state.ledger.contentBytes += content.byteCount
    try noteForSearch(edit.entry.serial, tag: edit.tag)
  }

  private func checksum(of edit: EnvelopeEdit) throws(StoreError) -> Int64 {
    sql.findIdentity.bind(1, edit.entry.serial)
    guard try sql.findIdentity.step() else { throw .invalidRow("a place without its envelope") }
    defer { sql.findIdentity.reset() }
    return edit.content.checksum(
      of: try EnvelopeID(stored: sql.findIdentity.bytes(0)), client: edit.entry.client,
      lane: edit.entry.lane, upstream: edit.entry.upstream, key: sql.findIdentity.text(2),
      references: edit.references)
  }

  /// Subtracts the old content from the counts, and releases its file.
  private func forgetContent(
    of serial: Serial, into deletedFiles: inout [String]
  ) throws(StoreError) {
    sql.deleted.bind(1, serial)
    guard try sql.deleted.step() else { throw .invalidRow("a place without its envelope") }
    state.ledger.contentBytes -= sql.deleted.int(3)
    sql.deleted.reset()
    try deleteBodyFile(of: serial, into: &deletedFiles)
  }

  /// Puts an ended envelope back in line.
  func requeue(
    _ entry: LineEntry, _ end: StoredEnd, _ plan: ChangePlan
  ) throws(StoreError) {
    guard let code = end.state.endCode, let standing = plan.standing else {
      preconditionFailure("what has ended is put back in line")
    }
    try forgetEnding(end.ending, of: entry.client)
    try run(sql.requeueAttempt, for: entry.serial)
    sql.requeueLine.bind(1, entry.serial)
    sql.requeueLine.bind(2, entry.acceptedAt.millisecondsSinceEpoch)
    sql.requeueLine.bind(3, entry.expiresAt.millisecondsSinceEpoch)
    sql.requeueLine.bind(4, plan.attempts)
    sql.requeueLine.bind(5, Int64(standing.rawValue))
    sql.requeueLine.bind(6, entry.dueAt?.millisecondsSinceEpoch)
    sql.requeueLine.bind(7, end.isInDoubt ? 1 : 0)
    guard try sql.requeueLine.step() else { throw .invalidRow("an end without its envelope") }
    let use = WaitingUse(count: 1, bytes: sql.requeueLine.int(0))
    sql.requeueLine.reset()
    state.use[entry.client, default: WaitingUse()] += use
    sql.renewDeadline.bind(1, entry.expiresAt.millisecondsSinceEpoch)
    sql.renewDeadline.bind(2, entry.serial)
    try sql.renewDeadline.run()
    try run(sql.deleteEnded, for: entry.serial)
    try run(sql.deleteResponse, for: entry.serial)
    try releaseFromQuarantine(entry.serial)
    state.ledger.add(-1, endCode: code)
    state.endedLog.append(lane: entry.lane, endCode: code, isDeletion: true)
  }

  func run(_ statement: borrowing Statement, for serial: Serial) throws(StoreError) {
    statement.bind(1, serial)
    try statement.run()
  }
}
