import RelayCore
import SQLite

extension Reader {
  /// A page of the line, after `serial`.
  func line(after serial: Serial, countMax: Int) throws(StoreError) -> LinePage {
    try snapshot { () throws(StoreError) -> LinePage in
      var entries: [LineEntry] = []
      entries.reserveCapacity(min(countMax, 4096))
      sql.line.set(serial, countMax)
      var use: [ClientNumber: WaitingUse] = [:]
      while try sql.line.step() {
        let entry = try LineEntry(sql.line)
        use[entry.client, default: WaitingUse()] += WaitingUse(count: 1, bytes: sql.line.int(11))
        entries.append(entry)
      }
      if entries.count == countMax, let last = entries.last {
        return LinePage(entries: entries, scannedThrough: last.serial, hasMore: true, use: use)
      }
      return LinePage(
        entries: entries, scannedThrough: max(serial, try lastSerial()), hasMore: false, use: use)
    }
  }

  /// A page of the line backwards, before `serial`.
  func line(before serial: Serial, countMax: Int) throws(StoreError) -> LinePage {
    try snapshot { () throws(StoreError) -> LinePage in
      let entries = try sql.lineBackwards.rows(serial, countMax, read: LineEntry.init(_:))
      let isFull = entries.count == countMax
      return LinePage(
        entries: entries, scannedThrough: isFull ? entries.last?.serial ?? 0 : 0, hasMore: isFull)
    }
  }

  /// The places of these numbers.
  func line(at serials: [Serial]) throws(StoreError) -> [LineEntry] {
    try snapshot { () throws(StoreError) -> [LineEntry] in
      var entries: [LineEntry] = []
      entries.reserveCapacity(serials.count)
      for serial in serials {
        let entry = try sql.lineAt.first(serial, read: LineEntry.init(_:))
        if let entry { entries.append(entry) }
      }
      return entries
    }
  }

  /// The greatest number ever given out.
  func lastSerial() throws(StoreError) -> Serial {
    try sql.lastSerial.one(or: "no ledger") { $0.int(0) }
  }

  /// The content for attempts of these envelopes; those that do not wait are left out.
  func load(_ serials: [Serial]) throws(StoreError) -> [DeliverableEnvelope] {
    try snapshot { () throws(StoreError) -> [DeliverableEnvelope] in
      var result: [DeliverableEnvelope] = []
      result.reserveCapacity(serials.count)
      for serial in serials {
        sql.load.set(serial)
        guard try sql.load.step() else {
          guard try !sql.place.hasRow(serial) else {
            throw .invalidRow("a place without its envelope")
          }
          continue
        }
        defer { sql.load.reset() }
        let body: EnvelopeBody =
          sql.load.isNull(6) ? .file(try wholeBodyFile(of: serial)) : .inline(sql.load.bytes(6))
        let content = EnvelopeContent(
          method: sql.load.text(3) ?? "", target: sql.load.bytes(4),
          headers: try sql.load.headers(5), body: body)
        let envelope = DeliverableEnvelope(
          serial: serial, id: try sql.load.id(0),
          client: sql.load.text(1) ?? "", key: sql.load.text(2), content: content,
          references: sql.load.bool(7), revision: sql.load.int(8),
          evidence: try readableMark(of: serial))
        guard isAsAccepted(envelope) else { throw .changed("an envelope") }
        result.append(envelope)
      }
      return result
    }
  }

  /// What the upstream is told of an envelope; nil where that cannot be read, which is no reason to
  /// keep the envelope itself back.
  private func readableMark(of serial: Serial) throws(StoreError) -> EvidenceMark? {
    do throws(StoreError) {
      return try laneLedger.mark(of: serial)
    } catch  where error.kind == .corrupt {
      return nil
    }
  }

  /// What the senders of these envelopes said of them; those that do not wait are left out.
  func terms(of serials: [Serial]) throws(StoreError) -> [Serial: SenderTerms] {
    try snapshot { () throws(StoreError) -> [Serial: SenderTerms] in
      var terms: [Serial: SenderTerms] = [:]
      for serial in serials {
        terms[serial] = try sql.terms.first(serial) { row in
          SenderTerms(
            lane: row.text(0) ?? "", sequence: row.optionalInt(1), tag: row.text(2),
            coalesce: row.text(3))
        }
      }
      return terms
    }
  }

  /// Whether the loaded row is what was accepted, as far as can be told.
  private func isAsAccepted(_ envelope: DeliverableEnvelope) -> Bool {
    guard let checksum = sql.load.optionalInt(12) else { return true }
    return checksum
      == envelope.content.checksum(
        of: envelope.id, client: sql.load.client(9), lane: sql.load.lane(10),
        upstream: sql.load.upstream(11), key: envelope.key, references: envelope.references)
  }

  /// The file with the body of an envelope that is to be sent; it must exist.
  private func wholeBodyFile(of serial: Serial) throws(StoreError) -> StoredBodyFile {
    let file = try bodyFile(of: serial)
    // A file that cannot be looked up is not lost: only a missing one is, or one of another size.
    let bytes = try DataFolder.sizeIfThere(ofFile: file.path)
    guard bytes == file.byteCount else {
      throw .invalidRow(
        "a body of \(bytes ?? 0) bytes that had \(file.byteCount), in \(file.path)")
    }
    return file
  }

  /// The file with an envelope's body.
  func bodyFile(of serial: Serial) throws(StoreError) -> StoredBodyFile {
    try sql.bodyFile.one(serial, or: "an envelope without a body") { row in
      StoredBodyFile(
        path: bodies.readablePath(of: row.text(0) ?? ""), byteCount: row.int(1),
        checksum: row.optionalInt(2))
    }
  }
}

extension LineEntry {
  /// The place in the present row, in the order of ``ReaderStatements/lineColumns``.
  fileprivate init(_ row: borrowing Statement) throws(StoreError) {
    self.init(
      serial: row.int(0), client: row.client(1), lane: row.lane(2), upstream: row.upstream(3),
      acceptedAt: row.time(4), expiresAt: row.time(5), standing: try row.standing(6),
      onFailure: row.failurePolicy(7), dueAt: row.optionalTime(9), attempts: row.int32(8),
      isInDoubt: row.bool(10))
  }
}
