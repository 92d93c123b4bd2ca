#if PostgreSQL
import Postgres

// What each transaction of a seat begins and ends with.
extension PostgresCommand {
  /// Locks a seat's row, and fails if the seat is gone or does not hold these shards.
  static func fence(of incarnation: Int64, _ shards: [Int], epoch: Int64) -> PostgresCommand {
    PostgresCommand(
      "SELECT fence($1, $2, $3)",
      [
        .int64(incarnation), .int32s(shards.map { Int32($0) }),
        .int64s([Int64?](repeating: epoch, count: shards.count)),
      ])
  }

  /// Notes the transaction's number and what there is by it in a seat's own row; the answer is what
  /// the session that is about to commit has as `synchronous_commit`.
  static func mark(
    _ number: Int64, _ counts: KeptCounts?, of incarnation: Int64
  ) -> PostgresCommand {
    PostgresCommand(
      """
      UPDATE seat_commit SET number = $2, counts = nullif($3, '{}') WHERE incarnation = $1
      RETURNING current_setting('synchronous_commit')
      """, [.int64(incarnation), .int64(number), .int64s(counts?.stored ?? [])])
  }
}
#endif
