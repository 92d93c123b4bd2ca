import RelayCore

/// The writer's statements on operations, prepared once.
final class OperationStatements {
  let begin: Statement
  let note: Statement
  let interrupt: Statement
  let forget: Statement
  /// The number of the first operation that this process has begun; nil if it has begun none.
  private var firstOwn: Int64?

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
      "UPDATE operation SET state = 3, ended_at = ? WHERE state = 0 AND number BETWEEN ? AND ?",
      on: connection)
    forget = try Statement("DELETE FROM operation WHERE number <= ?", on: connection)
  }

  /// Notes that this process has begun the operation of this number.
  func noteOwn(_ number: Int64) { firstOwn = min(firstOwn ?? number, number) }

  /// The numbers of an incarnation's operations; nil if it is none of this store's.
  ///
  /// Numbers grow, and one process at a time has the store open. So nothing of this has to be
  /// stored.
  func numbers(of incarnation: Incarnation) -> ClosedRange<Int64>? {
    let first = firstOwn ?? .max
    switch incarnation {
    case .earlier: return 0...(first - 1)
    case .present: return first...(.max)
    default: return nil
    }
  }
}

extension Incarnation {
  /// All processes that had the store open before this one, which can be told from it alone.
  static let earlier = Incarnation(rawValue: 0)
  /// The process that has the store open.
  static let present = Incarnation(rawValue: 1)
}

/// The readers' queries of operations, prepared once.
final class OperationQueries {
  let all: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    all = try Statement(
      """
      SELECT number, started_at, who, action, client, lane, upstream, tag, states, matched, \
      has_more, done, failed, state, ended_at, refusals FROM operation ORDER BY number DESC LIMIT ?
      """, on: connection)
  }
}

/// The encoding of operations in the database, fixed for good.
enum OperationCode {
  /// A line for each refusal: the problem, the number of envelopes, an example.
  static func text(of refusals: [Operation.Refusal]) -> String {
    refusals.map { "\($0.problem) \($0.count) \($0.example)" }.joined(separator: "\n")
  }

  /// The refusals in a text; lines that are not valid are left out.
  static func refusals(_ text: String) -> [Operation.Refusal] {
    text.split(separator: "\n").prefix(Operation.refusalsMax).compactMap { line in
      let words = line.split(separator: " ")
      guard words.count == 3, let count = Int(words[1]), count >= 0,
        let example = EnvelopeID(parsing: String(words[2]))
      else { return nil }
      return Operation.Refusal(problem: String(words[0]), count: count, example: example)
    }
  }

  /// The states of a filter; words that are not valid are left out.
  static func states(_ text: String) -> Set<EnvelopeState> {
    Set(text.split(separator: ",").compactMap { EnvelopeState(rawValue: String($0)) })
  }
}
