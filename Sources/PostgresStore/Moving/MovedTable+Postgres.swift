#if PostgreSQL
import Postgres
import RelayCore

// Where each table that is moved lies in a database: in one of its own name, with its columns. What
// else there is follows from them, or belongs to the process that has the store.
extension MovedTable {
  /// The tables that a target has to find empty, and that are emptied if a move begins anew.
  static let emptied: [String] =
    allCases.filter { $0.keyCount > 0 }.map(\.rawValue) + ["ended_log", "body_pending", "upload"]

  // MARK: - Reading

  /// What the rows are read from.
  private var origin: String {
    switch self {
    case .lane: Self.addedUpLanes
    // Others are on their way, or left over.
    case .bodyChunk:
      """
      (SELECT * FROM body_chunk WHERE NOT EXISTS (
        SELECT 1 FROM body_pending WHERE body_pending.body = body_chunk.body)) AS body_chunk
      """
    default: rawValue
    }
  }

  private static let addedUpLanes: String = {
    let ends = EnvelopeState.ends.map { (column: $0.rawValue, code: $0.endCode ?? 0) }
    let sums = ends.map { "lane.\($0.column) + coalesce(more.\($0.column), 0) AS \($0.column)" }
    let logged = ends.map {
      "(sum(change) FILTER (WHERE state = \($0.code)))::bigint AS \($0.column)"
    }
    return """
      (SELECT lane.number, lane.client, lane.name, last_sequence, placed_through,
        lane.chain, \(sums.joined(separator: ", "))
      FROM lane LEFT JOIN (
        SELECT one.lane, \(logged.joined(separator: ", "))
        FROM ended_log, unnest(lanes, states, changes) AS one(lane, state, change) GROUP BY one.lane
      ) AS more ON more.lane = lane.number) AS lane
      """
  }()

  /// The bytes of a row's large values.
  private var size: String {
    switch self {
    case .envelope:
      """
      octet_length(target) + octet_length(headers) + coalesce(octet_length(body), 0)
      """
    case .response: "octet_length(headers) + octet_length(body)"
    case .bodyChunk: "octet_length(bytes)"
    case .eventLog: "octet_length(entries)"
    case .receipt: "octet_length(payload) + octet_length(leaves)"
    case .operation: "octet_length(refusals)"
    default: "0"
    }
  }

  /// The columns that are read; the history has one row for each process behind it.
  var columnsRead: [MovedColumn] { self == .history ? columns + [.process] : columns }

  /// How many columns order what is read.
  var keyCountRead: Int { self == .history ? 3 : keyCount }

  /// The order of the columns that tell rows apart.
  private var keysRead: [String] {
    self == .history ? ["upstream", "minute", "process"] : columns.prefix(keyCount).map(\.name)
  }

  /// The rows behind one, or the first ones: as many as are to be handed on at once.
  ///
  /// Bytes are counted before large values are fetched, and the first row comes whatever it has.
  ///
  /// - Parameter leftOut: Values of the first column whose rows are left out: UUIDs.
  func page(after last: MovedRow?, without leftOut: [[UInt8]] = []) -> PostgresCommand {
    let names = columnsRead.map(\.name).joined(separator: ", ")
    let keys = keysRead.joined(separator: ", ")
    guard keyCount > 0 else { return PostgresCommand(sql: "SELECT \(names) FROM \(rawValue)") }
    var conditions: [String] = []
    var values: [PostgresValue] = []
    if let last {
      let places = keysRead.map { key in columnsRead.firstIndex { $0.name == key } ?? 0 }
      values = places.map { Self.value([last[$0]], columnsRead[$0].kind, isArray: false) }
      let parameters = values.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
      conditions.append("(\(keys)) > (\(parameters))")
    }
    if !leftOut.isEmpty {
      values.append(.uuids(leftOut))
      conditions.append("\(columns[0].name) <> ALL($\(values.count))")
    }
    let chosen = conditions.isEmpty ? "" : "WHERE " + conditions.joined(separator: " AND ")
    return PostgresCommand(
      sql: """
        SELECT \(names) FROM (
          SELECT *, sum(row_size) OVER (ORDER BY \(keys)) - row_size AS before FROM (
            SELECT \(names), (\(size))::bigint AS row_size FROM \(origin) \(chosen)
            ORDER BY \(keys) LIMIT \(Self.rowsMax)
          ) AS page
        ) AS page WHERE before < \(Self.bytesMax) ORDER BY \(keys)
        """, values)
  }

  // MARK: - Writing

