import RelayCore

extension Reader {
  /// Everything that is known of one envelope, or that is left of it.
  func envelope(_ id: EnvelopeID) throws(StoreError) -> EnvelopeRecord? {
    do throws(StoreError) {
      // Not `??`, whose right side cannot throw a StoreError.
      if let record = try wholeEnvelope(id) { return record }
    } catch {
      guard error.kind == .corrupt, let left = try quarantined(id) else { throw error }
      return left
    }
    return try quarantined(id)
  }

  private func wholeEnvelope(_ id: EnvelopeID) throws(StoreError) -> EnvelopeRecord? {
    try snapshot { () throws(StoreError) -> EnvelopeRecord? in
      guard let serial = try serial(of: id), var record = try recordOfDraft(id, serial) else {
        return nil
      }
      // What was set apart for that is nobody's to correct, or to take for what was posted.
      if !isAsAccepted(record), let left = try quarantined(id) { return left }
      record.attempts = try attempts(of: serial)
      record.responseStatus = try responseStatus(of: serial)
      if try readPlace(of: serial, into: &record) {
        if record.state == .parked, let number = record.draft.sequence {
          record.missing = try missing(in: record.lane).before(number)
        }
        return record
      }
      guard try readEnd(of: serial, into: &record) else {
        throw .invalidRow("an envelope without a state")
      }
      return record
    }
  }

  private func isAsAccepted(_ record: EnvelopeRecord) -> Bool {
    guard let checksum = record.checksum else { return true }
    let (draft, entry) = (record.draft, record.entry)
    return checksum
      == draft.content.checksum(
        of: record.id, client: entry.client, lane: entry.lane, upstream: entry.upstream,
        key: draft.key, references: draft.references)
  }

  private func recordOfDraft(
    _ id: EnvelopeID, _ serial: Serial
  ) throws(StoreError) -> EnvelopeRecord? {
    sql.envelope.bind(1, serial)
    guard try sql.envelope.step() else { return nil }
    defer { sql.envelope.reset() }
    let body: EnvelopeBody =
      sql.envelope.isNull(15) ? .file(try bodyFile(of: serial)) : .inline(sql.envelope.bytes(15))
    let content = EnvelopeContent(
      method: sql.envelope.text(12) ?? "", target: sql.envelope.bytes(13),
      headers: try HeaderBlock(trusted: sql.envelope.bytes(14)), body: body)
    let draft = EnvelopeDraft(
      client: sql.envelope.text(1) ?? "", lane: sql.envelope.text(2) ?? "",
      upstream: sql.envelope.text(3) ?? "", content: content, key: sql.envelope.text(4),
      fingerprint: sql.envelope.bytes(5), sequence: sql.envelope.optionalInt(6),
      tag: sql.envelope.text(7), hold: sql.envelope.int(8) != 0,
      notBefore: WallTime(sql.envelope.optionalInt(9)),
      expiresAt: WallTime(millisecondsSinceEpoch: sql.envelope.int(10)),
      onFailure: FailurePolicy(code: sql.envelope.int(11)),
      references: sql.envelope.int(19) != 0, coalesce: sql.envelope.text(20))
    let entry = LineEntry(
      serial: serial, client: ClientNumber(rawValue: sql.envelope.int(17)),
      lane: LaneNumber(rawValue: sql.envelope.int(16)),
      upstream: UpstreamNumber(rawValue: Int32(truncatingIfNeeded: sql.envelope.int(18))),
      acceptedAt: id.acceptedAt, expiresAt: draft.expiresAt, onFailure: draft.onFailure)
    var record = EnvelopeRecord(
      id: id, draft: draft, state: .queued, reason: nil, entry: entry, endedAt: nil,
      attemptCount: 0, attempts: [], responseStatus: nil)
    record.revision = sql.envelope.int(21)
    record.checksum = sql.envelope.optionalInt(22)
    return record
  }

