#if PostgreSQL
import Postgres
import RelayCore

extension DatabaseWriter {
  /// Records the beginning of an operation, and deletes the oldest if there are too many.
  ///
  /// - Returns: Its number.
  func beginOperation(_ operation: Operation) throws(StoreError) -> Int64 {
    let rows = try write(
      [
        .insert(operation, by: seat.process),
        PostgresCommand(
          """
          DELETE FROM operation WHERE number <= (SELECT last FROM counted WHERE kind = 1) - $1
          """, [.int64(Int64(OperationLimits.keptMax))]),
      ], shards: [])
    if let rows { return rows[0].int64(0, 0) }
    return try read([.lastNumber(in: "operation", of: seat.process)])[0].int64(0, 0)
  }

  /// Records the progress of an operation.
  func noteOperation(_ operation: Operation) throws(StoreError) {
    try write(
      [
        PostgresCommand(
          """
          UPDATE operation SET done = $2, failed = $3, state = $4, ended_at = $5, refusals = $6
          WHERE number = $1
          """,
          [
            .int64(operation.number), .int64(Int64(operation.done)),
            .int64(Int64(operation.failed)), .int16(Int16(operation.state.code)),
            .int64(operation.endedAt?.millisecondsSinceEpoch),
            .text(OperationCode.text(of: operation.refusals).storable),
          ])
      ], shards: [])
  }

  /// Records that an incarnation's running operations were interrupted.
  func interruptOperations(
    of incarnation: Incarnation, at time: WallTime
  ) throws(StoreError) {
    try write(
      [
        PostgresCommand(
          sql: """
            UPDATE operation SET state = \(Operation.State.interrupted.code), ended_at = $2
            WHERE process = $1 AND state = \(Operation.State.running.code)
            """, [.int64(incarnation.rawValue), .int64(time.millisecondsSinceEpoch)])
      ], shards: [])
  }
}

extension DatabaseReader {
  /// The processes that have ended, and have left operations that are stored as running.
  func endedIncarnations() throws(StoreError) -> [Incarnation] {
    let rows = try run([
      PostgresCommand(
        sql: """
          SELECT DISTINCT process FROM operation WHERE state = \(Operation.State.running.code)
            AND NOT EXISTS (SELECT 1 FROM seat WHERE seat.process = operation.process)
          """)
    ])[0]
    return (0..<rows.count).map { Incarnation(rawValue: rows.int64($0, 0)) }
  }

  /// All kept operations, the newest first.
  func operations() throws(StoreError) -> [Operation] {
    let rows = try run([
      PostgresCommand(
        """
        SELECT number, started_at, who, action, matched, has_more, has_fresh_keys, done, failed,
          state, ended_at, refusals, client, lane, upstream, tag, states, accepted_since,
          accepted_until, ended_since, ended_until, status, reason, is_discarded, error_id
        FROM operation ORDER BY number DESC LIMIT $1
        """, [.int64(Int64(OperationLimits.keptMax))])
    ])[0]
    var operations: [Operation] = []
    for row in 0..<rows.count { operations.append(try Operation(rows, row)) }
    return operations
  }
}

extension PostgresCommand {
  fileprivate static func insert(_ operation: Operation, by process: Int64) -> PostgresCommand {
    PostgresCommand(
      """
      WITH next AS (UPDATE counted SET last = last + 1 WHERE kind = 1 RETURNING last)
      INSERT INTO operation (number, done, failed, state, refusals, process, started_at, who,
        action, matched, has_more, has_fresh_keys, client, lane, upstream, tag, states,
        accepted_since, accepted_until, ended_since, ended_until, status, reason, is_discarded,
        error_id)
      SELECT last, 0, 0, 0, '', $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
        $16, $17, $18, $19, $20
      FROM next RETURNING number
      """,
      [
        .int64(process), .int64(operation.startedAt.millisecondsSinceEpoch),
        .text(operation.who.storable), .text(operation.action.rawValue),
        .int64(Int64(operation.matched)), .bool(operation.hasMore), .bool(operation.hasFreshKeys),
      ] + values(of: operation.filter))
  }

  private static func values(of filter: EnvelopeSelection) -> [PostgresValue] {
    [
      .text(filter.client?.storable), .text(filter.lane?.storable),
      .text(filter.upstream?.storable), .text(filter.tag?.storable), .text(filter.stateWords),
      .int64(filter.accepted.since?.millisecondsSinceEpoch),
      .int64(filter.accepted.until?.millisecondsSinceEpoch),
      .int64(filter.ended.since?.millisecondsSinceEpoch),
      .int64(filter.ended.until?.millisecondsSinceEpoch), .int64(filter.status.map { Int64($0) }),
      .text(filter.reason?.storable), .bool(filter.isDiscarded), .text(filter.errorID?.storable),
    ]
  }
}

extension Operation {
  /// Reads what ``DatabaseReader/operations()`` asks for.
  fileprivate init(_ rows: PostgresRows, _ row: Int) throws(StoreError) {
    guard let action = Action(rawValue: rows.text(row, 3)),
      let state = State(code: Int64(rows.int16(row, 9)))
    else { throw .invalidRow("an operation that is none") }
    var begun = Operation(
      action, EnvelopeSelection(rows, row, from: 12), matched: Int(rows.int64(row, 4)),
      hasMore: rows.bool(row, 5), who: rows.text(row, 2),
      at: WallTime(millisecondsSinceEpoch: rows.int64(row, 1)))
    begun.hasFreshKeys = rows.bool(row, 6)
    self.init(
      begun, number: rows.int64(row, 0), done: Int(rows.int64(row, 7)),
      failed: Int(rows.int64(row, 8)), state: state,
      endedAt: WallTime(stored: rows.int64OrNil(row, 10)),
      refusals: OperationCode.refusals(rows.text(row, 11)))
  }
}

extension EnvelopeSelection {
  /// Reads its parts, which begin at this place.
  fileprivate init(_ rows: PostgresRows, _ row: Int, from first: Int) {
    self.init(
      client: rows.textOrNil(row, first), lane: rows.textOrNil(row, first + 1),
      upstream: rows.textOrNil(row, first + 2), tag: rows.textOrNil(row, first + 3),
      states: OperationCode.states(rows.text(row, first + 4)))
    let time = { (column: Int) in WallTime(stored: rows.int64OrNil(row, first + column)) }
    accepted = TimeSpan(since: time(5), until: time(6))
    ended = TimeSpan(since: time(7), until: time(8))
    status = rows.int64OrNil(row, first + 9).map { Int(truncatingIfNeeded: $0) }
    reason = rows.textOrNil(row, first + 10)
    isDiscarded = rows.boolOrNil(row, first + 11)
    errorID = rows.textOrNil(row, first + 12)
  }
}
#endif
