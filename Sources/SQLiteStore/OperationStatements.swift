import RelayCore

/// What the writer says of operations, prepared once.
final class OperationStatements {
  let begin: Statement
  let note: Statement
  let interrupt: Statement
  let forget: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    begin = try Statement(
      """
      INSERT INTO operation (number, started_at, who, action, client, lane, upstream, tag, states, \
      matched, has_more, done, failed, state, refusals) \
      VALUES ((SELECT coalesce(max(number), 0) + 1 FROM operation), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, \
      0, 0, 0, '') RETURNING number
      """, on: connection)
    note = try Statement(
      """
      UPDATE operation SET done = ?, failed = ?, state = ?, ended_at = ?, refusals = ? \
      WHERE number = ?
      """, on: connection)
    interrupt = try Statement(
      "UPDATE operation SET state = 3, ended_at = ? WHERE state = 0", on: connection)
    forget = try Statement("DELETE FROM operation WHERE number <= ?", on: connection)
  }
}

/// What readers ask of operations, prepared once.
final class OperationQuestions {
  let all: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    all = try Statement(
      """
      SELECT number, started_at, who, action, client, lane, upstream, tag, states, matched, \
      has_more, done, failed, state, ended_at, refusals FROM operation ORDER BY number DESC LIMIT ?
      """, on: connection)
  }
}

extension Writer {
  /// Writes down that an operation begins, and forgets the oldest if there are too many.
  func begin(_ operation: Operation) throws(StoreError) -> Int64 {
    operations.begin.bind(1, operation.startedAt.millisecondsSinceEpoch)
    operations.begin.bind(2, operation.who)
    operations.begin.bind(3, operation.action.rawValue)
    operations.begin.bind(4, operation.filter.client)
    operations.begin.bind(5, operation.filter.lane)
    operations.begin.bind(6, operation.filter.upstream)
    operations.begin.bind(7, operation.filter.tag)
    operations.begin.bind(8, operation.filter.stateWords)
    operations.begin.bind(9, Int64(operation.matched))
    operations.begin.bind(10, operation.hasMore ? 1 : Int64(0))
    guard try operations.begin.step() else { throw .senseless("an operation without a number") }
    let number = operations.begin.int(0)
    operations.begin.reset()
    operations.forget.bind(1, number - Int64(OperationLimits.keptMax))
    try operations.forget.run()
    return number
  }

  /// Writes down how far an operation has come.
  func note(_ operation: Operation) throws(StoreError) {
    operations.note.bind(1, Int64(operation.done))
    operations.note.bind(2, Int64(operation.failed))
    operations.note.bind(3, operation.state.code)
    operations.note.bind(4, operation.endedAt?.millisecondsSinceEpoch)
    operations.note.bind(5, OperationCode.text(of: operation.refusals))
    operations.note.bind(6, operation.number)
    try operations.note.run()
  }

  /// Writes down that those which are running are not.
  func interruptOperations(at time: WallTime) throws(StoreError) {
    operations.interrupt.bind(1, time.millisecondsSinceEpoch)
    try operations.interrupt.run()
  }
}

extension Reader {
  /// All that are kept, the newest first.
  func allOperations() throws(StoreError) -> [Operation] {
    operations.all.bind(1, Int64(OperationLimits.keptMax))
    var found: [Operation] = []
    while try operations.all.step() { found.append(try Operation(operations.all)) }
    return found
  }
}

/// How what operations say is written in the database, fixed for good.
enum OperationCode {
  /// A line each: the problem, of how many, an example.
  static func text(of refusals: [Operation.Refusal]) -> String {
    refusals.map { "\($0.problem) \($0.count) \($0.example)" }.joined(separator: "\n")
  }

  /// What some lines say; those that make no sense are left out.
  static func refusals(_ text: String) -> [Operation.Refusal] {
    text.split(separator: "\n").prefix(Operation.refusalsMax).compactMap { line in
      let words = line.split(separator: " ")
      guard words.count == 3, let count = Int(words[1]), count >= 0,
        let example = EnvelopeID(parsing: String(words[2]))
      else { return nil }
      return Operation.Refusal(problem: String(words[0]), count: count, example: example)
    }
  }

  /// The states of a filter; those that make no sense are left out.
  static func states(_ text: String) -> Set<EnvelopeState> {
    Set(text.split(separator: ",").compactMap { EnvelopeState(rawValue: String($0)) })
  }
}

extension Operation {
  /// The operation that the present row speaks of.
  fileprivate init(_ row: borrowing Statement) throws(StoreError) {
    guard let action = Action(rawValue: row.text(3) ?? ""), let state = State(code: row.int(13))
    else { throw .senseless("an operation that is none") }
    let filter = Filter(
      client: row.text(4), lane: row.text(5), upstream: row.text(6), tag: row.text(7),
      states: OperationCode.states(row.text(8) ?? ""))
    self.init(
      Operation(
        action, filter, matched: Int(row.int(9)), hasMore: row.int(10) != 0,
        who: row.text(2) ?? "", at: WallTime(millisecondsSinceEpoch: row.int(1))),
      number: row.int(0), done: Int(row.int(11)), failed: Int(row.int(12)), state: state,
      endedAt: row.optionalInt(14).map { WallTime(millisecondsSinceEpoch: $0) },
      refusals: OperationCode.refusals(row.text(15) ?? ""))
  }
}

extension Operation.State {
  /// How it is written in the database, fixed for good.
  fileprivate var code: Int64 {
    switch self {
    case .running: 0
    case .done: 1
    case .stopped: 2
    case .interrupted: 3
    }
  }

  fileprivate init?(code: Int64) {
    guard let state = Self.allCases.first(where: { $0.code == code }) else { return nil }
    self = state
  }
}
