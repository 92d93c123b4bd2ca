#if PostgreSQL
import Postgres
import PostgresStore
import PostgresTesting
import RelayCore
import Testing

@Suite(
  "what operators keep in PostgreSQL",
  .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed"),
  .timeLimit(.minutes(5)))
struct OperatorsTests {
  @Test("acts and operations stay this process's when its connection is lost")
  func lost() async throws {
    let bench = try PartsBench()
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
    let bench = try PartsBench()
    let first = bench.store
    _ = try await first.beginOperation(bench.operation)
    let backend = Int32(try bench.number("SELECT backend FROM seat"))
    let second = try bench.bench.open()
    _ = try await second.beginOperation(bench.operation)
    #expect(try await second.endedIncarnations() == [first.incarnation])
    for _ in 0..<2 {
      let error = await #expect(throws: StoreError.self) { try await first.beginAct(bench.act) }
      #expect(error?.kind == .leaseLost)
      // Its own connection, and nobody else's on this server.
      var connection = try bench.bench.database.connect()
      _ = try connection.run([
        PostgresCommand("SELECT pg_terminate_backend($1)", [.int32(backend)])
      ])
    }
    #expect(try bench.number("SELECT count(*) FROM seat") == 1)
    try await second.interruptOperations(of: first.incarnation, at: bench.now)
    #expect(try await second.operations().map(\.state) == [.running, .interrupted])
    await first.close()
    await second.close()
  }

  @Test("the history of several processes is added up, and one that has ended waits no more")
  func history() async throws {
    let bench = try PartsBench()
    try bench.run("INSERT INTO seat VALUES (5, 0, now(), 77)")
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

  private func write(_ minute: Int64, waiting: Int64, _ bench: PartsBench) async throws {
    var figures = HistoryFigures()
    (figures.accepted, figures.waiting) = (1, waiting)
    let place = HistoryPlace(
      Minute(rawValue: 28_000_000 + minute), UpstreamNumber(rawValue: 1))
    try await bench.store.writeHistory(
      [HistoryRow(place, figures)], now: Minute(rawValue: 28_000_003))
  }
}
#endif