  func readPlace(
    of serial: Serial, into record: inout EnvelopeRecord
  ) throws(StoreError) -> Bool {
    sql.place.bind(1, serial)
    guard try sql.place.step() else { return false }
    defer { sql.place.reset() }
    record.entry.standing = try Standing(code: sql.place.int(0))
    record.state = record.entry.standing.state
    record.entry.dueAt = WallTime(sql.place.optionalInt(1))
    record.entry.attempts = Int32(truncatingIfNeeded: sql.place.int(2))
    record.attemptCount = Int32(truncatingIfNeeded: sql.place.int(2))
    record.reason = sql.place.text(3)
    record.entry.isInDoubt = sql.place.int(4) != 0
    return true
  }

  func readEnd(
    of serial: Serial, into record: inout EnvelopeRecord
  ) throws(StoreError) -> Bool {
    sql.end.bind(1, serial)
    guard try sql.end.step() else { return false }
    defer { sql.end.reset() }
    record.state = try EnvelopeState(endCode: sql.end.int(0))
    record.endedAt = WallTime(millisecondsSinceEpoch: sql.end.int(1))
    record.attemptCount = Int32(truncatingIfNeeded: sql.end.int(2))
    record.entry.attempts = record.attemptCount
    record.reason = sql.end.text(3)
    record.entry.isInDoubt = sql.end.int(10) != 0
    guard let number = sql.end.optionalInt(4) else { return true }
    record.attempts.append(
      AttemptRecord(
        number: Int32(truncatingIfNeeded: number),
        startedAt: WallTime(millisecondsSinceEpoch: sql.end.int(5)),
        durationMs: sql.end.int(6), outcome: try Outcome(code: sql.end.int(7)),
        status: sql.end.optionalInt(8).map { Int($0) }, error: sql.end.text(9)))
    let excess = record.attempts.count - StoreLimits.attemptsKeptMax
    if excess > 0 { record.attempts.removeFirst(excess) }
    return true
  }

  private func attempts(of serial: Serial) throws(StoreError) -> [AttemptRecord] {
    var result: [AttemptRecord] = []
    sql.attempts.bind(1, serial)
    while try sql.attempts.step() {
      result.append(
        AttemptRecord(
          number: Int32(truncatingIfNeeded: sql.attempts.int(0)),
          startedAt: WallTime(millisecondsSinceEpoch: sql.attempts.int(1)),
          durationMs: sql.attempts.int(2), outcome: try Outcome(code: sql.attempts.int(3)),
          status: sql.attempts.optionalInt(4).map { Int($0) }, error: sql.attempts.text(5)))
    }
    return result
  }

  func responseStatus(of serial: Serial) throws(StoreError) -> Int? {
    sql.responseStatus.bind(1, serial)
    guard try sql.responseStatus.step() else { return nil }
    defer { sql.responseStatus.reset() }
    return Int(sql.responseStatus.int(0))
  }

  /// The answer that was kept for an envelope.
  func response(_ id: EnvelopeID) throws(StoreError) -> UpstreamResponse? {
    try snapshot { () throws(StoreError) -> UpstreamResponse? in
      guard let serial = try serial(of: id) else { return nil }
      return try keptResponse(of: serial)
    }
  }

  /// The answer that was kept for an envelope of this number.
  func keptResponse(of serial: Serial) throws(StoreError) -> UpstreamResponse? {
    sql.response.bind(1, serial)
    guard try sql.response.step() else { return nil }
    defer { sql.response.reset() }
    return UpstreamResponse(
      status: Int(sql.response.int(0)),
      headers: try HeaderBlock(trusted: sql.response.bytes(2)), body: sql.response.bytes(3),
      isTruncated: sql.response.int(1) != 0)
  }

  /// The id under which a client's key was stored.
  func envelope(client: String, key: String) throws(StoreError) -> EnvelopeID? {
    sql.findKey.bind(1, key)
    sql.findKey.bind(2, client)
    guard try sql.findKey.step() else { return nil }
    defer { sql.findKey.reset() }
    return try EnvelopeID(stored: sql.findKey.bytes(0))
  }
}
