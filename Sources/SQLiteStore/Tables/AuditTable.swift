import RelayCore
import SQLite

/// The audit log, as the writer keeps it.
final class AuditStatements {
  private let insertRow: Statement
  private let updateRow: Statement
  private let deleteRows: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    insertRow = try Statement(
      """
      INSERT INTO audit (number, at, who, role, action, subject, result) \
      VALUES ((SELECT coalesce(max(number), 0) + 1 FROM audit), ?, ?, ?, ?, ?, 0) \
      RETURNING number
      """, on: connection)
    updateRow = try Statement(
      "UPDATE audit SET result = ?, status = ?, detail = ? WHERE number = ?", on: connection)
    deleteRows = try Statement(
      """
      DELETE FROM audit WHERE number IN \
      (SELECT number FROM audit WHERE number <= ? ORDER BY number LIMIT ?)
      """, on: connection)
  }

  /// Records an act, and deletes some of the oldest if there are more than `entriesMax`.
  ///
  /// A few more are deleted than added, so that a lower limit is reached in short steps.
  func begin(_ act: AuditAct, entriesMax: Int) throws(StoreError) -> Int64 {
    let number = try insertRow.first(act.at, act.who, act.role, act.action, act.subject) {
      $0.int(0)
    }
    guard let number else { throw .invalidRow("an audit entry without a number") }
    let tooOld = number - Int64(entriesMax)
    if tooOld > 0 { try deleteRows.run(tooOld, StoreTuning.auditEntriesForgottenMax) }
    return number
  }

  /// Records the result of an act.
  func end(_ number: Int64, _ end: AuditEnd) throws(StoreError) {
    try updateRow.run(end.result.code, end.status, end.detail, number)
  }
}

/// The audit log, as the readers see it.
final class AuditQueries {
  private let all: Statement
  private let ofSubject: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    let columns = "number, at, who, role, action, subject, result, status, detail"
    all = try Statement(
      "SELECT \(columns) FROM audit WHERE number < ? ORDER BY number DESC LIMIT ?",
      on: connection)
    ofSubject = try Statement(
      """
      SELECT \(columns) FROM audit WHERE subject = ? AND number < ? ORDER BY number DESC LIMIT ?
      """, on: connection)
  }

  /// The audit log, backwards.
  func acts(
    before number: Int64?, subject: String?, countMax: Int
  ) throws(StoreError) -> AuditPage {
    let before = number ?? .max
    let page =
      if let subject {
        try ofSubject.page(subject, before, countMax: countMax, read: AuditEntry.init(_:))
      } else {
        try all.page(before, countMax: countMax, read: AuditEntry.init(_:))
      }
    return AuditPage(entries: page.rows, hasMore: page.hasMore)
  }
}

extension AuditEntry {
  /// The entry in the present row.
  fileprivate init(_ row: borrowing Statement) throws(StoreError) {
    guard let result = AuditEnd.Result(code: row.int(6)) else {
      throw .invalidRow("an act that ended as \(row.int(6))")
    }
    self.init(
      number: row.int(0),
      act: AuditAct(
        at: row.time(1), who: row.text(2) ?? "", role: row.text(3) ?? "",
        action: row.text(4) ?? "", subject: row.text(5) ?? ""),
      end: AuditEnd(result, status: row.optionalInt(7).map { Int($0) }, detail: row.text(8)))
  }
}

extension AuditEnd.Result: StoredCode {}
