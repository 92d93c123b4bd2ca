#if PostgreSQL
import Postgres
import PostgresTesting
import RelayCore
import Testing

@testable import PostgresStore

@Suite(
  "what a batch of posts asks",
  .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed"),
  .timeLimit(.minutes(5)))
struct LookUpTests {
  @Test("goes by the indexes also while the server knows nothing of the tables yet")
  func plans() async throws {
    let bench = try StoreBench()
    await (try bench.open(QuietObserver())).close()
    var connection = try bench.database.connect()
    try connection.execute(
      script: """
        ALTER TABLE client SET (autovacuum_enabled = false);
        ALTER TABLE lane SET (autovacuum_enabled = false);
        INSERT INTO client SELECT n, 0, 'client-' || n FROM generate_series(1, 20000) n;
        INSERT INTO lane (number, client, name)
          SELECT n, n, 'default' FROM generate_series(1, 20000) n;
        ALTER TABLE remembered_key SET (autovacuum_enabled = false);
        INSERT INTO remembered_key
          SELECT uuid_send(gen_random_uuid()), n, '' FROM generate_series(1, 20000) n;
        """)
    let drafts = (1...250).map { number in
      var draft = StoreBench.draft(number)
      draft.client = "client-\(number)"
      draft.sequence = Int64(number)
      return draft
    }
    let asked = AskedFacts(AppendQuestions(of: drafts), remembersKeys: true)
    for command in asked.commands.dropFirst() {
      let rows = try connection.run([
        PostgresCommand(sql: "EXPLAIN " + command.sql, command.values)
      ])[0]
      let plan = (0..<rows.count).map { rows.text($0, 0) }.joined(separator: "\n")
      #expect(!plan.contains("Seq Scan on lane"), "\(plan)")
      #expect(!plan.contains("Seq Scan on client"), "\(plan)")
      #expect(!plan.contains("Seq Scan on remembered_key"), "\(plan)")
    }
  }
}
#endif
