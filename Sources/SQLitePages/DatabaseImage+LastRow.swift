import SQLite

extension DatabaseImage {
  /// More levels than any tree has: pages have hundreds of entries.
  private static let depthMax = 40

  /// The number of a table's last row, 0 if it has none; nil if there is no such table, or the way
  /// there is damaged.
  package func lastRow(ofTable name: String) -> Int64? {
    guard let root = root(ofTable: name, below: 1, depth: 0) else { return nil }
    var number = root
    for _ in 0..<Self.depthMax {
      guard let page = tree(number), page.kind.isOfTable else { return nil }
      if page.kind == .tableLeaf {
        guard let last = page.cells.last else { return number == root ? 0 : nil }
        // Of our tables none has a row below 0.
        return last?.row.flatMap { $0 >= 0 ? $0 : nil }
      }
      guard let child = page.lastChild else { return nil }
      number = child
    }
    return nil
  }

  /// The first page of a table's tree, as the list of tables says
  /// (<https://www.sqlite.org/fileformat.html#storage_of_the_sql_database_schema>).
  private func root(ofTable name: String, below number: Int, depth: Int) -> Int? {
    guard depth < Self.depthMax, let page = tree(number), page.kind.isOfTable else { return nil }
    for cell in page.cells.compactMap({ $0 }) {
      if let child = cell.child {
        if let root = root(ofTable: name, below: child, depth: depth + 1) { return root }
      } else {
        let values = StoredRecord.leading(cell.local)
        if values.count >= 4, values[0].text == "table", values[1].text == name {
          return values[3].integer.flatMap { Int(exactly: $0) }
        }
      }
    }
    return page.lastChild.flatMap { root(ofTable: name, below: $0, depth: depth + 1) }
  }
}
