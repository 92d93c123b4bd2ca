import RelayCore
import SQLite

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
    try sql.envelope.first(serial) { row throws(StoreError) in
      let body: EnvelopeBody =
        row.isNull(15) ? .file(try bodyFile(of: serial)) : .inline(row.bytes(15))
      let content = EnvelopeContent(
        method: row.text(12) ?? "", target: row.bytes(13), headers: try row.headers(14), body: body)
      let draft = EnvelopeDraft(
        client: row.text(1) ?? "", lane: row.text(2) ?? "", upstream: row.text(3) ?? "",
        content: content, key: row.text(4), fingerprint: row.bytes(5),
        sequence: row.optionalInt(6), tag: row.text(7), hold: row.bool(8),
        notBefore: row.optionalTime(9), expiresAt: row.time(10), onFailure: row.failurePolicy(11),
        references: row.bool(19), coalesce: row.text(20), isVoid: false, isInOrder: false)
      let entry = LineEntry(
        serial: serial, client: row.client(17), lane: row.lane(16), upstream: row.upstream(18),
        acceptedAt: id.acceptedAt, expiresAt: draft.expiresAt, onFailure: draft.onFailure)
      var record = EnvelopeRecord(
        id: id, draft: draft, state: .queued, reason: nil, entry: entry, endedAt: nil,
        attemptCount: 0, attempts: [], responseStatus: nil)
      record.revision = row.int(21)
      record.checksum = row.optionalInt(22)
      return record
    }
  }

  /// Completes a record by the place of an envelope that waits; false if it does not.
  func readPlace(
    of serial: Serial, into record: inout EnvelopeRecord
  ) throws(StoreError) -> Bool {
    try sql.place.first(serial) { row throws(StoreError) in
      record.entry.standing = try row.standing(0)
      record.state = record.entry.standing.state
      record.entry.dueAt = row.optionalTime(1)
      record.entry.attempts = row.int32(2)
      record.attemptCount = row.int32(2)
      record.reason = row.text(3)
      record.entry.isInDoubt = row.bool(4)
      return true
    } ?? false
  }

  /// Completes a record by the end of an envelope; false if it has not ended.
  func readEnd(
    of serial: Serial, into record: inout EnvelopeRecord
  ) throws(StoreError) -> Bool {
    try sql.end.first(serial) { row throws(StoreError) in
      record.state = try row.end(0)
      record.endedAt = row.time(1)
      record.attemptCount = row.int32(2)
      record.entry.attempts = record.attemptCount
      record.reason = row.text(3)
      record.entry.isInDoubt = row.bool(10)
      guard !row.isNull(4) else { return true }
      record.attempts.append(try AttemptRecord(row, from: 4))
      let excess = record.attempts.count - StoreLimits.attemptsKeptMax
      if excess > 0 { record.attempts.removeFirst(excess) }
      return true
    } ?? false
  }

  private func attempts(of serial: Serial) throws(StoreError) -> [AttemptRecord] {
    try sql.attempts.rows(serial) { row throws(StoreError) in try AttemptRecord(row, from: 0) }
  }

  /// The status of the answer that was kept for an envelope.
  func responseStatus(of serial: Serial) throws(StoreError) -> Int? {
    try sql.responseStatus.first(serial) { Int($0.int(0)) }
  }

  /// The answer that was kept for an envelope of this number.
  func keptResponse(of serial: Serial) throws(StoreError) -> UpstreamResponse? {
    try sql.response.first(serial) { row throws(StoreError) in
      UpstreamResponse(
        status: Int(row.int(0)), headers: try row.headers(2), body: row.bytes(3),
        isTruncated: row.bool(1))
    }
  }

  /// The id under which a client's key was stored.
  func envelope(client: String, key: String) throws(StoreError) -> EnvelopeID? {
    try sql.findKey.first(key, client) { row throws(StoreError) in try row.id(0) }
  }
}

extension AttemptRecord {
  /// The attempt in six columns of the present row.
  fileprivate init(_ row: borrowing Statement, from column: Int32) throws(StoreError) {
    self.init(
      number: row.int32(column), startedAt: row.time(column + 1), durationMs: row.int(column + 2),
      outcome: try Outcome(code: row.int(column + 3)),
      status: row.optionalInt(column + 4).map { Int($0) }, error: row.text(column + 5))
  }
}
