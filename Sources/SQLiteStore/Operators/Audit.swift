import RelayCore

extension Writer {
  /// Records an act, and deletes some of the oldest if there are too many.
  ///
  /// A few more are deleted than added, so that a lower limit is reached in short steps.
  func beginAct(_ act: AuditAct) throws(StoreError) -> Int64 {
    audit.begin.bind(1, act.at.millisecondsSinceEpoch)
    audit.begin.bind(2, act.who)
    audit.begin.bind(3, act.role)
    audit.begin.bind(4, act.action)
    audit.begin.bind(5, act.subject)
    guard try audit.begin.step() else { throw .invalidRow("an audit entry without a number") }
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

  /// Records the result of an act.
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
  /// The entry in the present row.
  fileprivate init(_ row: borrowing Statement) throws(StoreError) {
    guard let result = AuditEnd.Result(code: row.int(6)) else {
      throw .invalidRow("an act that ended as \(row.int(6))")
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
  /// The code of the result in the database, fixed for good.
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

extension SQLiteStore {
  /// Implements `AuditStore.beginAct`.
  package func beginAct(_ act: AuditAct) async throws(StoreError) -> Int64 {
    try await write("write an act down") { writer throws(StoreError) in
      try writer.beginAct(act)
    }
  }

  /// Implements `AuditStore.endAct`.
  package func endAct(_ number: Int64, _ end: AuditEnd) async throws(StoreError) {
    try await write("write down what became of an act") { writer throws(StoreError) in
      try writer.endAct(number, end)
    }
  }

  /// Implements `AuditStore.acts`.
  package func acts(
    before number: Int64?, subject: String?, countMax: Int
  ) async throws(StoreError) -> AuditPage {
    try await read { reader throws(StoreError) in
      try reader.acts(before: number, subject: subject, countMax: countMax)
    }
  }
}
