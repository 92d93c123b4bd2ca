import RelayCore

// Posts that take the place of what waits, so that only the latest content of a name is sent.
extension Writer {
  /// What the former post has left in an envelope's rows.
  private struct Former {
    var id: EnvelopeID
    var key: String?
    var fingerprint: [UInt8]
    var notBefore: WallTime?
    var revision: Int64
    var entry: LineEntry
  }

  /// Puts a draft in the place of the last envelope of its name, if that one waits and nothing of
  /// it is under way.
  ///
  /// One that is damaged is nobody's to be replaced.
  ///
  /// - Returns: nil if there is none: a new envelope follows.
  func coalesce(
    _ draft: EnvelopeDraft, in lane: Lane?, into receipt: inout Receipt
  ) throws(StoreError) -> AppendResult? {
    guard let name = draft.coalesce, let lane else { return nil }
    let step = Exceptions.Name(lane: lane.number, name: name)
    guard !exceptions.names.contains(step) else { return nil }
    return try part(.coalescing(step)) { () throws(StoreError) in
      try coalesce(draft, name, in: lane, into: &receipt)
    }
  }

  private func coalesce(
    _ draft: EnvelopeDraft, _ name: String, in lane: Lane, into receipt: inout Receipt
  ) throws(StoreError) -> AppendResult? {
    guard let serial = try lastOne(of: name, in: lane),
      let former = try former(serial, in: lane), !former.entry.isInDoubt,
      reserve(serial, in: lane.number, receipt)
    else { return nil }
    let upstream = try upstreamNumber(draft.upstream)
    let (entry, keepsBackoff) = former.entry.replaced(
      by: draft, to: upstream, formerNotBefore: former.notBefore)
    let edit = EnvelopeEdit(
      content: draft.content, tag: draft.tag, entry: entry, notBefore: draft.notBefore,
      references: draft.references)
    let revision = former.revision + 1
    // First, since the new key counts in the checksum of the new content.
    try renewKey(of: former, by: draft, revision: revision)
    try apply(edit, into: &receipt)
    move(from: former.entry.standing, to: entry.standing)
    log(EventEntry(coalesced: entry))
    receipt.note(
      CoalescedEnvelope(
        entry: entry, id: former.id, draft: draft, revision: revision,
        formerUpstream: former.entry.upstream, keepsBackoff: keepsBackoff))
    return .coalesced(id: former.id, state: entry.standing.state, position: nil)
  }

  /// Notes that an envelope is the last one of its name.
  func indexForCoalescing(_ draft: EnvelopeDraft, _ entry: LineEntry) throws(StoreError) {
    guard let name = draft.coalesce else { return }
    sql.coalescing.index.bind(1, entry.lane.rawValue)
    sql.coalescing.index.bind(2, name)
    sql.coalescing.index.bind(3, entry.serial)
    try sql.coalescing.index.run()
  }

  /// Forgets what belonged to an envelope's name and to its former contents.
  func forgetCoalescing(
    of serial: Serial, client: Int64, lane: LaneNumber, name: String?, revision: Int64
  ) throws(StoreError) {
    if let name {
      sql.coalescing.forgetIndex.bind(1, lane.rawValue)
      sql.coalescing.forgetIndex.bind(2, name)
      sql.coalescing.forgetIndex.bind(3, serial)
      try sql.coalescing.forgetIndex.run()
    }
    if revision > 0 { try forgetKeys(of: serial, through: revision, client: client) }
  }

  private func lastOne(of name: String, in lane: Lane) throws(StoreError) -> Serial? {
    sql.coalescing.find.bind(1, lane.number.rawValue)
    sql.coalescing.find.bind(2, name)
    guard try sql.coalescing.find.step() else { return nil }
    defer { sql.coalescing.find.reset() }
    return sql.coalescing.find.int(0)
  }

  /// How the envelope stands; nil if it waits no longer.
  private func former(_ serial: Serial, in lane: Lane) throws(StoreError) -> Former? {
    guard let entry = try entry(serial, in: lane, from: sql.coalescing.place) else { return nil }
    return try former(entry, from: sql.coalescing.envelope)
  }

