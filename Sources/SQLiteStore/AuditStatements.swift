import RelayCore

/// What the writer says to the audit log, prepared once.
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

/// What readers ask the audit log, prepared once.
final class AuditQuestions {
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

extension Writer {
  /// Writes an act down, and forgets some of the oldest if there are too many.
  ///
  /// A few more go than come, so that a lower limit is reached in steps that nobody feels.
  func beginAct(_ act: AuditAct) throws(StoreError) -> Int64 {
    audit.begin.bind(1, act.at.millisecondsSinceEpoch)
    audit.begin.bind(2, act.who)
    audit.begin.bind(3, act.role)
    audit.begin.bind(4, act.action)
    audit.begin.bind(5, act.subject)
    guard try audit.begin.step() else { throw .senseless("an audit entry without a number") }
    let number = audit.begin.int(0)
    audit.begin.reset()
    let tooOld = number - Int64(shared.auditEntriesMax)
    if tooOld > 0 {
      audit.forget.bind(1, tooOld)
      audit.forget.bind(2, Int64(StoreTuning.auditEntriesForgottenMax))
      try audit.forget.run()
    }
    return number
  }

  /// Writes down what became of an act.
  func endAct(_ number: Int64, _ end: AuditEnd) throws(StoreError) {
    audit.end.bind(1, end.result.code)
    audit.end.bind(2, end.status.map { Int64($0) })
    audit.end.bind(3, end.detail)
    audit.end.bind(4, number)
    try audit.end.run()
  }
}

extension Reader {
  /// The audit log, backwards.
  func acts(
    before number: Int64?, subject: String?, countMax: Int
  ) throws(StoreError) -> AuditPage {
    let before = number ?? .max
    if let subject {
      audit.ofSubject.bind(1, subject)
      audit.ofSubject.bind(2, before)
      audit.ofSubject.bind(3, Int64(countMax) + 1)
      return try page(audit.ofSubject, countMax)
    }
    audit.all.bind(1, before)
    audit.all.bind(2, Int64(countMax) + 1)
    return try page(audit.all, countMax)
  }

  private func page(
    _ statement: borrowing Statement, _ countMax: Int
  ) throws(StoreError) -> AuditPage {
    var page = AuditPage(entries: [], hasMore: false)
    while try statement.step() {
      guard page.entries.count < countMax else {
        page.hasMore = true
        statement.reset()
        break
      }
      page.entries.append(try AuditEntry(statement))
    }
    return page
  }
}

extension AuditEntry {
  /// The entry that the present row speaks of.
  fileprivate init(_ row: borrowing Statement) throws(StoreError) {
    guard let result = AuditEnd.Result(code: row.int(6)) else {
      throw .senseless("an act that ended as \(row.int(6))")
    }
    self.init(
      number: row.int(0),
      act: AuditAct(
        at: WallTime(millisecondsSinceEpoch: row.int(1)), who: row.text(2) ?? "",
        role: row.text(3) ?? "", action: row.text(4) ?? "", subject: row.text(5) ?? ""),
      end: AuditEnd(result, status: row.optionalInt(7).map { Int($0) }, detail: row.text(8)))
  }
}

extension AuditEnd.Result {
  /// How it is written in the database, fixed for good.
  fileprivate var code: Int64 {
    switch self {
    case .begun: 0
    case .done: 1
    case .refused: 2
    case .failed: 3
    }
  }

  fileprivate init?(code: Int64) {
    guard let result = Self.allCases.first(where: { $0.code == code }) else { return nil }
    self = result
  }
}
