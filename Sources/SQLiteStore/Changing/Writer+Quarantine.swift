import RelayCore

// Envelopes that cannot be read, and changes that cannot be written because of damage.
extension Writer {
  /// Records the id under which an unreadable envelope is shown, and the reason that it stands.
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

  /// The same for a change that blocks it because of damage; does nothing for any other change.
  func quarantine(_ transition: Transition, reason: String) throws(StoreError) {
    guard transition.isQuarantine else { return }
    try quarantine(transition.serial, at: transition.at, reason: reason)
  }

  /// Notes an end, since an ended envelope stands in nobody's way.
  func noteEnd(of transition: Transition) throws(StoreError) {
    if state.damage.quarantined > 0 { try countQuarantined() }
    // Envelopes behind it that waited to be moved need not wait for it.
    if state.unmovable.contains(transition.serial) { state.flowing.insert(transition.lane) }
  }

  /// Ends the quarantine of an envelope: it is tried again, has got other content, or is gone.
  func releaseFromQuarantine(_ serial: Serial) throws(StoreError) {
    guard state.quarantineRows > 0 else { return }
    sql.release.bind(1, serial)
    try sql.release.run()
    try countQuarantined()
  }

  /// Counts the quarantined envelopes, and those of them that wait.
  ///
  /// It uses single look-ups: the other way round, SQLite would scan the whole line.
  func countQuarantined() throws(StoreError) {
    state.quarantineRows = try connection.number("SELECT count(*) FROM quarantine")
    state.damage.quarantined = try connection.number(
      """
      SELECT count(*) FROM quarantine AS q \
      WHERE EXISTS (SELECT 1 FROM line AS l WHERE l.serial = q.serial)
      """)
  }

  /// The envelope's own id, if it can be read; else one made of its number and its time, with zeros
  /// for the rest.
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
