#if PostgreSQL
import Postgres
import RelayCore

/// A database that is moved from or into; see ``StoreMove``.
package final class PostgresMoveEnd: MoveSource, MoveTarget {
  /// See ``MovedRows``.
  package let place: String
  private let seat: MoveSeat

  /// Takes the store, for nobody else meanwhile, and makes its tables if there are none.
  ///
  /// - Throws: ``StoreError`` if the database cannot be reached or used, or a relay has it.
  package init(at address: PostgresAddress) throws(StoreError) {
    place = "postgresql://" + address.subject
    seat = try MoveSeat(at: address)
  }

  /// See ``MovedRows``.
  package func mark() throws(StoreError) -> MoveMark? { try seat.mark() }

  /// See ``MovedRows``.
  package func forEachBatch(
    of table: MovedTable, _ body: ([MovedRow]) throws(StoreError) -> Void
  ) throws(StoreError) {
    let columns = table.columnsRead
    var history = MovedHistory()
    var last: MovedRow?
    repeat {
      let found = try seat.read([table.page(after: last)])[0]
      var rows = (0..<found.count).map { found.moved($0, columns) }
      last = rows.last
      if table == .history { rows = rows.compactMap { history.add($0) } }
      if !rows.isEmpty { try body(rows) }
    } while last != nil && table.keyCount > 0
    if let row = history.finish() { try body([row]) }
  }

  // MARK: - As a source

  /// See ``MoveSource``.
  package func depart(_ mark: MoveMark) throws(StoreError) {
    try seat.write(DatabaseMoveMark.set(mark))
  }

  /// Gives the store up, once it is no longer needed.
  package func leave() { seat.leave() }

  /// Lets a relay start on a database again that has been moved away.
  ///
  /// - Returns: Where it has been moved to; nil if it was not.
  package static func reopen(_ address: PostgresAddress) throws(StoreError) -> String? {
    let seat = try MoveSeat(at: address)
    defer { seat.leave() }
    guard let mark = try seat.mark() else { return nil }
    guard mark.side == .departed else { throw mark.refusal(to: "reopen", address.subject) }
    try seat.write([DatabaseMoveMark.removal])
    return mark.place
  }

  // MARK: - As a target

  /// See ``MoveTarget``.
  package func begin(_ mark: MoveMark) throws(StoreError) {
    var erasing: [PostgresCommand] = []
    if try seat.mark() == nil {
      try requireEmpty()
    } else {
      let tables = MovedTable.emptied.joined(separator: ", ")
      erasing = [PostgresCommand(sql: "TRUNCATE \(tables)")]
    }
    try seat.write(erasing + DatabaseMoveMark.set(mark))
  }

  private func requireEmpty() throws(StoreError) {
    let rows = try seat.read(
      MovedTable.emptied.map { PostgresCommand(sql: "SELECT EXISTS (SELECT 1 FROM \($0))") })
    let filled = zip(MovedTable.emptied, rows).filter { $0.1.bool(0, 0) }.map(\.0)
    guard !filled.isEmpty else { return }
    throw StoreError(
      kind: .other, operation: "move to", subject: place,
      detail: "it is not empty: there are rows in \(filled.joined(separator: ", ")). Make a new "
        + "database, on which no relay was started.")
  }

  /// See ``MoveTarget``.
  package func insert(_ rows: [MovedRow], into table: MovedTable) throws(StoreError) {
    try seat.write([table.insertion(of: rows)], isDurable: false)
  }

  /// See ``MoveTarget``.
  package func settle() throws(StoreError) {
    let statistics = MovedTable.allCases.map { PostgresCommand(sql: "ANALYZE \($0.rawValue)") }
    try seat.write(
      [
        PostgresCommand(
          """
          UPDATE counted SET last = CASE kind
            WHEN 0 THEN (SELECT coalesce(max(number), 0) FROM audit)
            ELSE (SELECT coalesce(max(number), 0) FROM operation) END
          """)
      ] + statistics)
  }

  /// See ``MoveTarget``.
  package func open() throws(StoreError) { try seat.write([DatabaseMoveMark.removal]) }
}
#endif
