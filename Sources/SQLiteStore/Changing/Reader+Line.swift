import RelayCore

extension Reader {
  /// A page of the line, after `serial`.
  func line(after serial: Serial, countMax: Int) throws(StoreError) -> LinePage {
    try snapshot { () throws(StoreError) -> LinePage in
      var entries: [LineEntry] = []
      entries.reserveCapacity(min(countMax, 4096))
      sql.line.bind(1, serial)
      sql.line.bind(2, Int64(countMax))
      var use: [ClientNumber: WaitingUse] = [:]
      while try sql.line.step() {
        let entry = try lineEntry(sql.line)
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
      var entries: [LineEntry] = []
      entries.reserveCapacity(min(countMax, 4096))
      sql.lineBackwards.bind(1, serial)
      sql.lineBackwards.bind(2, Int64(countMax))
      while try sql.lineBackwards.step() { entries.append(try lineEntry(sql.lineBackwards)) }
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
        sql.lineAt.bind(1, serial)
        guard try sql.lineAt.step() else { continue }
        defer { sql.lineAt.reset() }
        entries.append(try lineEntry(sql.lineAt))
      }
      return entries
    }
  }

  private func lineEntry(_ row: borrowing Statement) throws(StoreError) -> LineEntry {
    LineEntry(
      serial: row.int(0), client: ClientNumber(rawValue: row.int(1)),
      lane: LaneNumber(rawValue: row.int(2)),
      upstream: UpstreamNumber(rawValue: Int32(truncatingIfNeeded: row.int(3))),
      acceptedAt: WallTime(millisecondsSinceEpoch: row.int(4)),
      expiresAt: WallTime(millisecondsSinceEpoch: row.int(5)),
      standing: try Standing(code: row.int(6)),
      onFailure: FailurePolicy(code: row.int(7)), dueAt: WallTime(row.optionalInt(9)),
      attempts: Int32(truncatingIfNeeded: row.int(8)), isInDoubt: row.int(10) != 0)
  }

  /// The greatest number ever given out.
  func lastSerial() throws(StoreError) -> Serial {
    guard try sql.lastSerial.step() else { throw .invalidRow("no ledger") }
    defer { sql.lastSerial.reset() }
    return sql.lastSerial.int(0)
  }

  /// The content for attempts of these envelopes; those that do not wait are left out.
  func load(_ serials: [Serial]) throws(StoreError) -> [DeliverableEnvelope] {
    try snapshot { () throws(StoreError) -> [DeliverableEnvelope] in
      var result: [DeliverableEnvelope] = []
      result.reserveCapacity(serials.count)
      for serial in serials {
        sql.load.bind(1, serial)
        guard try sql.load.step() else {
          guard try !waits(serial) else { throw .invalidRow("a place without its envelope") }
          continue
        }
        defer { sql.load.reset() }
        let body: EnvelopeBody =
          sql.load.isNull(6) ? .file(try wholeBodyFile(of: serial)) : .inline(sql.load.bytes(6))
        let content = EnvelopeContent(
          method: sql.load.text(3) ?? "", target: sql.load.bytes(4),
          headers: try HeaderBlock(trusted: sql.load.bytes(5)), body: body)
        let envelope = DeliverableEnvelope(
          serial: serial, id: try EnvelopeID(stored: sql.load.bytes(0)),
          client: sql.load.text(1) ?? "", key: sql.load.text(2), content: content,
          references: sql.load.int(7) != 0, revision: sql.load.int(8))
        guard isAsAccepted(envelope) else { throw .changed("an envelope") }
        result.append(envelope)
      }
      return result
    }
  }

  /// Whether the loaded row is what was accepted, as far as can be told.
  private func isAsAccepted(_ envelope: DeliverableEnvelope) -> Bool {
    guard let checksum = sql.load.optionalInt(12) else { return true }
    return checksum
      == envelope.content.checksum(
        of: envelope.id, client: ClientNumber(rawValue: sql.load.int(9)),
        lane: LaneNumber(rawValue: sql.load.int(10)),
        upstream: UpstreamNumber(rawValue: Int32(truncatingIfNeeded: sql.load.int(11))),
        key: envelope.key, references: envelope.references)
  }

  private func waits(_ serial: Serial) throws(StoreError) -> Bool {
    sql.place.bind(1, serial)
    defer { sql.place.reset() }
    return try sql.place.step()
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
    sql.bodyFile.bind(1, serial)
    guard try sql.bodyFile.step() else { throw .invalidRow("an envelope without a body") }
    defer { sql.bodyFile.reset() }
    let name = sql.bodyFile.text(0) ?? ""
    return StoredBodyFile(
      path: bodies.readablePath(of: name), byteCount: sql.bodyFile.int(1),
      checksum: sql.bodyFile.optionalInt(2))
  }
}
