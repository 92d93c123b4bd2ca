#if PostgreSQL
import Postgres
import PostgresStore
import PostgresTesting
import RelayCore
import Testing

/// A store on PostgreSQL, and a connection that does to its tables what nobody else does.
private final class PostgresBench {
  let database: TestDatabase
  let clock = ManualClock()
  private(set) var store: PostgresStore

  init() async throws {
    database = try TestDatabase.fresh()
    store = try Self.open(database, clock)
    // A store is there for calls once it has written.
    _ = try await store.register(upstreams: ["default"])
  }

  static func open(_ database: TestDatabase, _ clock: ManualClock) throws -> PostgresStore {
    let address = try PostgresAddress(url: database.url, applicationName: "waystation")
    let store = try PostgresStore(at: address, PostgresStore.Options(clock: { clock.now }))
    store.start(observer: RecordingObserver())
    return store
  }

  /// Opens the store again, and waits until it has deleted what is left over.
  func restart() async throws {
    await store.close()
    store = try Self.open(database, clock)
    // Each of these has its turn after one step of that.
    for _ in 0..<4 { _ = try await store.beginBody() }
  }

  @discardableResult
  func run(_ sql: StaticString) throws -> PostgresRows {
    var connection = try database.connect()
    return try connection.run([PostgresCommand(sql)])[0]
  }

  func number(_ sql: StaticString) throws -> Int64 { try run(sql).int64(0, 0) }

  func draft(_ body: EnvelopeBody) -> EnvelopeDraft {
    EnvelopeDraft(
      client: "c", lane: "l", upstream: "default",
      content: EnvelopeContent(
        method: "POST", target: Array("/".utf8), headers: HeaderBlock(), body: body),
      key: nil, fingerprint: [], sequence: nil, tag: nil, hold: false, notBefore: nil,
      expiresAt: clock.now.adding(milliseconds: 1_000_000), onFailure: .skip, references: false,
      coalesce: nil, isVoid: false, isInOrder: false)
  }

  var act: AuditAct {
    AuditAct(at: clock.now, who: "ops", role: "steer", action: "pause", subject: "a\0b")
  }

  var operation: Operation {
    Operation(
      .retry, EnvelopeSelection(), matched: 1, hasMore: false, who: "ops", at: clock.now)
  }
}

@Suite(
  "PostgreSQL store: large bodies",
  .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed: scripts/setup test"),
  .timeLimit(.minutes(1)))
struct PostgresBodyTests {
  @Test("bodies that nobody refers to are deleted a day after their last piece, and no others")
  func orphans() async throws {
    let bench = try await PostgresBench()
    let kept = try await bench.store.write([[1]])
    _ = try await bench.store.append([bench.draft(.file(kept))], isAtomic: false)
    for _ in 0..<9 { _ = try await bench.store.write([BodyConformance.bytes(300_000)]) }
    #expect(try bench.number("SELECT count(*) FROM body_chunk") == 19)
    try bench.run("UPDATE body_pending SET touched_at = now() - interval '25 hours'")
    _ = try await bench.store.write([[2]])
    try await bench.restart()
    #expect(try bench.number("SELECT count(*) FROM body_chunk") == 2)
    #expect(try await bench.store.bytes(of: kept) == [1])
    await bench.store.close()
  }

  @Test("a post of a body that has been deleted is refused alone; so is the rest of that body")
  func gone() async throws {
    let bench = try await PostgresBench()
    let store = bench.store
    let writer = try await store.beginBody()
    try await writer.append(BodyConformance.bytes(256 << 10))
    let gone = try await store.write([[1]])
    let kept = try await store.write([[2]])
    try bench.run(
      """
      WITH gone AS (
        DELETE FROM body_pending WHERE body IN (SELECT body FROM body_chunk WHERE bytes <> '\\x02')
        RETURNING body)
      DELETE FROM body_chunk USING gone WHERE gone.body = body_chunk.body
      """)
    let drafts = [gone, kept].map { bench.draft(.file($0)) }
    let accepted = Task { try await store.append([drafts[1]], isAtomic: false).count }
    await #expect(throws: StoreError.self) {
      try await store.append([drafts[0]], isAtomic: false)
    }
    #expect(try await accepted.value == 1)
    try await writer.append([3])
    await #expect(throws: StoreError.self) { _ = try await writer.finish() }
    #expect(try bench.number("SELECT count(*) FROM body_chunk") == 1)
    await store.close()
  }

  @Test("a body of which a bit has changed is told, and so is one that lacks a piece")
  func changed() async throws {
    let bench = try await PostgresBench()
    let file = try await bench.store.write([BodyConformance.bytes(600_000)])
    try bench.run(
      "UPDATE body_chunk SET bytes = set_bit(bytes, 9, 1 - get_bit(bytes, 9)) WHERE n = 1")
    let error = await #expect(throws: StoreError.self) {
      try await bench.store.checkBody(in: file)
    }
    #expect(error?.kind == .corrupt)
    try bench.run("DELETE FROM body_chunk WHERE n = 1")
    let other = await #expect(throws: StoreError.self) { try await bench.store.bytes(of: file) }
    #expect(other?.kind == .inputOutput || other?.kind == .corrupt)
    let stranger = StoredBodyFile(path: "/somewhere", byteCount: 1)
    await #expect(throws: StoreError.self) { try await bench.store.bytes(of: stranger) }
    await bench.store.close()
  }
}

