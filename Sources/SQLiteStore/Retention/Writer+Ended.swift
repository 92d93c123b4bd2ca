import RelayCore

// Operators' changes to envelopes that have ended undelivered, and stay ended.
extension Writer {
  /// Replaces an ended envelope's request by the corrected one; the record of the end stays.
  ///
  /// - Returns: Whether an envelope of this number has ended undelivered.
  func correctEnded(
    _ edit: EnvelopeEdit, into deletedFiles: inout [String]
  ) throws(StoreError) -> Bool {
    guard ChangeRules.mayCorrect(try end(of: edit.entry.serial)) else { return false }
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
}
