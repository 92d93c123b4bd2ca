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

  /// Takes a store that is there, and makes none.
  ///
  /// - Throws: As ``init(at:)``; and if there is no store in the database.
  package convenience init(source address: PostgresAddress) throws(StoreError) {
    try Self.requireStore(in: address, to: "move")
    try self.init(at: address)
  }

  private static func requireStore(
    in address: PostgresAddress, to operation: String
  ) throws(StoreError) {
    let reader = DatabaseReader(at: ServerChoice(address), DatabaseLimits())
    guard try !reader.run([.places])[0].bool(0, 2) else { return }
    throw StoreError(
      kind: .other, operation: operation, subject: address.subject,
      detail: "there is no store in it: no relay was ever started on it.")
  }

  /// See ``MovedRows``.
  package func mark() throws(StoreError) -> MoveMark? { try seat.mark() }

  /// See ``MovedRows``.
  package func origin() throws(StoreError) -> Int64? {
    guard try !filledTables().isEmpty else { return nil }
    return try seat.read([MovedTable.eventOrigin.page(after: nil)])[0].int64OrNil(0, 0)
  }

  /// See ``MovedRows``.
  package func forEachBatch(
    of table: MovedTable, _ body: ([MovedRow]) throws(StoreError) -> Void
  ) throws(StoreError) {
    let columns = table.columnsRead
    let leftOut = table == .bodyChunk ? try bodiesLeftOut() : []
    var history = MovedHistory()
    var last: MovedRow?
    repeat {
      let found = try seat.read([table.page(after: last, without: leftOut)])[0]
      var rows = (0..<found.count).map { found.moved($0, columns) }
      last = rows.last
      if table == .history { rows = rows.compactMap { history.add($0) } }
      if !rows.isEmpty { try body(rows) }
    } while last != nil && table.keyCount > 0
    if let row = history.finish() { try body([row]) }
  }

  /// The bodies that no envelope refers to, and those that are not whole.
  ///
  /// What waits without its body is noticed by that.
  private func bodiesLeftOut() throws(StoreError) -> [[UInt8]] {
    let rows = try seat.read([
      PostgresCommand(
        """
        SELECT kept.body FROM (
          SELECT body, sum(octet_length(bytes)) AS bytes, count(*) - 1 AS last, max(n) AS n
          FROM body_chunk GROUP BY body
        ) AS kept LEFT JOIN envelope ON envelope.body_file = kept.body
        WHERE envelope.body_bytes IS DISTINCT FROM kept.bytes OR kept.last <> kept.n
        """)
    ])[0]
    return (0..<rows.count).map { rows.uuid($0, 0) }
  }

  // MARK: - As a source

  /// See ``MoveSource``.
  package var damageAdvice: String {
    "No relay has written it so. Restore the database from its backup, or mend its rows by hand; "
      + "then move."
  }

  /// See ``MoveSource``.
  package func prepare() throws(StoreError) {}

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
    try requireStore(in: address, to: "reopen")
    let seat = try MoveSeat(at: address)
    defer { seat.leave() }
    guard let mark = try seat.mark() else { return nil }
    guard mark.side == .departed else { throw mark.refusal(to: "reopen", address.subject) }
    try seat.write([DatabaseMoveMark.removal])
    return mark.place
  }

  // MARK: - As a target

  /// See ``MoveTarget``.
  package func requireFree() throws(StoreError) {
    guard try seat.mark() == nil else { return }
    let filled = try filledTables()
    guard !filled.isEmpty else { return }
    throw StoreError(
      kind: .other, operation: "move to", subject: place,
      detail: "it is not empty: there are rows in \(filled.joined(separator: ", ")). Make a new "
        + "database, on which no relay was started.")
  }

  /// The tables that a target has to find empty, and are not.
  private func filledTables() throws(StoreError) -> [String] {
    let rows = try seat.read(
      MovedTable.emptied.map { PostgresCommand(sql: "SELECT EXISTS (SELECT 1 FROM \($0))") })
    return zip(MovedTable.emptied, rows).filter { $0.1.bool(0, 0) }.map(\.0)
  }

  /// See ``MoveTarget``.
  package func begin(_ mark: MoveMark) throws(StoreError) {
    let tables = MovedTable.emptied.joined(separator: ", ")
    let rest = try seat.mark() == nil ? [] : [PostgresCommand(sql: "TRUNCATE \(tables)")]
    try seat.write(rest + DatabaseMoveMark.set(mark))
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
          """),
        // Older relays would forget envelopes without a word in ledgers, or take repeats for new.
        PostgresCommand(
          """
          UPDATE schema_version SET usable_from = CASE
            WHEN EXISTS (SELECT 1 FROM remembered_key) THEN greatest(usable_from, 6)
            WHEN EXISTS (SELECT 1 FROM lane_ledger) THEN greatest(usable_from, 5)
            ELSE usable_from END
          """),
      ] + statistics)
  }

  /// See ``MoveTarget``.
  package func damage() throws(StoreError) -> String? { nil }

  /// See ``MoveTarget``.
  package func open() throws(StoreError) { try seat.write([DatabaseMoveMark.removal]) }
}
#endif
