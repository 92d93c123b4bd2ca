import RelayCore
import SQLite

/// The operations, as the writer keeps them.
final class OperationStatements {
  private let insertRow: Statement
  private let updateRow: Statement
  private let interruptRows: Statement
  private let deleteRows: Statement
  /// The number of the first operation that this process has begun; nil if it has begun none.
  private var firstOwn: Int64?

  init(on connection: borrowing Connection) throws(StoreError) {
    insertRow = try Statement(
      """
      INSERT INTO operation (number, started_at, who, action, client, lane, upstream, tag, states, \
      matched, has_more, accepted_since, accepted_until, ended_since, ended_until, status, reason, \
      error_id, has_fresh_keys, done, failed, state, refusals) \
      VALUES ((SELECT coalesce(max(number), 0) + 1 FROM operation), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, \
      ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, '') RETURNING number
      """, on: connection)
    updateRow = try Statement(
      """
      UPDATE operation SET done = ?, failed = ?, state = ?, ended_at = ?, refusals = ? \
      WHERE number = ?
      """, on: connection)
    interruptRows = try Statement(
      """
      UPDATE operation SET state = \(Operation.State.interrupted.code), ended_at = ? \
      WHERE state = \(Operation.State.running.code) AND number BETWEEN ? AND ?
      """, on: connection)
    deleteRows = try Statement("DELETE FROM operation WHERE number <= ?", on: connection)
  }

  /// Records the beginning of an operation, and deletes the oldest if there are too many.
  func begin(_ operation: Operation) throws(StoreError) -> Int64 {
    let filter = operation.filter
    insertRow.set(
      operation.startedAt, operation.who, operation.action.rawValue, filter.client, filter.lane,
      filter.upstream, filter.tag, filter.stateWords, operation.matched, operation.hasMore,
      filter.accepted.since, filter.accepted.until, filter.ended.since, filter.ended.until,
      filter.status, filter.reason)
    insertRow.bind(17, filter.errorID)
    insertRow.bind(18, operation.hasFreshKeys)
    defer { insertRow.reset() }
    guard try insertRow.step() else { throw .invalidRow("an operation without a number") }
    let number = insertRow.int(0)
    firstOwn = min(firstOwn ?? number, number)
    try deleteRows.run(number - Int64(OperationLimits.keptMax))
    return number
  }

  /// Records the progress of an operation.
  func note(_ operation: Operation) throws(StoreError) {
    try updateRow.run(
      operation.done, operation.failed, operation.state.code, operation.endedAt,
      OperationCode.text(of: operation.refusals), operation.number)
  }

  /// Records that an incarnation's running operations were interrupted.
  func interrupt(of incarnation: Incarnation, at time: WallTime) throws(StoreError) {
    guard let numbers = numbers(of: incarnation) else { return }
    try interruptRows.run(time, numbers.lowerBound, numbers.upperBound)
  }

  /// The numbers of an incarnation's operations; nil if it is none of this store's.
  ///
  /// Numbers grow, and one process at a time has the store open. So nothing of this has to be
  /// stored.
  private func numbers(of incarnation: Incarnation) -> ClosedRange<Int64>? {
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

/// The operations, as the readers see them.
final class OperationQueries {
  private let latest: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    latest = try Statement(
      """
      SELECT number, started_at, who, action, client, lane, upstream, tag, states, matched, \
      has_more, done, failed, state, ended_at, refusals, accepted_since, accepted_until, \
      ended_since, ended_until, status, reason, error_id, has_fresh_keys \
      FROM operation ORDER BY number DESC LIMIT ?
      """, on: connection)
  }

  /// All kept operations, the newest first.
  func all() throws(StoreError) -> [Operation] {
    try latest.rows(OperationLimits.keptMax, read: Operation.init(_:))
  }
}

extension Operation {
  /// The operation in the present row.
  fileprivate init(_ row: borrowing Statement) throws(StoreError) {
    guard let action = Action(rawValue: row.text(3) ?? ""), let state = State(code: row.int(13))
    else { throw .invalidRow("an operation that is none") }
    var begun = Operation(
      action, EnvelopeSelection(operation: row), matched: Int(row.int(9)), hasMore: row.bool(10),
      who: row.text(2) ?? "", at: row.time(1))
    begun.hasFreshKeys = row.bool(23)
    self.init(
      begun,
      number: row.int(0), done: Int(row.int(11)), failed: Int(row.int(12)), state: state,
      endedAt: row.optionalTime(14), refusals: OperationCode.refusals(row.text(15) ?? ""))
  }
}

extension EnvelopeSelection {
  /// What the operation in the present row selects.
  fileprivate init(operation row: borrowing Statement) {
    self.init(
      client: row.text(4), lane: row.text(5), upstream: row.text(6), tag: row.text(7),
      states: OperationCode.states(row.text(8) ?? ""))
    accepted = TimeSpan(since: row.optionalTime(16), until: row.optionalTime(17))
    ended = TimeSpan(since: row.optionalTime(18), until: row.optionalTime(19))
    status = row.optionalInt(20).map { Int(truncatingIfNeeded: $0) }
    reason = row.text(21)
    errorID = row.text(22)
  }
}

extension Operation.State: StoredCode {}
