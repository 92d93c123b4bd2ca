import RelayCore

// Envelopes that cannot be read, and changes that cannot be written for what is damaged.
extension Writer {
  /// Notes under which id an envelope that cannot be read is shown, and why it blocks its lane.
  func quarantine(_ transition: Transition, reason: String) throws(StoreError) {
    let id = try readableID(of: transition.serial)
    sql.quarantine.bind(1, id.bytes)
    sql.quarantine.bind(2, transition.at.millisecondsSinceEpoch)
    sql.quarantine.bind(3, reason)
    sql.quarantine.bind(4, transition.serial)
    try sql.quarantine.run()
    try countQuarantined()
    state.damage.last = reason
  }

  /// An envelope is tried again: it is no longer set apart.
  func releaseFromQuarantine(_ serial: Serial) throws(StoreError) {
    guard state.damage.quarantined > 0 else { return }
    sql.release.bind(1, serial)
    try sql.release.run()
    try countQuarantined()
  }

  /// Counts what waits and cannot be read.
  func countQuarantined() throws(StoreError) {
    state.damage.quarantined = try connection.number(
      "SELECT count(*) FROM quarantine WHERE serial IN (SELECT serial FROM line)")
  }

  /// The envelope's own id, if that can be read; else one that carries its number and its time, and
  /// zeros for what is lost.
  private func readableID(of serial: Serial) throws(StoreError) -> EnvelopeID {
    sql.findIdentity.bind(1, serial)
    if (try? sql.findIdentity.step()) == true {
      defer { sql.findIdentity.reset() }
      if let id = RowRules.id(sql.findIdentity.bytes(0)) { return id }
    }
    let acceptedAt = try connection.number("SELECT accepted_at FROM line WHERE serial = \(serial)")
    return EnvelopeID(
      serial: serial, acceptedAt: WallTime(millisecondsSinceEpoch: acceptedAt), random: 0)
  }

  /// Makes one change within a savepoint, so that one that meets a damaged page leaves its
  /// neighbours alone.
  ///
  /// - Returns: false if it cannot be made. Its lane stands still until the next start, which reads
  ///   the line anew; the upstream may get the envelope again then.
  func applyCarefully(_ change: Transition, at index: Int, into receipt: inout Receipt)
    throws(StoreError)
  {
    let before = (state: state, receipt: receipt)
    try connection.execute("SAVEPOINT change")
    do throws(StoreError) {
      if try !apply(change, into: &receipt) { receipt.moot.insert(index) }
    } catch {
      guard error.kind == .corrupt, connection.isInTransaction else { throw error }
      try connection.execute("ROLLBACK TO change")
      (state, receipt) = before
      forgetNames()
      receipt.unwritten.insert(index)
      state.damage.unwritten += 1
      state.damage.last = error.description
    }
    try connection.execute("RELEASE change")
  }
}
