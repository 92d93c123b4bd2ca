#if PostgreSQL
import Postgres
import PostgresStore
import PostgresTesting
import RelayCore
import Testing

@Suite(
  "trouble with the database, and its end though nobody posts",
  .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed"), .timeLimit(.minutes(1)))
struct TroubleTests {
  private let observer = QuietObserver()

  private func waitForEnd(of store: PostgresStore) async {
    for _ in 1...40 {
      guard store.statistics().trouble != nil else { return }
      await observer.nextBeat()
    }
    Issue.record("it stays: \(store.statistics().trouble ?? "")")
  }

  @Test("a connection that was lost while nobody wrote is trouble no longer once there is another")
  func lost() async throws {
    let bench = try StoreBench()
    let store = try bench.open(observer)
    _ = try await store.append([StoreBench.draft(1)], isAtomic: false)
    var connection = try bench.database.connect()
    _ = try connection.run([PostgresCommand("SELECT pg_terminate_backend(backend) FROM seat")])
    // It reads, by another connection, and has nothing to write.
    let long = WallTime(millisecondsSinceEpoch: 0)
    let nothing = RetentionCutoffs(delivered: long, failed: long)
    _ = try await store.deleteEnded(nothing, countMax: 10)
    await waitForEnd(of: store)
    await store.close()
  }

  @Test("what the database refused is trouble until it takes something, and no longer")
  func refused() async throws {
    let bench = try StoreBench()
    let store = try bench.open(observer)
    var connection = try bench.database.connect()
    let table = "ALTER TABLE seat_commit"
    _ = try connection.run([
      PostgresCommand(sql: "\(table) ADD CONSTRAINT broken CHECK (false) NOT VALID")
    ])
    await #expect(throws: StoreError.self) {
      try await store.append([StoreBench.draft(1)], isAtomic: false)
    }
    for _ in 1...5 {
      await observer.nextBeat()
      #expect(store.statistics().trouble?.contains("broken") == true)
    }
    _ = try connection.run([PostgresCommand(sql: "\(table) DROP CONSTRAINT broken")])
    await waitForEnd(of: store)
    await store.close()
  }
}
#endif
