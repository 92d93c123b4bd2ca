#if PostgreSQL
import Postgres
import PostgresStore
import PostgresTesting
import RelayCore
import Testing

@Suite(
  "the right to write", .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed"),
  .timeLimit(.minutes(5)))
struct SeatTests {
  @Test("a commit whose answer is lost is found out: acknowledged, and written once")
  func lostAnswer() async throws {
    let bench = try StoreBench()
    let port = try #require(StoreBench.port(of: bench.database.url))
    let proxy = try LossyProxy(to: port)
    defer { proxy.stop() }
    let observer = QuietObserver()
    let store = try bench.open(port: proxy.port, observer)
    for number in 1...40 {
      // Whatever comes next: facts, the transaction, or the look at what came of it.
      if number.isMultiple(of: 2) { proxy.loseAnswers(1 + number % 3) }
      let results = try await store.append([StoreBench.draft(number)], isAtomic: false)
      guard case .accepted = results[0] else {
        Issue.record("\(results)")
        continue
      }
    }
    // Each commit is measured, whether its answer came or was found out.
    #expect(store.commitFigures.changes.sum == 40)
    #expect(store.commitFigures.durations.count >= 40)
    #expect(proxy.losses >= 20)
    #expect(try bench.storedKeys() == (1...40).map { "key-\($0)" })
    #expect(observer.accepted.count == 40)
    // Each is logged once as well, in a row of its own.
    let page = try await store.events(
      behind: EventPosition(row: 1, index: 0), EventFilter(), countMax: 99, looksMax: 99)
    #expect(page.events.map(\.position.row) == Array(1...40) && !page.hasMore)
    await store.close()
  }

  @Test("connections that are ended at any moment lose and double nothing")
  func terminated() async throws {
    let bench = try StoreBench()
    let observer = QuietObserver()
    let store = try bench.open(observer)
    async let posts: Void = {
      for number in 1...300 {
        _ = try await store.append([StoreBench.draft(number)], isAtomic: false)
      }
    }()
    var connection = try bench.database.connect()
    let kill = PostgresCommand("SELECT pg_terminate_backend(backend) FROM seat")
    // Each time that it has got on a little: at any moment of what it does then.
    for count in stride(from: 10, to: 300, by: 10) {
      try await observer.accepted(count: count)
      _ = try connection.run([kill])
    }
    try await posts
    #expect(try bench.storedKeys() == (1...300).map { "key-\($0)" })
    await store.close()
  }

  /// What a database has that was put back to an older state: the seat, and an older commit.
  private static let putBack = PostgresCommand("UPDATE seat_commit SET number = number - 1")

  @Test("a database that has lost a confirmed commit is noticed by the next beat")
  func putBack() async throws {
    let bench = try StoreBench()
    let observer = QuietObserver()
    let store = try bench.open(observer)
    for number in 1...3 {
      _ = try await store.append([StoreBench.draft(number)], isAtomic: false)
    }
    await observer.nextBeat()
    #expect(observer.lossCount == 0)
    var connection = try bench.database.connect()
    _ = try connection.run([Self.putBack])
    #expect(await observer.loss().detail.contains("lacks commits"))
    await store.close()
  }