  /// Columns that another store does not have, and what they are; `new` is the row.
  private var derived: [(column: String, value: String)] {
    switch self {
    case .line: [("shard", "client.shard")]
    case .ended:
      [
        ("shard", "client.shard"), ("client", "envelope.client"), ("lane", "envelope.lane"),
        ("upstream", "envelope.upstream"),
        // The first 48 bits of an id are its time.
        (
          "accepted_at",
          "('x' || replace(left(envelope.id::text, 13), '-', ''))::bit(48)::bigint"
        ),
        (
          "bytes",
          """
          octet_length(envelope.target) + octet_length(envelope.headers)
            + coalesce(octet_length(envelope.body), envelope.body_bytes, 0)
          """
        ),
      ]
    case .formerKey: [("client", "envelope.client")]
    case .checksIn: [("last", "given.ending")]
    // A process that has ended.
    case .audit, .operation, .history: [("process", "0")]
    default: []
    }
  }

  private var joined: String {
    switch self {
    case .line: "JOIN client ON client.number = new.client"
    case .ended:
      """
      JOIN envelope ON envelope.serial = new.serial JOIN client ON client.number = envelope.client
      """
    case .formerKey: "JOIN envelope ON envelope.serial = new.serial"
    case .checksIn: "CROSS JOIN given"
    default: ""
    }
  }

  /// Writes rows.
  func insertion(of rows: [MovedRow]) -> PostgresCommand {
    let names = columns.map(\.name)
    let values = columns.indices.map { place in
      Self.value(rows.map { $0[place] }, columns[place].kind, isArray: true)
    }
    let parameters = names.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
    let new = "unnest(\(parameters)) AS new(\(names.joined(separator: ", ")))"
    switch self {
    case .given, .eventOrigin, .receiptOrigin:
      let changes = names.map { "\($0) = new.\($0)" }.joined(separator: ", ")
      return PostgresCommand(sql: "UPDATE \(rawValue) SET \(changes) FROM \(new)", values)
    case .client:
      let shards = rows.map { Int32(Shard.of(client: $0[1].text ?? "")) }
      return PostgresCommand(
        "INSERT INTO client (number, name, shard) SELECT * FROM unnest($1, $2, $3)",
        values + [.int32s(shards)])
    default:
      let all = (names + derived.map(\.column)).joined(separator: ", ")
      let selected = (names.map { "new.\($0)" } + derived.map(\.value)).joined(separator: ", ")
      return PostgresCommand(
        sql: "INSERT INTO \(rawValue) (\(all)) SELECT \(selected) FROM \(new) \(joined)", values)
    }
  }

  /// Values of a column: an array of them, or the first one.
  private static func value(
    _ values: [MovedValue], _ kind: MovedColumn.Kind, isArray: Bool
  ) -> PostgresValue {
    switch kind {
    case .int64:
      let numbers = values.map(\.integer)
      return isArray ? .int64s(numbers) : .int64(numbers[0])
    case .int32:
      let numbers = values.map { $0.integer.map { Int32(truncatingIfNeeded: $0) } }
      return isArray ? .int32s(numbers) : .int32(numbers[0])
    case .int16:
      let numbers = values.map { $0.integer.map { Int16(truncatingIfNeeded: $0) } }
      return isArray ? .int16s(numbers) : .int16(numbers[0])
    case .flag:
      let flags = values.map { $0.integer.map { $0 != 0 } }
      return isArray ? .bools(flags) : .bool(flags[0])
    case .text:
      let texts = values.map(\.text)
      return isArray ? .texts(texts) : .text(texts[0])
    case .bytes:
      let bytes = values.map(\.bytes)
      return isArray ? .byteStrings(bytes) : .bytes(bytes[0])
    case .uuid:
      let uuids = values.map { $0.bytes.flatMap { $0.count == 16 ? $0 : nil } }
      return isArray ? .uuids(uuids) : .uuid(uuids[0])
    }
  }
}

extension MovedColumn {
  /// The process that has written a row of the history.
  fileprivate static let process = MovedColumn("process", .int64)
}

extension PostgresRows {
  /// Reads a row of some columns.
  func moved(_ row: Int, _ columns: [MovedColumn]) -> MovedRow {
    columns.indices.map { column in
      guard !isNull(row, column) else { return .null }
      return switch columns[column].kind {
      case .int64, .int32, .int16: .integer(int64(row, column))
      case .flag: .integer(bool(row, column) ? 1 : 0)
      case .text: .text(text(row, column))
      case .bytes: .bytes(bytes(row, column))
      case .uuid: .bytes(uuid(row, column))
      }
    }
  }
}
#endif
