import RelayCore

// Envelopes that cannot be read, and changes that cannot be written for what is damaged.
extension Writer {
  /// Notes under which id an envelope that cannot be read is shown, and why it stands.
  func quarantine(_ serial: Serial, at time: WallTime, reason: String) throws(StoreError) {
    let id = try readableID(of: serial)
    sql.quarantine.bind(1, id.bytes)
    sql.quarantine.bind(2, time.millisecondsSinceEpoch)
    sql.quarantine.bind(3, reason)
    sql.quarantine.bind(4, serial)
    try sql.quarantine.run()
    try countQuarantined()
    state.damage.last = reason
  }

  /// The same for a change that blocks it; nothing if it is blocked for another reason.
  func quarantine(_ transition: Transition, reason: String) throws(StoreError) {
    guard transition.isQuarantine else { return }
    try quarantine(transition.serial, at: transition.at, reason: reason)
  }

  /// One that has ended stands in nobody's way any more.
  func noteEnd(of transition: Transition) throws(StoreError) {
    if state.damage.quarantined > 0 { try countQuarantined() }
    // What waited behind it for its turn to move need not wait for it.
    if state.unmovable.contains(transition.serial) { state.flowing.insert(transition.lane) }
  }

  /// An envelope is no longer set apart: it is tried again, has got another content, or is gone.
  func releaseFromQuarantine(_ serial: Serial) throws(StoreError) {
    guard state.quarantineRows > 0 else { return }
    sql.release.bind(1, serial)
    try sql.release.run()
    try countQuarantined()
  }

  /// Counts what is set apart, and what of it waits.
  ///
  /// By single look-ups: asked the other way round, SQLite goes along the whole line.
  func countQuarantined() throws(StoreError) {
    state.quarantineRows = try connection.number("SELECT count(*) FROM quarantine")
    state.damage.quarantined = try connection.number(
      """
      SELECT count(*) FROM quarantine AS q \
      WHERE EXISTS (SELECT 1 FROM line AS l WHERE l.serial = q.serial)
      """)
  }

  /// The envelope's own id, if that can be read; else one that carries its number and its time, and
  /// zeros for what is lost.
  private func readableID(of serial: Serial) throws(StoreError) -> EnvelopeID {
    if !exceptions.unidentified.contains(serial) {
      let id = try part(.identity(serial)) { () throws(StoreError) -> EnvelopeID? in
        sql.findIdentity.bind(1, serial)
        defer { sql.findIdentity.reset() }
        return try sql.findIdentity.step() ? RowRules.id(sql.findIdentity.bytes(0)) : nil
      }
      if let id { return id }
    }
    let acceptedAt = try connection.number("SELECT accepted_at FROM line WHERE serial = \(serial)")
    return EnvelopeID(
      serial: serial, acceptedAt: WallTime(millisecondsSinceEpoch: acceptedAt), random: 0)
  }
}