  @Test("it is noticed by who writes as well, who has another seat by then")
  func writesToPutBack() async throws {
    let bench = try StoreBench()
    var options = StoreBench.options
    // No beat comes in between.
    (options.lease.beatMs, options.lease.ttlMs) = (300_000, 900_000)
    let observer = QuietObserver()
    let store = try PostgresStore(at: try bench.address(), options)
    store.start(observer: observer)
    _ = try await store.append([StoreBench.draft(1)], isAtomic: false)
    var connection = try bench.database.connect()
    _ = try connection.run([
      Self.putBack, PostgresCommand("SELECT pg_terminate_backend(backend) FROM seat"),
    ])
    await #expect(throws: StoreError.self) {
      try await store.append([StoreBench.draft(2)], isAtomic: false)
    }
    #expect(await observer.loss().detail.contains("lacks commits"))
    await store.close()
  }

  /// What a database has that was put back to before the relay took the store, or connected anew.
  private static let farBack = [
    [
      "DELETE FROM seat", "DELETE FROM seat_commit", "UPDATE shard SET epoch = epoch - 1",
    ],
    [
      "UPDATE seat SET incarnation = incarnation + 1",
      "UPDATE seat_commit SET incarnation = incarnation + 1",
    ],
  ]

  @Test("one that has lost the seat is noticed if there is no other server", arguments: farBack)
  func putFarBack(_ commands: [String]) async throws {
    let bench = try StoreBench()
    var options = StoreBench.options
    options.lease.behindMs = 1
    let observer = QuietObserver()
    let store = try PostgresStore(at: try bench.address(), options)
    store.start(observer: observer)
    _ = try await store.append([StoreBench.draft(1)], isAtomic: false)
    var connection = try bench.database.connect()
    _ = try connection.run(commands.map { PostgresCommand(sql: $0) })
    #expect(await observer.loss().detail.contains("lacks commits"))
    await store.close()
  }

  @Test("who opens the store has it, and who had it writes nothing more")
  func takenOver() async throws {
    let bench = try StoreBench()
    let first = try bench.open()
    _ = try await first.append([StoreBench.draft(1)], isAtomic: false)
    let second = try bench.open()
    #expect(second.leases()[0].epoch == first.leases()[0].epoch + 1)
    await #expect(throws: StoreError.self) {
      try await first.append([StoreBench.draft(2)], isAtomic: false)
    }
    _ = try await second.append([StoreBench.draft(3)], isAtomic: false)
    #expect(try bench.storedKeys() == ["key-1", "key-3"])
    #expect(first.statistics().trouble?.contains("seat") == true)
    await first.close()
    await second.close()
  }

  @Test("who had it finds that out, too, when its connection is lost at the same moment")
  func takenOverWhileAway() async throws {
    let bench = try StoreBench()
    let first = try bench.open()
    _ = try await first.append([StoreBench.draft(1)], isAtomic: false)
    var connection = try bench.database.connect()
    _ = try connection.run([PostgresCommand("SELECT pg_terminate_backend(backend) FROM seat")])
    let second = try bench.open()
    do {
      _ = try await first.append([StoreBench.draft(2)], isAtomic: false)
      Issue.record("it was written")
    } catch {
      #expect(error.kind == .leaseLost, "\(error)")
    }
    #expect(try bench.storedKeys() == ["key-1"])
    await first.close()
    await second.close()
  }

  @Test("a seat that may lack shards is held to each of them, and one of an older epoch to none")
  func shardsOfASeat() async throws {
    for taking in [
      "UPDATE seat SET whole_epoch = NULL; UPDATE shard SET holder = 7",
      "UPDATE seat SET whole_epoch = whole_epoch - 1; UPDATE shard SET epoch = epoch + 1",
    ] {
      let bench = try StoreBench()
      let store = try bench.open()
      _ = try await store.append([StoreBench.draft(1)], isAtomic: false)
      var connection = try bench.database.connect()
      try connection.execute(script: "UPDATE seat SET whole_epoch = NULL")
      _ = try await store.append([StoreBench.draft(2)], isAtomic: false)
      try connection.execute(script: taking)
      let error = await #expect(throws: StoreError.self) {
        try await store.append([StoreBench.draft(3)], isAtomic: false)
      }
      #expect(error?.kind == .leaseLost, "\(taking)")
      #expect(try bench.storedKeys() == ["key-1", "key-2"])
      await store.close()
    }
  }

  @Test("a seat that is taken anew after its connection was lost has all shards as before")
  func wholeAfterLoss() async throws {
    let bench = try StoreBench()
    let store = try bench.open()
    var connection = try bench.database.connect()
    func epochs() throws -> [Int64] {
      let rows = try connection.run([PostgresCommand("SELECT whole_epoch FROM seat")])[0]
      return (0..<rows.count).map { rows.int64OrNil($0, 0) ?? -1 }
    }
    _ = try await store.append([StoreBench.draft(1)], isAtomic: false)
    let before = try epochs()
    #expect(before.count == 1 && before[0] > 0)
    _ = try connection.run([PostgresCommand("SELECT pg_terminate_backend(backend) FROM seat")])
    _ = try await store.append([StoreBench.draft(2)], isAtomic: false)
    #expect(try epochs() == before)
    await store.close()
  }

  @Test("a connection that only has the number of one that has ended is left alone")
  func reusedNumber() async throws {
    let bench = try StoreBench()
    await (try bench.open()).close()
    var stranger = try bench.database.connect()
    let pid = try stranger.run([PostgresCommand("SELECT pg_backend_pid()")])[0].int32(0, 0)
    var other = try bench.database.connect()
    // Of a relay that was killed, whose connection began at another time.
    _ = try other.run([
      PostgresCommand("INSERT INTO seat VALUES (7, $1, 'epoch', 7)", [.int32(pid)])
    ])
    // The seat cannot be taken as long as this goes on, and its owner's connection is ended.
    _ = try stranger.run([
      PostgresCommand("SET idle_in_transaction_session_timeout = 0"),
      PostgresCommand("BEGIN"), PostgresCommand("SELECT 1 FROM seat FOR KEY SHARE"),
    ])
    #expect(throws: StoreError.self) { try bench.open() }
    _ = try stranger.run([PostgresCommand("COMMIT")])
    await (try bench.open()).close()
  }

  @Test(
    "tables that do not say what they are, or say what cannot be, are refused in words",
    arguments: [
      ("DROP TABLE schema_version", "not their table schema_version"),
      ("UPDATE schema_version SET version = 0", "holds the version 0"),
      ("UPDATE schema_version SET version = -1", "holds the version -1"),
      ("DELETE FROM schema_version", "has 0 rows"),
    ])
  func unknownTables(change: String, words: String) async throws {
    let bench = try StoreBench()
    await (try bench.open()).close()
    var connection = try bench.database.connect()
    try connection.execute(script: change)
    let error = try #require(throws: StoreError.self) { try bench.open() }
    #expect(error.kind == .corrupt)
    #expect(error.detail.contains(words), "\(error)")
    #expect(error.detail.contains("Restore the database from a backup"), "\(error)")
  }

  @Test("a store that was made by a newer relay is refused, and told so")
  func newer() async throws {
    let bench = try StoreBench()
    await (try bench.open()).close()
    var connection = try bench.database.connect()
    let change = PostgresCommand("UPDATE schema_version SET version = 1000, usable_from = 1000")
    _ = try connection.run([change])
    do {
      _ = try bench.open()
      Issue.record("it was opened")
    } catch let error as StoreError {
      #expect(error.kind == .newerSchema)
      #expect(error.detail.contains("1000"))
    }
  }
}
#endif
