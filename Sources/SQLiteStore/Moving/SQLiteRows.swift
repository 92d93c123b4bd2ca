import EventLoop
import RelayCore

/// The rows of a data folder's store, in the form in which they are moved.
struct SQLiteRows: ~Copyable {
  private let connection: Connection
  /// The folder of the large bodies.
  private let bodies: String
  /// The number of ended envelopes of which bytes have changed since they were accepted.
  private(set) var changedCount = 0

  init(of connection: consuming Connection, bodies: String) {
    self.connection = connection
    self.bodies = bodies
  }

  /// Calls `body` with all rows of a table, some at a time.
  mutating func forEachBatch(
    of table: MovedTable, _ body: ([MovedRow]) throws(StoreError) -> Void
  ) throws(StoreError) {
    guard let selection = table.selection else { return try forEachBatch(ofBodies: body) }
    var batch = RowBatch()
    let ends = table == .lane ? try loggedEnds() : [:]
    let row = try Statement(selection, on: connection)
    let kinds = table.columns.map(\.kind)
    while try row.step() {
      var values = kinds.indices.map { row.moved(Int32($0), kinds[$0]) }
      switch table {
      case .envelope: try check(&values, row)
      case .lane: Self.add(ends, to: &values)
      default: break
      }
      if let rows = batch.add(values) { try body(rows) }
    }
    try batch.finish(body)
  }

  // MARK: - Lanes

  /// What has ended in lanes, or was deleted, and is not yet added up in their rows.
  private func loggedEnds() throws(StoreError) -> [Int64: [Int64]] {
    var ends: [Int64: [Int64]] = [:]
    let row = try Statement("SELECT entries FROM ended_log", on: connection)
    while try row.step() {
      EndedLog.forEach(in: row.bytes(0)) { lane, end, difference in
        ends[lane, default: [0, 0, 0, 0]][end] += difference
      }
    }
    return ends
  }

  private static func add(_ ends: [Int64: [Int64]], to values: inout MovedRow) {
    guard let own = ends[values[0].integer ?? 0] else { return }
    let first = values.count - own.count
    for (index, count) in own.enumerated() {
      values[first + index] = .integer((values[first + index].integer ?? 0) + count)
    }
  }

  // MARK: - Envelopes

  /// Refuses an envelope that waits and is not as accepted: the checksum by which a relay notices
  /// that does not go with it.
  private mutating func check(
    _ values: inout MovedRow, _ row: borrowing Statement
  ) throws(StoreError) {
    if let name = row.text(Self.name), let bytes = Hexadecimal.decode(Array(name.utf8)) {
      values[Int(Self.name)] = .bytes(bytes)
    }
    guard let checksum = row.optionalInt(Self.checksum) else { return }
    guard try Self.checksum(of: values) != checksum else { return }
    changedCount += 1
    guard row.bool(Self.checksum + 1) else { return }
    let id = try row.id(1)
    throw StoreError(
      kind: .corrupt, operation: "move", subject: "the envelope \(id)",
      detail: "bytes of it have changed since it was accepted. Start the relay on this folder and "
        + "cancel it, or give it new content; then move.")
  }

  private static let name = Int32(MovedTable.envelope.place(of: "body_file"))
  private static let checksum = Int32(MovedTable.envelope.columns.count)

  /// The checksum that a row of the table of envelopes is to have.
  static func checksum(of values: MovedRow) throws(StoreError) -> Int64 {
    func value(_ name: String) -> MovedValue { values[MovedTable.envelope.place(of: name)] }
    func number(_ name: String) -> Int64 { value(name).integer ?? 0 }
    let body: EnvelopeBody =
      if let bytes = value("body").bytes {
        .inline(bytes)
      } else {
        .file(
          StoredBodyFile(
            path: "", byteCount: number("body_bytes"), checksum: value("body_checksum").integer))
      }
    guard let headers = HeaderBlock(stored: value("headers").bytes ?? []) else {
      throw .invalidRow("a header block")
    }
    let content = EnvelopeContent(
      method: value("method").text ?? "", target: value("target").bytes ?? [], headers: headers,
      body: body)
    return content.checksum(
      of: try EnvelopeID(stored: value("id").bytes ?? []),
      client: ClientNumber(rawValue: number("client")), lane: LaneNumber(rawValue: number("lane")),
      upstream: UpstreamNumber(rawValue: Int32(truncatingIfNeeded: number("upstream"))),
      key: value("key").text, references: number("refers") != 0)
  }

  // MARK: - Bodies

  private func forEachBatch(
    ofBodies body: ([MovedRow]) throws(StoreError) -> Void
  ) throws(StoreError) {
    var batch = RowBatch()
    let row = try Statement("SELECT name, bytes FROM body_file ORDER BY name", on: connection)
    while try row.step() {
      let name = row.text(0) ?? ""
      guard let uuid = Hexadecimal.decode(Array(name.utf8)), uuid.count == 16 else {
        throw .invalidRow("a body called \(name)")
      }
      let file = StoredBodyFile(path: "\(bodies)/\(name)", byteCount: row.int(1))
      var number: Int64 = 0
      repeat {
        let piece = try file.bytes(
          from: number * Int64(MovedTable.pieceBytes), countMax: MovedTable.pieceBytes)
        if let rows = batch.add([.bytes(uuid), .integer(number), .bytes(piece)]) {
          try body(rows)
        }
        number += 1
      } while number * Int64(MovedTable.pieceBytes) < file.byteCount
    }
    try batch.finish(body)
  }
}

/// Rows that are gathered until they are enough to be handed on.
private struct RowBatch {
  private var rows: [MovedRow] = []
  private var bytes = 0

  /// Adds a row.
  ///
  /// - Returns: All that have been gathered, once they are enough.
  mutating func add(_ row: MovedRow) -> [MovedRow]? {
    rows.append(row)
    for value in row { bytes += value.byteCount }
    guard rows.count >= MovedTable.rowsMax || bytes >= MovedTable.bytesMax else { return nil }
    defer { (rows, bytes) = ([], 0) }
    return rows
  }

  /// Hands on what is left.
  func finish(_ take: ([MovedRow]) throws(StoreError) -> Void) throws(StoreError) {
    if !rows.isEmpty { try take(rows) }
  }
}

extension Statement {
  /// A value in the present row.
  fileprivate func moved(_ column: Int32, _ kind: MovedColumn.Kind) -> MovedValue {
    guard !isNull(column) else { return .null }
    return switch kind {
    case .int64, .int32, .int16: .integer(int(column))
    case .flag: .integer(bool(column) ? 1 : 0)
    case .text: .text((text(column) ?? "").storable)
    case .bytes, .uuid: .bytes(bytes(column))
    }
  }
}

extension MovedValue: Bindable {
  func bind(to statement: borrowing Statement, at index: Int32) {
    switch self {
    case .null: statement.bindNull(index)
    case .integer(let number): statement.bind(index, number)
    case .text(let text): statement.bind(index, text)
    case .bytes(let bytes): statement.bind(index, bytes)
    }
  }
}
