#if PostgreSQL
import Postgres
import PostgresTesting
import Testing

/// Whether a store that was closed has kept the counts that its tables give.
enum KeptCountsLook {
  /// What is kept, and what is counted, without the latest time.
  private static let look = """
    SELECT counts[:3] || counts[5:], ARRAY[
      (SELECT coalesce(sum(bytes), 0)::bigint FROM (
        SELECT bytes FROM line UNION ALL SELECT bytes FROM ended) AS each),
      (SELECT count(*) FROM client), (SELECT count(*) FROM lane),
      (SELECT count(*) FROM line WHERE standing = 0),
      (SELECT count(*) FROM line WHERE standing = 1),
      (SELECT count(*) FROM line WHERE standing = 2),
      (SELECT count(*) FROM line WHERE standing = 3),
      (SELECT count(*) FROM ended WHERE state = 1),
      (SELECT count(*) FROM ended WHERE state = 2),
      (SELECT count(*) FROM ended WHERE state = 3),
      (SELECT count(*) FROM ended WHERE state = 4)
    ] FROM kept_counts
    """

  /// Fails the test if they differ.
  ///
  /// A store in which nothing was written has kept none.
  static func check(_ database: TestDatabase) throws {
    var connection = try database.connect()
    let rows = try connection.run([PostgresCommand(sql: look)])[0]
    guard rows.count == 1 else { return }
    #expect(rows.int64s(0, 0) == rows.int64s(0, 1), "the counts that were kept, and what there is")
  }
}
#endif
