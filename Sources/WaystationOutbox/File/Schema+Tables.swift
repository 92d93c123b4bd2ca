import RelayCore
import SQLite

// The tables themselves say which version they are: each step makes some.
extension Schema {
  /// A table or an index, as the database lists it.
  struct Entry: Hashable {
    /// `table` or `index`.
    var kind: String
    var name: String
    /// The table's name, of an index as well.
    var table: String
    /// The statement that has made it; nil of an index that a table brings along.
    var sql: String?
  }

  /// An entry with the first page of what it names.
  struct Listed {
    var entry: Entry
    var root: Int
  }

  /// What the database lists.
  static func list(of connection: borrowing Connection) throws(StoreError) -> [Listed] {
    let row = try Statement(
      "SELECT type, name, tbl_name, sql, rootpage FROM sqlite_schema ORDER BY rowid",
      on: connection)
    var found: [Listed] = []
    while try row.step() {
      let entry = Entry(
        kind: row.text(0) ?? "", name: row.text(1) ?? "", table: row.text(2) ?? "",
        sql: row.text(3))
      found.append(Listed(entry: entry, root: Int(clamping: row.int(4))))
    }
    return found
  }

  /// The version whose tables these are; nil if they are those of none.
  ///
  /// 0 is a database without any.
  static func version(of list: [Listed]) throws(StoreError) -> Int? {
    // SQLite keeps figures of its own for those who ask it to.
    var rest = list.filter { !$0.entry.name.hasPrefix("sqlite_stat") }
    guard Set(rest.map(\.root)).count == rest.count else { return nil }
    for (version, step) in try made.get().enumerated() {
      guard !rest.isEmpty else { return version }
      let known = Dictionary(step.map { ($0.entry, $0.root) }) { $1 }
      let its = rest.filter { listed in
        // The first step's have been made in an empty file, so they stand where they always do.
        known[listed.entry].map { version > 0 || $0 == listed.root } == true
      }
      guard its.count == step.count else { return nil }
      rest.removeAll { known[$0.entry] != nil }
    }
    return rest.isEmpty ? steps.count : nil
  }

  /// Those of a list that this library has written so.
  static func known(of list: [Listed]) throws(StoreError) -> [Listed] {
    let ours = Set(try made.get().flatMap { $0.map(\.entry) })
    return list.filter { ours.contains($0.entry) }
  }

  /// What each step adds to the list.
  private static let made = Result<[[Listed]], StoreError> { () throws(StoreError) in
    let connection = try Connection(path: ":memory:", access: .create)
    var before = 0
    return try steps.mapThrowing { step throws(StoreError) in
      try connection.execute(step)
      let all = try list(of: connection)
      defer { before = all.count }
      return Array(all[before...])
    }
  }
}

extension Array {
  /// A `map` whose function may throw.
  fileprivate func mapThrowing<Result>(
    _ body: (Element) throws(StoreError) -> Result
  ) throws(StoreError) -> [Result] {
    var results: [Result] = []
    for element in self { results.append(try body(element)) }
    return results
  }
}
