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
    var known = GenerationCache<LaneName, KnownLane>(countMax: 9)
    let asked = AskedFacts(AppendQuestions(of: drafts), besides: &known, remembersKeys: true)
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

  @Test("does not name a lane that is known, unless it is about a number in it")
  func knownLanes() {
    let lane = KnownLane(
      client: ClientNumber(rawValue: 3), number: LaneNumber(rawValue: 5), lastSequence: 7)
    var known = GenerationCache<LaneName, KnownLane>(countMax: 9)
    func commands(_ change: (inout EnvelopeDraft) -> Void) -> Int {
      var draft = StoreBench.draft(1)
      (draft.client, draft.key) = ("known", nil)
      change(&draft)
      let questions = AppendQuestions(of: [draft])
      return AskedFacts(questions, besides: &known, remembersKeys: false).commands.count
    }
    #expect(commands { _ in } == 2)
    known.insert(lane, for: LaneName(client: "known", lane: StoreBench.draft(1).lane))
    #expect(commands { _ in } == 0)
    #expect(commands { $0.key = "k" } == 1)
    #expect(commands { $0.lane = "another" } == 2)
    #expect(commands { $0.sequence = 8 } == 5)
  }
}
#endif
