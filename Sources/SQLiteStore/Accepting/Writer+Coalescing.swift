import RelayCore

// Posts that take the place of what waits, so that only the latest content of a name is sent.
extension Writer {
  /// The last envelope of a name, as it waits.
  ///
  /// One that is damaged is nobody's to be replaced.
  func waitingPost(
    ofName name: String, in lane: KnownLane
  ) throws(StoreError) -> WaitingPost? {
    let step = Exceptions.Name(lane: lane.number, name: name)
    guard !exceptions.names.contains(step) else { return nil }
    return try part(.coalescing(step)) { () throws(StoreError) -> WaitingPost? in
      guard let serial = try lastOne(of: name, in: lane),
        let entry = try entry(serial, in: lane, from: sql.coalescing.place)
      else { return nil }
      return try waitingPost(entry, from: sql.coalescing.envelope)
    }
  }

  /// Whether nothing of an envelope is under way, and nothing will be until this transaction's end.
  func reserve(_ serial: Serial, in lane: LaneNumber) -> Bool {
    // What this very transaction has stored or reserved nobody else has seen yet.
    if reservations.envelopes[serial] != nil || serial > committed.ledger.lastSerial { return true }
    guard let observer, observer.reserve(serial, in: lane) else { return false }
    reservations.envelopes[serial] = lane
    return true
  }

  /// Puts a draft in the place of an envelope that waits.
  func carryOut(
    _ plan: ReplacePlan, of draft: EnvelopeDraft, into receipt: inout Receipt
  ) throws(StoreError) {
    guard let name = draft.coalesce else { preconditionFailure("only a name coalesces") }
    let entry = plan.edit.entry
    try part(.coalescing(Exceptions.Name(lane: entry.lane, name: name))) {
      () throws(StoreError) in
      // First, since the new key counts in the checksum of the new content.
      try renewKey(by: draft, plan)
      try apply(plan.edit, into: &receipt)
    }
    move(from: plan.former.entry.standing, to: entry.standing)
    log(EventEntry(coalesced: entry))
    receipt.note(plan.told(of: draft))
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

  private func lastOne(of name: String, in lane: KnownLane) throws(StoreError) -> Serial? {
    sql.coalescing.find.bind(1, lane.number.rawValue)
    sql.coalescing.find.bind(2, name)
    guard try sql.coalescing.find.step() else { return nil }
    defer { sql.coalescing.find.reset() }
    return sql.coalescing.find.int(0)
  }

  private func entry(
    _ serial: Serial, in lane: KnownLane, from row: borrowing Statement
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

  private func waitingPost(
    _ entry: LineEntry, from row: borrowing Statement
  ) throws(StoreError) -> WaitingPost {
    row.bind(1, entry.serial)
    guard try row.step() else { throw .invalidRow("a place without its envelope") }
    defer { row.reset() }
    return WaitingPost(
      id: try EnvelopeID(stored: row.bytes(0)), key: row.text(1), fingerprint: row.bytes(2),
      notBefore: WallTime(row.optionalInt(3)), revision: row.int(4), entry: entry)
  }

  // MARK: - Keys

  /// The former post's key goes on standing for this envelope, beside the new one's.
  private func renewKey(by draft: EnvelopeDraft, _ plan: ReplacePlan) throws(StoreError) {
    let former = plan.former
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
    sql.coalescing.renew.bind(3, plan.revision)
    sql.coalescing.renew.bind(4, serial)
    try sql.coalescing.renew.run()
    if let key = draft.key { try insertKey(key, of: former.entry.client, serial) }
    if let revision = plan.forgottenKeys {
      try forgetKeys(of: serial, through: revision, client: former.entry.client.rawValue)
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