@Suite(
  "PostgreSQL store: what operators keep",
  .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed: scripts/setup test"),
  .timeLimit(.minutes(1)))
struct PostgresOperatorsTests {
  @Test("acts and operations stay this process's when its connection is lost")
  func lost() async throws {
    let bench = try await PostgresBench()
    let store = bench.store
    _ = try await store.beginOperation(bench.operation)
    for number: Int64 in 1...5 {
      try bench.run("SELECT pg_terminate_backend(backend) FROM seat")
      #expect(try await store.beginAct(bench.act) == number)
    }
    #expect(try await store.beginOperation(bench.operation) == 2)
    #expect(try await store.endedIncarnations().isEmpty)
    #expect(try bench.number("SELECT process FROM seat") == store.incarnation.rawValue)
    let page = try await store.acts(before: nil, subject: "ab", countMax: 9)
    #expect(page.entries.map(\.act.subject) == Array(repeating: "ab", count: 5))
    await store.close()
  }

  @Test("a process whose seat another one has taken has ended, and writes nothing more")
  func taken() async throws {
    let bench = try await PostgresBench()
    let first = bench.store
    _ = try await first.beginOperation(bench.operation)
    let second = try PostgresBench.open(bench.database, bench.clock)
    _ = try await second.beginOperation(bench.operation)
    #expect(try await second.endedIncarnations() == [first.incarnation])
    for _ in 0..<2 {
      let error = await #expect(throws: StoreError.self) { try await first.beginAct(bench.act) }
      #expect(error?.kind == .leaseLost)
      try bench.run(
        """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'waystation' AND query LIKE '%fence%'
          AND pid NOT IN (SELECT backend FROM seat)
        """)
    }
    #expect(try bench.number("SELECT count(*) FROM seat") == 1)
    try await second.interruptOperations(of: first.incarnation, at: bench.clock.now)
    #expect(try await second.operations().map(\.state) == [.running, .interrupted])
    await first.close()
    await second.close()
  }

  @Test("the history of several processes is added up, and one that has ended waits no more")
  func history() async throws {
    let bench = try await PostgresBench()
    try bench.run("INSERT INTO seat VALUES (5, 0, 77)")
    try bench.run("INSERT INTO history VALUES (1, 28000000, 77, 10, 1, 1, 4, '')")
    try await write(0, waiting: 3, bench)
    try await write(1, waiting: 2, bench)
    try bench.run("DELETE FROM seat WHERE process = 77")
    try await write(2, waiting: 5, bench)
    let points = try await bench.store.readHistory(
      into: HistorySeries(.hour, before: Minute(rawValue: 28_000_003).begin), of: nil
    ).points.suffix(3)
    #expect(points.map(\.accepted) == [11, 1, 1])
    #expect(points.map(\.waiting) == [7, 6, 5])
    await bench.store.close()
  }

  private func write(_ minute: Int64, waiting: Int64, _ bench: PostgresBench) async throws {
    var figures = HistoryFigures()
    (figures.accepted, figures.waiting) = (1, waiting)
    let place = HistoryPlace(
      Minute(rawValue: 28_000_000 + minute), UpstreamNumber(rawValue: 1))
    try await bench.store.writeHistory(
      [HistoryRow(place, figures)], now: Minute(rawValue: 28_000_003))
  }
}
#endif
