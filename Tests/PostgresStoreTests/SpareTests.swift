#if PostgreSQL
import EventLoop
import Postgres
import PostgresStore
import PostgresTesting
import RelayCore
import Synchronization
import Testing

@Suite(
  "a spare relay", .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed"),
  .timeLimit(.minutes(5)))
struct SpareTests {
  /// A relay that waits for the store.
  private struct Spare {
    let store: Task<PostgresStore?, any Error>
    let waits: AsyncStream<StoreWait>

    init(_ bench: StoreBench, port: UInt16? = nil) throws {
      let (waits, noted) = AsyncStream.makeStream(of: StoreWait.self)
      let address = try bench.address(port: port)
      self.waits = waits
      store = Task {
        try await PostgresStore.open(at: address, StoreBench.options) { noted.yield($0) }
      }
    }

    /// What it says next that it waits for.
    func nextWait() async throws -> StoreWait {
      var waits = waits.makeAsyncIterator()
      return try #require(await waits.next(isolation: #isolation))
    }
  }

  /// Waits until a spare has the store, and has it accept a second envelope behind the first.
  private func goesOn(_ spare: Spare, _ bench: StoreBench) async throws {
    let store = try #require(try await spare.store.value)
    store.start(observer: QuietObserver())
    _ = try await store.append([StoreBench.draft(2)], isAtomic: false)
    #expect(try bench.storedKeys() == ["key-1", "key-2"])
    await store.close()
  }

  @Test("takes the store as soon as the one that has it closes it")
  func closed() async throws {
    let bench = try StoreBench()
    let first = try bench.open()
    _ = try await first.append([StoreBench.draft(1)], isAtomic: false)
    let spare = try Spare(bench)
    #expect(try await spare.nextWait() == .another(address: nil))
    await first.close()
    let second = try #require(try await spare.store.value)
    second.start(observer: QuietObserver())
    #expect(second.mayAttempt)
    _ = try await second.append([StoreBench.draft(2)], isAtomic: false)
    #expect(try bench.storedKeys() == ["key-1", "key-2"])
    await second.close()
  }

  @Test("is the successor of one that has said that it ends")
  func succeeds() async throws {
    let bench = try StoreBench()
    let observer = QuietObserver()
    let first = try bench.open(observer)
    let spare = try Spare(bench)
    #expect(try await spare.nextWait() == .another(address: nil))
    #expect(first.announceHandover() > 0)
    // The one that was under way, and the one that tells it.
    for _ in 1...2 { await observer.nextBeat() }
    var connection = try bench.database.connect()
    let shown = try connection.run([PostgresCommand("SELECT draining FROM seat")])[0]
    #expect(shown.count == 1 && shown.bool(0, 0))
    // Until it is closed the store is its own.
    _ = try await first.append([StoreBench.draft(1)], isAtomic: false)
    await first.close()
    #expect(await first.successor() == Successor(address: nil))
    #expect(try await spare.nextWait() == .opening)
    try await goesOn(spare, bench)
  }

  /// Whatever reads all numbers that were given out waits for it in vain.
  private static let lockOfNumbers = [
    PostgresCommand("SET idle_in_transaction_session_timeout = 0"), PostgresCommand("BEGIN"),
    PostgresCommand("LOCK TABLE given"),
  ]

  /// Waits until it says something else than that a lock keeps it from opening the store.
  private func waitBehindLock(_ spare: Spare) async throws -> StoreWait {
    var wait = try await spare.nextWait()
    while case .unreachable(let error) = wait, error.detail.contains("lock timeout") {
      wait = try await spare.nextWait()
    }
    return wait
  }

  @Test("waits for an operator's lock that it finds when it has taken the store")
  func lockedOut() async throws {
    let bench = try StoreBench()
    let first = try bench.open()
    _ = try await first.append([StoreBench.draft(1)], isAtomic: false)
    let spare = try Spare(bench)
    #expect(try await spare.nextWait() == .another(address: nil))
    var connection = try bench.database.connect()
    _ = try connection.run(Self.lockOfNumbers)
    await first.close()
    #expect(try await spare.nextWait() == .opening)
    guard case .unreachable(let error) = try await spare.nextWait() else {
      Issue.record("it says nothing")
      return
    }
    #expect(error.detail.contains("lock timeout"))
    _ = try connection.run([PostgresCommand("COMMIT")])
    try await goesOn(spare, bench)
  }

  @Test("is one again if another relay takes the store while it opens it")
  func takenWhileOpening() async throws {
    let bench = try StoreBench()
    let first = try bench.open()
    let spare = try Spare(bench)
    #expect(try await spare.nextWait() == .another(address: nil))
    var connection = try bench.database.connect()
    _ = try connection.run(Self.lockOfNumbers)
    await first.close()
    #expect(try await spare.nextWait() == .opening)
    var another = try bench.database.connect()
    _ = try another.run([
      PostgresCommand("DELETE FROM seat"), PostgresCommand("SELECT take_store(7, 7, '{}', '{}')"),
    ])
    #expect(try await waitBehindLock(spare) == .another(address: nil))
    _ = try another.run([PostgresCommand("DELETE FROM seat")])
    #expect(try await waitBehindLock(spare) == .opening)
    _ = try connection.run([PostgresCommand("COMMIT")])
    let second = try #require(try await spare.store.value)
    second.start(observer: QuietObserver())
    _ = try await second.append([StoreBench.draft(2)], isAtomic: false)
    #expect(second.leases()[0].epoch == first.leases()[0].epoch + 3)
    await second.close()
  }

