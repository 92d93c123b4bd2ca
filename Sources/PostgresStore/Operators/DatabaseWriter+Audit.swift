#if PostgreSQL
import Postgres
import RelayCore

extension DatabaseWriter {
  /// Records an act, and deletes some of the oldest if there are more than are kept.
  ///
  /// - Returns: Its number.
  func beginAct(_ act: AuditAct) throws(StoreError) -> Int64 {
    let rows = try write(
      [
        PostgresCommand(
          """
          WITH next AS (UPDATE counted SET last = last + 1 WHERE kind = 0 RETURNING last)
          INSERT INTO audit SELECT last, $1, $2, $3, $4, $5, $6, 0 FROM next RETURNING number
          """,
          [
            .int64(seat.process), .int64(act.at.millisecondsSinceEpoch), .text(act.who.storable),
            .text(act.role.storable), .text(act.action.storable), .text(act.subject.storable),
          ]),
        // A few more than are added, so that a lower limit is reached in short steps.
        PostgresCommand(
          """
          DELETE FROM audit WHERE number IN (
            SELECT number FROM audit
            WHERE number <= (SELECT last FROM counted WHERE kind = 0) - $1
            ORDER BY number LIMIT $2)
          """,
          [.int64(Int64(shared.auditEntriesMax)), .int64(limits.auditEntriesForgottenMax)]),
      ], shards: [])
    if let rows { return rows[0].int64(0, 0) }
    return try read([.lastNumber(in: "audit", of: seat.process)])[0].int64(0, 0)
  }

  /// Records the result of an act.
  func endAct(_ number: Int64, _ end: AuditEnd) throws(StoreError) {
    try write(
      [
        PostgresCommand(
          "UPDATE audit SET result = $2, status = $3, detail = $4 WHERE number = $1",
          [
            .int64(number), .int16(Int16(end.result.code)),
            .int32(end.status.map { Int32(truncatingIfNeeded: $0) }), .text(end.detail?.storable),
          ])
      ], shards: [])
  }
}

extension DatabaseReader {
  /// A page of the audit log, backwards.
  func acts(
    before number: Int64?, subject: String?, countMax: Int
  ) throws(StoreError) -> AuditPage {
    let rows = try run([
      PostgresCommand(
        sql: """
          SELECT number, at, who, role, action, subject, result, status, detail FROM audit
          WHERE number < $1 \(subject == nil ? "" : "AND subject = $3")
          ORDER BY number DESC LIMIT $2
          """,
        [.int64(number ?? .max), .int64(Int64(countMax) + 1)]
          + (subject.map { [.text($0.storable)] } ?? []))
    ])[0]
    var entries: [AuditEntry] = []
    for row in 0..<min(rows.count, countMax) { entries.append(try AuditEntry(rows, row)) }
    return AuditPage(entries: entries, hasMore: rows.count > countMax)
  }
}

extension PostgresCommand {
  /// Asks for the last number of a process: its own transaction's, whose answer was lost.
  static func lastNumber(in table: String, of process: Int64) -> PostgresCommand {
    PostgresCommand(
      sql: "SELECT max(number) FROM \(table) WHERE process = $1", [.int64(process)])
  }
}

extension AuditEntry {
  /// Reads number, time, who, role, action, subject, result, status and detail.
  fileprivate init(_ rows: PostgresRows, _ row: Int) throws(StoreError) {
    let code = Int64(rows.int16(row, 6))
    guard let result = AuditEnd.Result(code: code) else {
      throw .invalidRow("an act that ended as \(code)")
    }
    self.init(
      number: rows.int64(row, 0),
      act: AuditAct(
        at: WallTime(millisecondsSinceEpoch: rows.int64(row, 1)), who: rows.text(row, 2),
        role: rows.text(row, 3), action: rows.text(row, 4), subject: rows.text(row, 5)),
      end: AuditEnd(
        result, status: rows.int32OrNil(row, 7).map { Int($0) }, detail: rows.textOrNil(row, 8)))
  }
}
#endif
