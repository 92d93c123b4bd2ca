#if PostgreSQL
import Postgres
import PostgresStore
import PostgresTesting
import RelayCore
import Testing

@Suite(
  "the counts that a store keeps for the next start",
  .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed"), .timeLimit(.minutes(5)))
struct KeptCountsTests {
  private func run(_ sql: StaticString, in bench: StoreBench) throws -> PostgresRows {
    var connection = try bench.database.connect()
    return try connection.run([PostgresCommand(sql)])[0]
  }

  private func queued(_ store: PostgresStore) -> Int64 {
    store.statistics().envelopes[.queued] ?? 0
  }

  @Test("are taken from a relay that closed its store, without counting")
  func closed() async throws {
    let bench = try StoreBench()
    let first = try bench.open()
    for number in 1...3 { _ = try await first.append([StoreBench.draft(number)], isAtomic: false) }
    await first.close()
    // Whoever counts finds three.
    _ = try run("UPDATE kept_counts SET counts[5] = counts[5] + 40", in: bench)
    let second = try bench.open()
    #expect(queued(second) == 43)
    #expect(second.statistics().names == first.statistics().names)
    #expect(second.statistics().latestTime == first.statistics().latestTime)
    #expect(second.statistics().contentBytes == first.statistics().contentBytes)
    await second.close()
  }

  @Test("are taken from one that did not live to close it, as of its last transaction")
  func killed() async throws {
    let bench = try StoreBench()
    let first = try bench.open()
    for number in 1...3 { _ = try await first.append([StoreBench.draft(number)], isAtomic: false) }
    _ = try run("UPDATE seat_commit SET counts[5] = counts[5] + 40", in: bench)
    let second = try bench.open()
    #expect(queued(second) == 43)
    _ = try await second.append([StoreBench.draft(4)], isAtomic: false)
    #expect(queued(second) == 44)
    await second.close()
    await first.close()
  }

  @Test("outlive a connection that was lost")
  func connectedAnew() async throws {
    let bench = try StoreBench()
    let first = try bench.open()
    for number in 1...3 { _ = try await first.append([StoreBench.draft(number)], isAtomic: false) }
    _ = try run("SELECT pg_terminate_backend(backend) FROM seat", in: bench)
    _ = try await first.append([StoreBench.draft(4)], isAtomic: false)
    let kept = try run("SELECT counts[5] FROM seat_commit", in: bench)
    #expect(kept.count == 1 && kept.int64(0, 0) == 4)
    await first.close()
  }

  @Test("of a relay before the last one are not believed: all is counted")
  func older() async throws {
    let bench = try StoreBench()
    let first = try bench.open()
    for number in 1...3 { _ = try await first.append([StoreBench.draft(number)], isAtomic: false) }
    await first.close()
    // As one of an older release does: it has the store for a while, and keeps no counts.
    _ = try run("UPDATE shard SET epoch = epoch + 1", in: bench)
    _ = try run("UPDATE kept_counts SET counts[5] = counts[5] + 40", in: bench)
    let second = try bench.open()
    #expect(queued(second) == 3)
    await second.close()
  }

  @Test("of another number than this release has are not believed")
  func foreign() async throws {
    let bench = try StoreBench()
    let first = try bench.open()
    _ = try await first.append([StoreBench.draft(1)], isAtomic: false)
    await first.close()
    _ = try run("UPDATE kept_counts SET counts = counts || 7::bigint", in: bench)
    let second = try bench.open()
    #expect(queued(second) == 1)
    await second.close()
  }
}
#endif
