import Foundation
import SQLite
import Testing

@testable import SQLiteStore

@Suite("A migration")
struct MigrationTests {
  /// A table as it was, and the texts of its rows.
  private struct Contents {
    let table: String
    let columns: [String]
    let rows: [String]
  }

  private func texts(_ sql: String, on connection: borrowing Connection) throws -> [String] {
    let statement = try Statement(sql, on: connection)
    var texts: [String] = []
    while try statement.step() { texts.append(statement.text(0) ?? "") }
    return texts
  }

  private func rows(
    of table: String, _ columns: [String], on connection: borrowing Connection
  ) throws -> [String] {
    let row = columns.map { "quote(\($0))" }.joined(separator: " || ',' || ")
    return try texts("SELECT \(row) FROM \(table)", on: connection)
  }

  /// Puts a row into each table that has none, and reads them all.
  private func fill(_ connection: borrowing Connection) throws -> [Contents] {
    let tables = try texts(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
      on: connection)
    var contents: [Contents] = []
    for table in tables {
      let columns = try texts("SELECT name FROM pragma_table_info('\(table)')", on: connection)
      if try rows(of: table, columns, on: connection).isEmpty {
        let values = try texts("SELECT type FROM pragma_table_info('\(table)')", on: connection)
          .map { ["INTEGER": "1", "TEXT": "'1'", "BLOB": "x'01'"][$0] ?? "NULL" }
        try connection.execute("INSERT INTO \(table) VALUES (\(values.joined(separator: ",")))")
      }
      contents.append(
        Contents(
          table: table, columns: columns, rows: try rows(of: table, columns, on: connection)))
    }
    return contents
  }

  @Test(
    "runs on tables that are not empty, and leaves what they hold as it was",
    arguments: 1..<Migration.latest)
  func keeps(from version: Int64) throws {
    let folder = Bench.freshFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let path = DataFolder.database(in: folder)
    try DatabaseFile.prepare(
      path: path, pageBytes: 4096, migrations: Migration.all.filter { $0.version <= version })
    let before = try fill(try Connection(path: path, access: .readWrite))
    #expect(before.count >= 10 && before.allSatisfy { !$0.rows.isEmpty })
    try DatabaseFile.prepare(path: path, pageBytes: 4096)
    let connection = try Connection(path: path, access: .readOnly)
    for old in before {
      let rows = try rows(of: old.table, old.columns, on: connection)
      #expect(rows.filter(old.rows.contains) == old.rows, "\(old.table)")
    }
    let integrity = try connection.text("PRAGMA integrity_check")
    #expect(integrity == "ok")
  }
}
