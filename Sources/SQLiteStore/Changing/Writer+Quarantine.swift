import RelayCore
import SQLite

// Envelopes that cannot be read, and changes that cannot be written because of damage.
extension Writer {
  /// Records the id under which an unreadable envelope is shown, and the reason that it stands.
  func quarantine(_ serial: Serial, at time: WallTime, reason: String) throws(StoreError) {
    let id = try readableID(of: serial)
    try sql.quarantine.run(id, time, reason, serial)
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
    try sql.release.run(serial)
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
      let id = try part(.identity(serial)) { () throws(StoreError) -> EnvelopeID?? in
        try sql.findIdentity.first(serial) { RowRules.id($0.bytes(0)) }
      }
      if case let id?? = id { return id }
    }
    let acceptedAt = try connection.number("SELECT accepted_at FROM line WHERE serial = \(serial)")
    return EnvelopeID(
      serial: serial, acceptedAt: WallTime(millisecondsSinceEpoch: acceptedAt), random: 0)
  }
}

// Envelopes whose own row cannot be read are shown by what the line still has of them, so that
// somebody can see them and give them up.
extension Reader {
  /// The method shown for an envelope that cannot be read.
  static let unreadableMethod = "UNKNOWN"

  /// The id under which an envelope is quarantined; nil if it is not.
  func quarantinedID(of serial: Serial) throws(StoreError) -> EnvelopeID? {
    try quarantine.id.first(serial) { row throws(StoreError) in try row.id(0) }
  }

  /// The rest of a quarantined envelope whose row cannot be read; nil if there is none of this id,
  /// or none any more.
  func quarantined(_ id: EnvelopeID) throws(StoreError) -> EnvelopeRecord? {
    let serial = try present(id.serial)
    guard try quarantinedID(of: serial) == id,
      var record = try quarantine.place.first(
        serial, read: { EnvelopeRecord(unreadable: id, serial, $0) })
    else { return nil }
    if try readPlace(of: serial, into: &record) { return record }
    return try readEnd(of: serial, into: &record) ? record : nil
  }
}

extension EnvelopeRecord {
  /// What is left of an envelope in the present row of ``QuarantineStatements/place``.
  fileprivate init(unreadable id: EnvelopeID, _ serial: Serial, _ row: borrowing Statement) {
    let entry = LineEntry(
      serial: serial, client: row.client(1), lane: row.lane(3), upstream: row.upstream(5),
      acceptedAt: row.time(7), expiresAt: row.time(8), onFailure: row.failurePolicy(9))
    var draft = EnvelopeDraft(
      client: row.text(2) ?? "", lane: row.text(4) ?? "", upstream: row.text(6) ?? "",
      content: EnvelopeContent(
        method: Reader.unreadableMethod, target: Array("/".utf8), headers: HeaderBlock(),
        body: .inline([])),
      expiresAt: entry.expiresAt)
    draft.onFailure = entry.onFailure
    self.init(
      id: id, draft: draft, state: .blocked, reason: row.text(0), entry: entry, endedAt: nil,
      attemptCount: 0, attempts: [], responseStatus: nil)
    isUnreadable = true
  }
}
