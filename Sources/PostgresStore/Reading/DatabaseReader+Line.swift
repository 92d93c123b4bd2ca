#if PostgreSQL
import Postgres
import RelayCore

extension DatabaseReader {
  /// A page of the line, after a number.
  ///
  /// - Parameter lastSerial: The greatest number that had been given out before.
  func line(
    after serial: Serial, countMax: Int, lastSerial: Serial
  ) throws(StoreError) -> LinePage {
    let rows = try run([
      PostgresCommand(
        sql: """
          SELECT \(WaitingRow.columns) FROM line WHERE serial > $1 ORDER BY serial LIMIT $2
          """, [.int64(serial), .int64(Int64(countMax))])
    ])[0]
    var entries: [LineEntry] = []
    var use: [ClientNumber: WaitingUse] = [:]
    for row in 0..<rows.count {
      let place = try WaitingRow(rows, row)
      use[place.entry.client, default: WaitingUse()] += WaitingUse(count: 1, bytes: place.bytes)
      entries.append(place.entry)
    }
    let isFull = entries.count == countMax
    return LinePage(
      entries: entries,
      scannedThrough: isFull
        ? entries.last?.serial ?? serial : max(serial, lastSerial, entries.last?.serial ?? 0),
      hasMore: isFull, use: use)
  }

  /// A page of the line backwards, before a number.
  func line(before serial: Serial, countMax: Int) throws(StoreError) -> LinePage {
    let entries = try entries(
      PostgresCommand(
        sql: """
          SELECT \(WaitingRow.columns) FROM line WHERE serial < $1 ORDER BY serial DESC LIMIT $2
          """, [.int64(serial), .int64(Int64(countMax))]))
    let isFull = entries.count == countMax
    return LinePage(
      entries: entries, scannedThrough: isFull ? entries.last?.serial ?? 0 : 0, hasMore: isFull)
  }

  /// The places of these numbers, in their order; those that do not wait are left out.
  func line(at serials: [Serial]) throws(StoreError) -> [LineEntry] {
    let entries = try entries(
      PostgresCommand(
        sql: "SELECT \(WaitingRow.columns) FROM line WHERE serial = ANY($1)", [.int64s(serials)]))
    let places = Dictionary(uniqueKeysWithValues: entries.map { ($0.serial, $0) })
    return serials.compactMap { places[$0] }
  }

  private func entries(_ command: PostgresCommand) throws(StoreError) -> [LineEntry] {
    let rows = try run([command])[0]
    var entries: [LineEntry] = []
    for row in 0..<rows.count { entries.append(try WaitingRow(rows, row).entry) }
    return entries
  }

  /// The content for attempts; what does not wait is left out.
  func load(_ serials: [Serial]) throws(StoreError) -> [DeliverableEnvelope] {
    let rows = try run([
      PostgresCommand(
        sql: """
          SELECT envelope.serial, id, client.name, key, envelope.refers, revision, entry.sequence,
            digest, link, lane.name, method, target, headers, \(EnvelopeBody.columns)
          FROM line JOIN envelope ON envelope.serial = line.serial
          JOIN client ON client.number = line.client
          LEFT JOIN lane_ledger AS entry ON entry.serial = line.serial
          LEFT JOIN lane ON lane.number = entry.lane WHERE line.serial = ANY($1)
          """, [.int64s(serials)])
    ])[0]
    var found: [Serial: DeliverableEnvelope] = [:]
    for row in 0..<rows.count {
      let serial = rows.int64(row, 0)
      found[serial] = DeliverableEnvelope(
        serial: serial, id: try EnvelopeID(stored: rows.uuid(row, 1)), client: rows.text(row, 2),
        key: rows.textOrNil(row, 3), content: try EnvelopeContent(rows, row, from: 10),
        references: rows.bool(row, 4), revision: rows.int64(row, 5),
        evidence: Self.mark(rows, row, from: 6))
    }
    return serials.compactMap { found[$0] }
  }

  /// What the upstream is told of an envelope; nil if its lane has no ledger.
  private static func mark(
    _ rows: PostgresRows, _ row: Int, from first: Int
  ) -> EvidenceMark? {
    guard let number = rows.int64OrNil(row, first) else { return nil }
    return EvidenceMark(
      lane: rows.text(row, first + 3), number: number, digest: rows.bytes(row, first + 1),
      link: rows.bytes(row, first + 2))
  }

  /// What the senders of waiting envelopes said of them.
  func terms(of serials: [Serial]) throws(StoreError) -> [Serial: SenderTerms] {
    let rows = try run([
      PostgresCommand(
        """
        SELECT envelope.serial, lane.name, sequence, tag, coalesce
        FROM line JOIN envelope ON envelope.serial = line.serial
        JOIN lane ON lane.number = line.lane WHERE line.serial = ANY($1)
        """, [.int64s(serials)])
    ])[0]
    var terms: [Serial: SenderTerms] = [:]
    for row in 0..<rows.count {
      terms[rows.int64(row, 0)] = SenderTerms(
        lane: rows.text(row, 1), sequence: rows.int64OrNil(row, 2), tag: rows.textOrNil(row, 3),
        coalesce: rows.textOrNil(row, 4))
    }
    return terms
  }
}

extension EnvelopeContent {
  /// Reads method, target, headers and the columns of the body, which begin at this place.
  init(_ rows: PostgresRows, _ row: Int, from first: Int) throws(StoreError) {
    guard let headers = HeaderBlock(stored: rows.bytes(row, first + 2)) else {
      throw .invalidRow("a header block")
    }
    self.init(
      method: rows.text(row, first), target: rows.bytes(row, first + 1), headers: headers,
      body: try EnvelopeBody(rows, row, from: first + 3))
  }
}
#endif
