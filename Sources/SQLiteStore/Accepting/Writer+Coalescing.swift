import RelayCore
import SQLite

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
      guard let serial = try sql.coalescing.find.first(lane.number, name, read: { $0.int(0) }),
        let entry = try entry(serial, in: lane)
      else { return nil }
      return try sql.coalescing.envelope.one(serial, or: "a place without its envelope") {
        row throws(StoreError) in
        WaitingPost(
          id: try row.id(0), key: row.text(1), fingerprint: row.bytes(2),
          notBefore: row.optionalTime(3), revision: row.int(4), entry: entry)
      }
    }
  }

  /// Whether nothing of an envelope is under way, and nothing will be until this transaction's end.
  func reserve(_ serial: Serial, in lane: LaneNumber) -> Bool {
    // What this very transaction has stored or reserved nobody else has seen yet.
    if reservations.envelopes[serial] != nil || serial > committed.ledger.lastSerial { return true }
    // The observer can only speak of what it was told of.
    shared.sync.awaitTold()
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
    try sql.coalescing.index.run(entry.lane, name, entry.serial)
  }

  /// Forgets what belonged to an envelope's name and to its former contents.
  func forgetCoalescing(
    of serial: Serial, client: Int64, lane: LaneNumber, name: String?, revision: Int64
  ) throws(StoreError) {
    if let name {
      try sql.coalescing.forgetIndex.run(lane, name, serial)
    }
    if revision > 0 { try forgetKeys(of: serial, through: revision, client: client) }
  }

  private func entry(_ serial: Serial, in lane: KnownLane) throws(StoreError) -> LineEntry? {
    try sql.coalescing.place.first(serial) { row throws(StoreError) in
      LineEntry(
        serial: serial, client: lane.client, lane: lane.number, upstream: row.upstream(0),
        acceptedAt: row.time(1), expiresAt: row.time(2), standing: try row.standing(3),
        onFailure: row.failurePolicy(4), dueAt: row.optionalTime(5), attempts: row.int32(6),
        isInDoubt: row.bool(7))
    }
  }

  // MARK: - Keys

  /// The former post's key goes on standing for this envelope, beside the new one's.
  private func renewKey(by draft: EnvelopeDraft, _ plan: ReplacePlan) throws(StoreError) {
    let former = plan.former
    let serial = former.entry.serial
    if let key = former.key {
      try sql.coalescing.keepFingerprint.run(former.fingerprint, former.entry.client, key)
      try sql.coalescing.keepKey.run(serial, former.revision, key)
    }
    try sql.coalescing.renew.run(draft.key, draft.fingerprint, plan.revision, serial)
    if let key = draft.key { try sql.insertKey.run(former.entry.client, key, serial) }
    if let revision = plan.forgottenKeys {
      try forgetKeys(of: serial, through: revision, client: former.entry.client.rawValue)
    }
  }

  private func forgetKeys(
    of serial: Serial, through revision: Int64, client: Int64
  ) throws(StoreError) {
    let keys = try sql.coalescing.keysThrough.rows(serial, revision) { $0.text(0) }
    for key in keys { try sql.deleteKey.run(client, key) }
    guard !keys.isEmpty else { return }
    try sql.coalescing.forgetKeys.run(serial, revision)
  }
}
