import RelayCore

/// The writer's statements for searches, prepared once.
final class SearchStatements {
  let find: Statement
  let store: Statement
  let forget: Statement
  let forgetEmptied: Statement
  let terms: Statement

  static let findSQL = "SELECT terms FROM search_block WHERE number = ?"

  init(on connection: borrowing Connection) throws(StoreError) {
    find = try Statement(Self.findSQL, on: connection)
    store = try Statement("INSERT OR REPLACE INTO search_block VALUES (?, ?, ?)", on: connection)
    forget = try Statement("DELETE FROM search_block WHERE number = ?", on: connection)
    forgetEmptied = try Statement(
      """
      DELETE FROM search_block WHERE number = ?1 AND NOT EXISTS (\
      SELECT 1 FROM envelope WHERE serial BETWEEN ?2 AND ?3)
      """, on: connection)
    terms = try Statement(
      "SELECT serial, client, tag FROM envelope WHERE serial BETWEEN ? AND ?", on: connection)
  }
}
