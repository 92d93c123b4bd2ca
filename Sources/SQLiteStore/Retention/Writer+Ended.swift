import RelayCore

// Operators' changes to envelopes that have ended undelivered, and stay ended.
extension Writer {
  /// Replaces an ended envelope's request by the corrected one; the record of the end stays.
  ///
  /// - Returns: Whether an envelope of this number has ended undelivered.
  func correctEnded(
    _ edit: EnvelopeEdit, into deletedFiles: inout [String]
  ) throws(StoreError) -> Bool {
    guard let end = try end(of: edit.entry.serial), end.state != .delivered else { return false }
    try replaceContent(edit, into: &deletedFiles)
    log(EventEntry(editedEnded: edit.entry))
    return true
  }

  /// Makes an envelope that failed or expired end as cancelled, now; its attempts and its response
  /// stay.
  ///
  /// A client that checks in is told of this end in place of the old one, or after it.
  ///
  /// - Returns: Whether an envelope of this number has ended undelivered.
  func cancelEnded(_ entry: LineEntry, reason: String) throws(StoreError) -> Bool {
    guard let end = try end(of: entry.serial), end.state != .delivered else { return false }
    guard end.state != .cancelled else { return true }
    guard let oldCode = end.state.endCode, let code = EnvelopeState.cancelled.endCode else {
      preconditionFailure("an end has a code")
    }
    try forgetEnding(end.ending, of: entry.client)
    sql.cancelEnded.bind(1, code)
    sql.cancelEnded.bind(2, clock().millisecondsSinceEpoch)
    sql.cancelEnded.bind(3, reason)
    sql.cancelEnded.bind(4, try numberEnding(of: entry.serial, client: entry.client))
    sql.cancelEnded.bind(5, entry.serial)
    try sql.cancelEnded.run()
    state.ledger.add(-1, endCode: oldCode)
    state.ledger.add(1, endCode: code)
    state.endedLog.append(lane: entry.lane, endCode: oldCode, isDeletion: true)
    state.endedLog.append(lane: entry.lane, endCode: code, isDeletion: false)
    log(EventEntry(cancelledEnded: entry, reason: reason))
    return true
  }

  private func end(
    of serial: Serial
  ) throws(StoreError) -> (state: EnvelopeState, ending: EndingNumber?)? {
    sql.findEnd.bind(1, serial)
    guard try sql.findEnd.step() else { return nil }
    defer { sql.findEnd.reset() }
    return (try EnvelopeState(endCode: sql.findEnd.int(0)), sql.findEnd.optionalInt(2))
  }
}
