import RelayCore
import SQLite

/// The form of a table's rows, by which a found row is recognised.
package struct TableShape {
  /// The form of a column's values.
  package struct Column {
    /// Its name.
    package var name: String
    /// INTEGER, TEXT or BLOB; empty for a column of any type.
    package var type: String
    /// Whether a row may have no value there.
    package var isNullable: Bool
    /// Whether rows from before the column may lack it.
    package var hasDefault: Bool
    /// Whether it is the row's number, which is NULL in the record itself.
    package var isRowNumber: Bool
  }

  /// Its name.
  package let name: String
  /// The columns in the order of a record's values.
  package let columns: [Column]
  /// Whether it has row numbers; a table without them is stored like an index.
  package let hasRowNumbers: Bool
  /// The first page of its tree in a database that was made in one go.
  package let root: Int

  /// Reads the shapes of all tables of an undamaged database.
  package static func all(of connection: borrowing Connection) throws(StoreError) -> [TableShape] {
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
  package func row(_ record: StoredRecord, number: Int64?) -> [StoredValue]? {
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
        case (.integer, ""), (.text, ""), (.blob, ""): break
        case (.null, _) where column.isNullable: break
        default: return nil
        }
      }
    }
    return values
  }

  /// The place of a column.
  package func place(of column: String) -> Int? { columns.firstIndex { $0.name == column } }
}
