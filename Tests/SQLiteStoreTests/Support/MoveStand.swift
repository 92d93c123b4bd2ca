#if PostgreSQL
import Foundation
import Glibc
import Postgres
import PostgresStore
import PostgresTesting
import RelayCore
import SQLite
import StoreModel
import Testing

@testable import SQLiteStore

/// Folders and a database between which a test moves a store.
final class MoveStand {
  let root: String
  let database: TestDatabase

  init() throws {
    root = NSTemporaryDirectory() + "move-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    database = try TestDatabase.fresh()
  }

  deinit { try? FileManager.default.removeItem(atPath: root) }

  func folder(_ name: String) -> String { "\(root)/\(name)" }

  /// Takes the database, as a move does.
  func end() throws -> PostgresMoveEnd {
    try PostgresMoveEnd(at: PostgresAddress(url: database.url, applicationName: "test"))
  }

  /// Moves a folder into the database.
  @discardableResult
  func moveIn(
    from name: String, through wrap: (any MoveTarget) -> any MoveTarget = { $0 }
  ) throws -> StoreMove.Report {
    let source = try SQLiteMoveSource(folder: folder(name))
    let end = try end()
    defer { end.leave() }
    return try StoreMove.run(from: source, to: wrap(end), number: 7) { _ throws(StoreError) in }
  }

  /// Moves the database into a folder.
  @discardableResult
  func moveOut(
    to name: String, through wrap: (any MoveTarget) -> any MoveTarget = { $0 }
  ) throws -> StoreMove.Report {
    let end = try end()
    defer { end.leave() }
    let target = wrap(try SQLiteMoveTarget(folder: folder(name)))
    return try StoreMove.run(from: end, to: target, number: 8) { _ throws(StoreError) in }
  }

  /// Changes the database of a folder behind its store's back.
  func alter(_ name: String, _ sql: String) throws {
    let path = DataFolder.database(in: folder(name))
    try Connection(path: path, access: .readWrite).execute(sql)
  }

  /// Changes the database behind its store's back.
  func alter(_ sql: String) throws {
    var connection = try database.connect()
    try connection.execute(script: sql)
  }

  /// The rows of a database in a folder, table by table, each as text.
  func rows(of name: String) throws -> [String: [String]] {
    let connection = try Connection(
      path: DataFolder.database(in: folder(name)), access: .readWrite)
    var rows: [String: [String]] = [:]
    for table in Migration.tables {
      let columns = try Statement(
        "SELECT name FROM pragma_table_info('\(table)')", on: connection
      ).rows { $0.text(0) ?? "" }
      let row = columns.map { "'\($0)=' || quote(\($0))" }.joined(separator: " || ' ' || ")
      rows[table] = try Statement("SELECT \(row) FROM \(table) ORDER BY 1", on: connection)
        .rows { $0.text(0) ?? "" }
    }
    return rows
  }

  /// The tables and columns that the database has.
  func columnsOfDatabase() throws -> [String: Set<String>] {
    try end().leave()
    var connection = try database.connect()
    let rows = try connection.run([
      PostgresCommand(
        """
        SELECT table_name::text, column_name::text FROM information_schema.columns
        WHERE table_schema = current_schema()
        """)
    ])[0]
    var columns: [String: Set<String>] = [:]
    for row in 0..<rows.count { columns[rows.text(row, 0), default: []].insert(rows.text(row, 1)) }
    return columns
  }
}

/// A target that cannot do one of its steps, or does it wrong.
final class FailingTarget: MoveTarget {
  enum Step { case insert(MovedTable), alter(MovedTable), settle, open }

  private let target: any MoveTarget
  private let fails: Step

  init(_ target: any MoveTarget, at step: Step) { (self.target, fails) = (target, step) }

  var place: String { target.place }
  func mark() throws(StoreError) -> MoveMark? { try target.mark() }
  func origin() throws(StoreError) -> Int64? { try target.origin() }
  func requireFree() throws(StoreError) { try target.requireFree() }
  func damage() throws(StoreError) -> String? { try target.damage() }
  func begin(_ mark: MoveMark) throws(StoreError) { try target.begin(mark) }

  func forEachBatch(
    of table: MovedTable, _ body: ([MovedRow]) throws(StoreError) -> Void
  ) throws(StoreError) {
    try target.forEachBatch(of: table, body)
  }

  func insert(_ rows: [MovedRow], into table: MovedTable) throws(StoreError) {
    var rows = rows
    // The last of the keys has a fingerprint.
    if case .alter(let own) = fails, own == table { rows[rows.count - 1][3] = .null }
    try target.insert(rows, into: table)
    if case .insert(let own) = fails, own == table { throw Self.failure }
  }

  func settle() throws(StoreError) {
    try target.settle()
    if case .settle = fails { throw Self.failure }
  }

  func open() throws(StoreError) {
    if case .open = fails { throw Self.failure }
    try target.open()
  }

  static let failure = StoreError(
    kind: .other, operation: "move", subject: "it", detail: "the test cuts it off")
}
#endif
