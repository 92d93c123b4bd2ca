import RelayCore

/// The writer's statements on the audit log, prepared once.
final class AuditStatements {
  let begin: Statement
  let end: Statement
  let forget: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    begin = try Statement(
      """
      INSERT INTO audit (number, at, who, role, action, subject, result) \
      VALUES ((SELECT coalesce(max(number), 0) + 1 FROM audit), ?, ?, ?, ?, ?, 0) \
      RETURNING number
      """, on: connection)
    end = try Statement(
      "UPDATE audit SET result = ?, status = ?, detail = ? WHERE number = ?", on: connection)
    forget = try Statement(
      """
      DELETE FROM audit WHERE number IN \
      (SELECT number FROM audit WHERE number <= ? ORDER BY number LIMIT ?)
      """, on: connection)
  }
}

/// The readers' queries of the audit log, prepared once.
final class AuditQueries {
  let all: Statement
  let ofSubject: Statement

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
}
