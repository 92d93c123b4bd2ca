import EventLoop
import RelayCore
import SQLite

/// The rows of a data folder's store, in the form in which they are moved.
struct SQLiteRows: ~Copyable {
  private let connection: Connection
  /// The folder of the large bodies.
  private let bodies: String
  /// What to do about an envelope that waits and has changed.
  private let advice: String
  /// Ended envelopes of which bytes have changed, or were lost, since they were accepted.
  private var changed: Set<Serial> = []
  /// The number of them.
  var changedCount: Int { changed.count }

  init(of connection: consuming Connection, bodies: String, advice: String) {
    self.connection = connection
    self.bodies = bodies
    self.advice = advice
  }

  /// The origin of the events in a database's file; nil if there is no such file.
  static func origin(of path: String) throws(StoreError) -> Int64? {
    guard (try DataFolder.sizeIfThere(ofFile: path) ?? 0) > 0 else { return nil }
    return try Connection(path: path, access: .readOnly)
      .number(MovedTable.eventOrigin.selection ?? "")
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
    try refuseWaiting(
      values[0].integer ?? 0, row.bytes(1), isWaiting: row.bool(Self.checksum + 1),
      "bytes of it have changed since it was accepted.")
  }

  /// Refuses a damaged envelope if it waits, and counts one that has ended.
  private mutating func refuseWaiting(
    _ serial: Serial, _ id: [UInt8], isWaiting: Bool, _ what: String
  ) throws(StoreError) {
    guard isWaiting else {
      changed.insert(serial)
      return
    }
    throw StoreError(
      kind: .corrupt, operation: "move",
      subject: "the envelope \(EnvelopeID(bytes: id)?.description ?? "number \(serial)")",
      detail: "\(what) \(advice)")
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

  private static let bodySelection = """
    SELECT f.name, f.bytes, f.checksum, f.serial, e.id, \
    EXISTS (SELECT 1 FROM line AS s WHERE s.serial = f.serial) \
    FROM body_file AS f LEFT JOIN envelope AS e ON e.serial = f.serial ORDER BY f.name
    """

  private mutating func forEachBatch(
    ofBodies body: ([MovedRow]) throws(StoreError) -> Void
  ) throws(StoreError) {
    var batch = RowBatch()
    let row = try Statement(Self.bodySelection, on: connection)
    while try row.step() {
      let name = row.text(0) ?? ""
      guard let uuid = Hexadecimal.decode(Array(name.utf8)), uuid.count == 16 else {
        throw .invalidRow("a body called \(name)")
      }
      let file = StoredBodyFile(
        path: "\(bodies)/\(name)", byteCount: row.int(1), checksum: row.optionalInt(2))
      guard try isWhole(file, row) else { continue }
      var sum = Checksum()
      var number: Int64 = 0
      repeat {
        let piece = try file.bytes(
          from: number * Int64(MovedTable.pieceBytes), countMax: MovedTable.pieceBytes)
        piece.withUnsafeBytes { sum.append($0) }
        if let rows = batch.add([.bytes(uuid), .integer(number), .bytes(piece)]) {
          try body(rows)
        }
        number += 1
      } while number * Int64(MovedTable.pieceBytes) < file.byteCount
      sum.endField()
      guard let checksum = file.checksum, checksum != sum.value else { continue }
      try refuseWaiting(
        row.int(3), row.bytes(4), isWaiting: row.bool(5),
        "bytes of its body have changed since it was accepted.")
    }
    try batch.finish(body)
  }

  /// Whether a body's file has the bytes that it should have; one that does not is left out, if its
  /// envelope has ended.
  private mutating func isWhole(
    _ file: StoredBodyFile, _ row: borrowing Statement
  ) throws(StoreError) -> Bool {
    let size = try DataFolder.sizeIfThere(ofFile: file.path)
    guard size != file.byteCount else { return true }
    let what =
      if let size {
        "its body \(file.path) has \(size) bytes, and had \(file.byteCount)."
      } else {
        "its body \(file.path) is missing."
      }
    try refuseWaiting(row.int(3), row.bytes(4), isWaiting: row.bool(5), what)
    return false
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
  /// Binds the value.
  package func bind(to statement: borrowing Statement, at index: Int32) {
    switch self {
    case .null: statement.bindNull(index)
    case .integer(let number): statement.bind(index, number)
    case .text(let text): statement.bind(index, text)
    case .bytes(let bytes): statement.bind(index, bytes)
    }
  }
}
