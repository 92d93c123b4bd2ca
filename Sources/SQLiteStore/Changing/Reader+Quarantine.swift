import RelayCore

// Envelopes whose own row cannot be read are shown by what the line still has of them, so that
// somebody can see them and give them up.
extension Reader {
  /// The method shown for an envelope that cannot be read.
  static let unreadableMethod = "UNKNOWN"

  /// The id under which an envelope is quarantined; nil if it is not.
  func quarantinedID(of serial: Serial) throws(StoreError) -> EnvelopeID? {
    quarantine.id.bind(1, serial)
    guard try quarantine.id.step() else { return nil }
    defer { quarantine.id.reset() }
    return try EnvelopeID(stored: quarantine.id.bytes(0))
  }

  /// The rest of a quarantined envelope whose row cannot be read; nil if there is none of this id,
  /// or none any more.
  func quarantined(_ id: EnvelopeID) throws(StoreError) -> EnvelopeRecord? {
    let serial = try present(id.serial)
    guard try quarantinedID(of: serial) == id else { return nil }
    let row = quarantine
    row.place.bind(1, serial)
    guard try row.place.step() else { return nil }
    defer { row.place.reset() }
    let entry = LineEntry(
      serial: serial, client: ClientNumber(rawValue: row.place.int(1)),
      lane: LaneNumber(rawValue: row.place.int(3)),
      upstream: UpstreamNumber(rawValue: Int32(truncatingIfNeeded: row.place.int(5))),
      acceptedAt: WallTime(millisecondsSinceEpoch: row.place.int(7)),
      expiresAt: WallTime(millisecondsSinceEpoch: row.place.int(8)),
      onFailure: FailurePolicy(code: row.place.int(9)))
    let draft = EnvelopeDraft(
      client: row.place.text(2) ?? "", lane: row.place.text(4) ?? "",
      upstream: row.place.text(6) ?? "",
      content: EnvelopeContent(
        method: Self.unreadableMethod, target: Array("/".utf8), headers: HeaderBlock(),
        body: .inline([])),
      key: nil, fingerprint: [], sequence: nil, tag: nil, hold: false, notBefore: nil,
      expiresAt: entry.expiresAt, onFailure: entry.onFailure)
    var record = EnvelopeRecord(
      id: id, draft: draft, state: .blocked, reason: row.place.text(0), entry: entry, endedAt: nil,
      attemptCount: 0, attempts: [], responseStatus: nil)
    record.isUnreadable = true
    if try readPlace(of: serial, into: &record) { return record }
    return try readEnd(of: serial, into: &record) ? record : nil
  }
}
