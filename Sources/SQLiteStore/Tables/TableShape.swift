import RelayCore
import SQLite

/// The form of a table's rows, by which a found row is recognised.
struct TableShape {
  struct Column {
    var name: String
    /// INTEGER, TEXT or BLOB: all tables are STRICT.
    var type: String
    var isNullable: Bool
    /// Whether rows from before the column may lack it.
    var hasDefault: Bool
    /// Whether it is the row's number, which is NULL in the record itself.
    var isRowNumber: Bool
  }

  let name: String
  /// The columns in the order of a record's values.
  let columns: [Column]
  /// Whether it has row numbers; a table without them is stored like an index.
  let hasRowNumbers: Bool
  /// The first page of its tree in a store that this program has made.
  let root: Int

  /// Reads the shapes of all tables of an undamaged database.
  static func all(of connection: borrowing Connection) throws(StoreError) -> [TableShape] {
    let tables = try Statement(
      """
      SELECT name, rootpage, sql FROM sqlite_schema \
      WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY rootpage
      """, on: connection)
    var shapes: [TableShape] = []
    while try tables.step() {
      let name = tables.text(0) ?? ""
      let hasRowNumbers = !(tables.text(2) ?? "").hasSuffix("WITHOUT ROWID")
      shapes.append(
        TableShape(
          name: name, columns: try columns(of: name, hasRowNumbers, connection),
          hasRowNumbers: hasRowNumbers, root: Int(tables.int(1))))
    }
    return shapes
  }

  private static func columns(
    of table: String, _ hasRowNumbers: Bool, _ connection: borrowing Connection
  ) throws(StoreError) -> [Column] {
    let row = try Statement(
      "SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_info(?)", on: connection)
    row.set(table)
    var columns: [Column] = []
    while try row.step() {
      let isKey = row.int(4) > 0
      let isNullable = row.int(2) == 0 && !isKey
      columns.append(
        Column(
          name: row.text(0) ?? "", type: row.text(1) ?? "", isNullable: isNullable,
          hasDefault: isNullable || !row.isNull(3),
          isRowNumber: hasRowNumbers && isKey && row.text(1) == "INTEGER"))
    }
    return columns
  }

  /// The values of a row in the form to write; nil if this is no row of the table.
  func row(_ record: StoredRecord, number: Int64?) -> [StoredValue]? {
    guard !record.values.isEmpty, record.values.count <= columns.count,
      columns[record.values.count...].allSatisfy(\.hasDefault)
    else { return nil }
    var values = record.values
    for (place, column) in zip(values.indices, columns) {
      if column.isRowNumber {
        guard values[place] == .null, let number else { return nil }
        values[place] = .integer(number)
      } else {
        switch (values[place], column.type) {
        case (.integer, "INTEGER"), (.text, "TEXT"), (.blob, "BLOB"): break
        case (.null, _) where column.isNullable: break
        default: return nil
        }
      }
    }
    return values
  }

  /// The place of a column.
  func place(of column: String) -> Int? { columns.firstIndex { $0.name == column } }
}