  @Test(
    "bears a database without room, or that takes no connections for a while",
    arguments: ["53100", "58030", "55000"])
  func noRoom(state: String) async throws {
    let bench = try StoreBench()
    let first = try bench.open()
    let spare = try Spare(bench)
    #expect(try await spare.nextWait() == .another(address: nil))
    var connection = try bench.database.connect()
    _ = try connection.run([
      PostgresCommand(
        sql: """
          CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN RAISE EXCEPTION 'not now' USING ERRCODE = '\(state)'; END $$
          """),
      PostgresCommand("CREATE TRIGGER refuse BEFORE UPDATE ON shard EXECUTE FUNCTION refuse()"),
    ])
    await first.close()
    guard case .unreachable(let error) = try await spare.nextWait() else {
      Issue.record("it says nothing")
      return
    }
    #expect(error.detail.contains("not now"))
    _ = try connection.run([PostgresCommand("DROP TRIGGER refuse ON shard")])
    await (try #require(try await spare.store.value)).close()
  }

  @Test("that ends as well is not waited for by the one that has given the store up")
  func bothEnd() async throws {
    let bench = try StoreBench()
    var options = StoreBench.options
    // Longer than this test may take.
    options.lease.successionMs = 90_000
    let first = try PostgresStore(at: try bench.address(), options)
    first.start(observer: QuietObserver())
    let spare = try Spare(bench)
    #expect(try await spare.nextWait() == .another(address: nil))
    _ = first.announceHandover()
    spare.store.cancel()
    #expect(try await spare.store.value == nil)
    await first.close()
    #expect(await first.successor() == nil)
  }

  @Test("stays one relay in the list, though it has to connect anew")
  func connectedAnew() async throws {
    let bench = try StoreBench()
    let proxy = try LossyProxy(to: try #require(StoreBench.port(of: bench.database.url)))
    let first = try bench.open(QuietObserver())
    let spare = try Spare(bench, port: proxy.port)
    #expect(try await spare.nextWait() == .another(address: nil))
    proxy.cut()
    guard case .unreachable = try await spare.nextWait() else {
      Issue.record("it does not notice")
      return
    }
    proxy.mend()
    // Tries that were under way may fail in other ways first.
    var wait = try await spare.nextWait()
    while case .unreachable = wait { wait = try await spare.nextWait() }
    #expect(wait == .another(address: nil))
    var connection = try bench.database.connect()
    let listed = try connection.run([PostgresCommand("SELECT count(*) FROM relay")])
    #expect(listed[0].int64(0, 0) == 2)
    await first.close()
    await (try #require(try await spare.store.value)).close()
  }

  @Test("takes it from one that cannot reach the database, which attempts nothing by then")
  func unreachable() async throws {
    let bench = try StoreBench()
    let port = try #require(StoreBench.port(of: bench.database.url))
    let proxy = try LossyProxy(to: port)
    let observer = QuietObserver()
    let first = try bench.open(port: proxy.port, observer)
    _ = try await first.append([StoreBench.draft(1)], isAtomic: false)
    let spare = try Spare(bench)
    #expect(try await spare.nextWait() == .another(address: nil))
    #expect(first.mayAttempt)
    proxy.stop()
    await observer.lapse()
    #expect(!first.mayAttempt)
    let second = try #require(try await spare.store.value)
    second.start(observer: QuietObserver())
    #expect(second.leases()[0].epoch > first.leases()[0].epoch)
    _ = try await second.append([StoreBench.draft(2)], isAtomic: false)
    #expect(try bench.storedKeys() == ["key-1", "key-2"])
    async let end: Void = first.close()
    await second.close()
    await end
  }

  @Test("takes nothing from one that runs and is silent, however long that is")
  func idle() async throws {
    let bench = try StoreBench()
    let observer = QuietObserver()
    let first = try bench.open(observer)
    let spare = try Spare(bench)
    #expect(try await spare.nextWait() == .another(address: nil))
    // As many beats as would take it twice.
    for _ in 1...12 { await observer.beat() }
    #expect(first.mayAttempt)
    spare.store.cancel()
    #expect(try await spare.store.value == nil)
    _ = try await first.append([StoreBench.draft(1)], isAtomic: false)
    await first.close()
  }

  @Test("waits for a database that is not there yet")
  func absent() async throws {
    let bench = try StoreBench()
    let reserved = try LossyProxy(to: 1)
    reserved.stop()
    let spare = try Spare(bench, port: reserved.port)
    guard case .unreachable = try await spare.nextWait() else {
      Issue.record("it waits for something else")
      return
    }
    spare.store.cancel()
    #expect(try await spare.store.value == nil)
  }

  @Test("of two, one gets it")
  func two() async throws {
    let bench = try StoreBench()
    let first = try bench.open()
    let spares = try [Spare(bench), Spare(bench)]
    for spare in spares { #expect(try await spare.nextWait() == .another(address: nil)) }
    await first.close()
    let (opened, noteOpened) = AsyncStream.makeStream(of: PostgresStore.self)
    for spare in spares {
      Task { if let store = try await spare.store.value { noteOpened.yield(store) } }
    }
    var stores = opened.makeAsyncIterator()
    let second = try #require(await stores.next(isolation: #isolation))
    let observer = QuietObserver()
    second.start(observer: observer)
    for _ in 1...3 { await observer.beat() }
    _ = try await second.append([StoreBench.draft(1)], isAtomic: false)
    await second.close()
    let third = try #require(await stores.next(isolation: #isolation))
    third.start(observer: QuietObserver())
    #expect(third.leases()[0].epoch == second.leases()[0].epoch + 1)
    await third.close()
  }

  @Test("one whose store was taken is told so, though it writes nothing")
  func taken() async throws {
    let bench = try StoreBench()
    let observer = QuietObserver()
    let first = try bench.open(observer)
    let second = try bench.open()
    #expect(await observer.loss().kind == .leaseLost)
    await first.close()
    await second.close()
  }
}
#endif
