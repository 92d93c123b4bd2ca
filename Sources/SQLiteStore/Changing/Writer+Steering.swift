import RelayCore
import SQLite

// Operators' changes to envelopes: correcting a waiting one, and putting an ended one back in line.
extension Writer {
  /// Replaces a waiting envelope's request by the corrected one.
  ///
  /// The key, the fingerprint of the post and the place in the line stay.
  func apply(_ edit: EnvelopeEdit, into receipt: inout Receipt) throws(StoreError) {
    let serial = edit.entry.serial
    try sql.editLine.run(
      edit.entry.upstream, edit.entry.expiresAt, edit.entry.standing, edit.entry.onFailure,
      edit.entry.dueAt, edit.content.byteCount, edit.references, serial)
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
    sql.editEnvelope.set(
      edit.entry.upstream, edit.tag, edit.hold, edit.notBefore, edit.entry.expiresAt,
      edit.entry.onFailure, content.method, content.target, content.headers.bytes)
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
    try sql.findIdentity.one(edit.entry.serial, or: "a place without its envelope") {
      row throws(StoreError) in
      edit.content.checksum(
        of: try row.id(0), client: edit.entry.client, lane: edit.entry.lane,
        upstream: edit.entry.upstream, key: row.text(2), references: edit.references)
    }
  }

  /// Subtracts the old content from the counts, and releases its file.
  private func forgetContent(
    of serial: Serial, into deletedFiles: inout [String]
  ) throws(StoreError) {
    state.ledger.contentBytes -= try sql.deleted.one(serial, or: "a place without its envelope") {
      $0.int(3)
    }
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
    try sql.requeueAttempt.run(entry.serial)
    let bytes = try sql.requeueLine.first(
      entry.serial, entry.acceptedAt, entry.expiresAt, plan.attempts, standing, entry.dueAt,
      end.isInDoubt
    ) { $0.int(0) }
    guard let bytes else { throw .invalidRow("an end without its envelope") }
    let use = WaitingUse(count: 1, bytes: bytes)
    state.use[entry.client, default: WaitingUse()] += use
    try sql.renewDeadline.run(entry.expiresAt, entry.serial)
    try sql.deleteEnded.run(entry.serial)
    try sql.deleteResponse.run(entry.serial)
    try releaseFromQuarantine(entry.serial)
    state.ledger.add(-1, endCode: code)
    state.endedLog.append(lane: entry.lane, endCode: code, isDeletion: true)
    state.endsChanged.append(EndChange(of: entry, end, .gone))
  }
}

// Operators' changes to envelopes that have ended undelivered, and stay ended.
extension Writer {
  /// Replaces an ended envelope's request by the corrected one; the record of the end stays.
  ///
  /// - Returns: Whether an envelope of this number has ended undelivered.
  func correctEnded(
    _ edit: EnvelopeEdit, into deletedFiles: inout [String]
  ) throws(StoreError) -> Bool {
    let end = try end(of: edit.entry.serial)
    guard let end, ChangeRules.mayCorrect(end) else { return false }
    try noteRedirected(edit, end)
    try replaceContent(edit, into: &deletedFiles)
    log(EventEntry(editedEnded: edit.entry))
    return true
  }

  private func noteRedirected(_ edit: EnvelopeEdit, _ end: StoredEnd) throws(StoreError) {
    var former = edit.entry
    former.upstream = try sql.deleted.one(former.serial, or: "an end without its envelope") {
      $0.upstream(8)
    }
    guard former.upstream != edit.entry.upstream else { return }
    state.endsChanged.append(EndChange(of: former, end, .redirected(to: edit.entry.upstream)))
  }

  /// Makes an envelope that failed or expired end as cancelled, now; its attempts and its response
  /// stay.
  ///
  /// A client that checks in is told of this end in place of the old one, or after it.
  ///
  /// - Returns: Whether an envelope of this number has ended undelivered.
  func cancelEnded(_ entry: LineEntry, reason: String) throws(StoreError) -> Bool {
    let end: StoredEnd
    switch ChangeRules.cancellation(of: try self.end(of: entry.serial)) {
    case .refuse: return false
    case .leave: return true
    case .replace(let stored): end = stored
    }
    guard let oldCode = end.state.endCode, let code = EnvelopeState.cancelled.endCode else {
      preconditionFailure("an end has a code")
    }
    try forgetEnding(end.ending, of: entry.client)
    try sql.cancelEnded.run(
      code, clock(), reason, try numberEnding(of: entry.serial, client: entry.client), entry.serial)
    state.ledger.add(-1, endCode: oldCode)
    state.ledger.add(1, endCode: code)
    state.endedLog.append(lane: entry.lane, endCode: oldCode, isDeletion: true)
    state.endedLog.append(lane: entry.lane, endCode: code, isDeletion: false)
    state.endsChanged.append(EndChange(of: entry, end, .cancelled))
    log(EventEntry(cancelledEnded: entry, reason: reason))
    return true
  }
}