  private func entry(
    _ serial: Serial, in lane: Lane, from row: borrowing Statement
  ) throws(StoreError) -> LineEntry? {
    row.bind(1, serial)
    guard try row.step() else { return nil }
    defer { row.reset() }
    return LineEntry(
      serial: serial, client: lane.client, lane: lane.number,
      upstream: UpstreamNumber(rawValue: Int32(truncatingIfNeeded: row.int(0))),
      acceptedAt: WallTime(millisecondsSinceEpoch: row.int(1)),
      expiresAt: WallTime(millisecondsSinceEpoch: row.int(2)),
      standing: try Standing(code: row.int(3)), onFailure: FailurePolicy(code: row.int(4)),
      dueAt: WallTime(row.optionalInt(5)), attempts: Int32(truncatingIfNeeded: row.int(6)),
      isInDoubt: row.int(7) != 0)
  }

  private func former(
    _ entry: LineEntry, from row: borrowing Statement
  ) throws(StoreError) -> Former {
    row.bind(1, entry.serial)
    guard try row.step() else { throw .invalidRow("a place without its envelope") }
    defer { row.reset() }
    return Former(
      id: try EnvelopeID(stored: row.bytes(0)), key: row.text(1), fingerprint: row.bytes(2),
      notBefore: WallTime(row.optionalInt(3)), revision: row.int(4), entry: entry)
  }

  /// Whether nothing of an envelope is under way, and nothing will be until this transaction's end.
  private func reserve(_ serial: Serial, in lane: LaneNumber, _ receipt: Receipt) -> Bool {
    // What this very transaction has stored or reserved nobody else has seen yet.
    if reservations.envelopes[serial] != nil || receipt.hasAccepted(serial) { return true }
    guard let observer, observer.reserve(serial, in: lane) else { return false }
    reservations.envelopes[serial] = lane
    return true
  }

  // MARK: - Keys

  /// The former post's key goes on standing for this envelope, beside the new one's.
  private func renewKey(
    of former: Former, by draft: EnvelopeDraft, revision: Int64
  ) throws(StoreError) {
    let serial = former.entry.serial
    if let key = former.key {
      sql.coalescing.keepFingerprint.bind(1, former.fingerprint)
      sql.coalescing.keepFingerprint.bind(2, former.entry.client.rawValue)
      sql.coalescing.keepFingerprint.bind(3, key)
      try sql.coalescing.keepFingerprint.run()
      sql.coalescing.keepKey.bind(1, serial)
      sql.coalescing.keepKey.bind(2, former.revision)
      sql.coalescing.keepKey.bind(3, key)
      try sql.coalescing.keepKey.run()
    }
    sql.coalescing.renew.bind(1, draft.key)
    sql.coalescing.renew.bind(2, draft.fingerprint)
    sql.coalescing.renew.bind(3, revision)
    sql.coalescing.renew.bind(4, serial)
    try sql.coalescing.renew.run()
    if let key = draft.key { try insertKey(key, of: former.entry.client, serial) }
    let excess = revision - Int64(StoreLimits.coalescedKeysKeptMax)
    if excess >= 0 {
      try forgetKeys(of: serial, through: excess, client: former.entry.client.rawValue)
    }
  }

  private func forgetKeys(
    of serial: Serial, through revision: Int64, client: Int64
  ) throws(StoreError) {
    var keys: [String] = []
    sql.coalescing.keysThrough.bind(1, serial)
    sql.coalescing.keysThrough.bind(2, revision)
    while try sql.coalescing.keysThrough.step() {
      if let key = sql.coalescing.keysThrough.text(0) { keys.append(key) }
    }
    for key in keys {
      sql.deleteKey.bind(1, client)
      sql.deleteKey.bind(2, key)
      try sql.deleteKey.run()
    }
    guard !keys.isEmpty else { return }
    sql.coalescing.forgetKeys.bind(1, serial)
    sql.coalescing.forgetKeys.bind(2, revision)
    try sql.coalescing.forgetKeys.run()
  }
}
