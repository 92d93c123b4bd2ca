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

  @Test("who writes once the database is away is told, and need not wait until it is back")
  func away() async throws {
    let bench = try StoreBench()
    let proxy = try LossyProxy(to: try #require(StoreBench.port(of: bench.database.url)))
    let store = try bench.open(port: proxy.port, observer)
    _ = try await store.append([StoreBench.draft(1)], isAtomic: false)
    proxy.stop()
    for number in 2...4 {
      let error = await #expect(throws: StoreError.self) {
        try await store.append([StoreBench.draft(number)], isAtomic: false)
      }
      #expect(error?.kind != .outcomeUnknown)
    }
    await store.close()
    #expect(try bench.storedKeys() == ["key-1"])
  }

  @Test("who posts where all names are known is told as well once the database stands still")
  func knownNames() async throws {
    let bench = try StoreBench()
    let proxy = try LossyProxy(to: try #require(StoreBench.port(of: bench.database.url)))
    let store = try bench.open(port: proxy.port, observer)
    var draft = StoreBench.draft(1)
    draft.key = nil
    for _ in 0..<2 { _ = try await store.append([draft], isAtomic: false) }
    // Its last answer is of some time ago.
    for _ in 0..<2 { await observer.nextBeat() }
    proxy.fallSilent()
    let error = await #expect(throws: StoreError.self) {
      try await store.append([draft], isAtomic: false)
    }
    #expect(error?.kind != .outcomeUnknown)
    proxy.stop()
    await store.close()
  }

  @Test("who changes something is told as well once the database stands still")
  func changes() async throws {
    let bench = try StoreBench()
    let proxy = try LossyProxy(to: try #require(StoreBench.port(of: bench.database.url)))
    let store = try bench.open(port: proxy.port, observer)
    for _ in 0..<2 { await observer.nextBeat() }
    proxy.fallSilent()
    let act = AuditAct(
      at: WallTime(millisecondsSinceEpoch: 1), who: "x", role: "steer", action: "x", subject: "x")
    let error = await #expect(throws: StoreError.self) { try await store.beginAct(act) }
    #expect(error?.kind != .outcomeUnknown)
    proxy.stop()
    await store.close()
  }

  @Test("who asks a database that stands still waits once, however many have asked before")
  func standsStill() async throws {
    let bench = try StoreBench()
    let proxy = try LossyProxy(to: try #require(StoreBench.port(of: bench.database.url)))
    let store = try bench.open(port: proxy.port, observer)
    _ = try await store.pauses()
    proxy.fallSilent()
    // Each by itself would take its connection eight seconds, and the time limit is a minute.
    await withTaskGroup { group in
      for _ in 1...60 {
        group.addTask {
          await #expect(throws: StoreError.self) { _ = try await store.pauses() }
        }
      }
    }
    proxy.mend()
    // The last attempts to connect may end a moment later.
    while (try? await store.pauses()) == nil { await observer.nextBeat() }
    await store.close()
  }

  @Test("reads that fail while posts are taken are told, and posts are taken all the same")
  func reads() async throws {
    let bench = StoreBench(in: try TestDatabase.freshDatabase())
    let store = try bench.open(observer)
    _ = try await store.append([StoreBench.draft(1)], isAtomic: false)
    await observer.nextBeat()
    var connection = try TestDatabase.fresh().connect()
    _ = try connection.run([
      PostgresCommand(sql: "ALTER DATABASE \(bench.database.name) ALLOW_CONNECTIONS false")
    ])
    // The first two are the one that writes and the one of the lease.
    let ended = """
      SELECT pg_terminate_backend(pid) FROM (
        SELECT pid FROM pg_stat_activity WHERE datname = '\(bench.database.name)'
        ORDER BY backend_start OFFSET 2) AS reader
      """
    _ = try connection.run([PostgresCommand(sql: ended)])
    // It takes some seconds: the database might just be going away.
    while store.statistics().readTrouble == nil {
      await #expect(throws: StoreError.self) { _ = try await store.pauses() }
    }
    let words = store.statistics().readTrouble
    #expect(words?.contains("not currently accepting connections") == true, "\(words ?? "")")
    _ = try await store.append([StoreBench.draft(2)], isAtomic: false)
    #expect(store.statistics().trouble == nil)
    await store.close()
  }

  @Test("who sends large bodies to a database that stands still waits once as well")
  func bodies() async throws {
    let bench = try StoreBench()
    let proxy = try LossyProxy(to: try #require(StoreBench.port(of: bench.database.url)))
    let store = try bench.open(port: proxy.port, observer)
    let piece = [UInt8](repeating: 7, count: 256 << 10)
    var writers: [any BodyWriter] = []
    for _ in 1...16 {
      let writer = try await store.beginBody()
      try await writer.append(piece)
      writers.append(writer)
    }
    proxy.fallSilent()
    await withTaskGroup { group in
      for writer in writers {
        group.addTask {
          await #expect(throws: StoreError.self) { try await writer.append(piece + piece) }
        }
      }
    }
    proxy.mend()
    for writer in writers { writer.discard() }
    while (try? await store.beginBody().append(piece)) == nil { await observer.nextBeat() }
    await store.close()
  }

  @Test("where looks succeed and posts do not, trouble stays longer and longer")
  func refusedAgain() async throws {
    let bench = try StoreBench()
    let store = try bench.open(observer)
    var connection = try bench.database.connect()
    _ = try connection.run([
      PostgresCommand("ALTER TABLE envelope ADD CONSTRAINT broken CHECK (false) NOT VALID")
    ])
    for _ in 1...4 {
      await #expect(throws: StoreError.self) {
        try await store.append([StoreBench.draft(1)], isAtomic: false)
      }
      await waitForEnd(of: store)
    }
    await #expect(throws: StoreError.self) {
      try await store.append([StoreBench.draft(1)], isAtomic: false)
    }
    // The fifth pause is of sixteen seconds, which no slow machine shortens.
    let refusedAt = ContinuousClock.now
    await waitForEnd(of: store)
    #expect(ContinuousClock.now - refusedAt > .seconds(8))
    _ = try connection.run([PostgresCommand("ALTER TABLE envelope DROP CONSTRAINT broken")])
    _ = try await store.append([StoreBench.draft(1)], isAtomic: false)
    #expect(store.statistics().trouble == nil)
    await store.close()
  }

  @Test("a table that somebody has locked is trouble until it is let go, and no longer")
  func locked() async throws {
    let bench = try StoreBench()
    let store = try bench.open(observer)
    var connection = try bench.database.connect()
    _ = try connection.run([PostgresCommand("SET idle_in_transaction_session_timeout = 0")])
    _ = try connection.run([
      PostgresCommand("BEGIN"), PostgresCommand("LOCK TABLE envelope IN ACCESS EXCLUSIVE MODE"),
    ])
    await #expect(throws: StoreError.self) {
      try await store.append([StoreBench.draft(1)], isAtomic: false)
    }
    for _ in 1...5 {
      await observer.nextBeat()
      #expect(store.statistics().trouble?.contains("lock timeout") == true)
    }
    _ = try connection.run([PostgresCommand("COMMIT")])
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
