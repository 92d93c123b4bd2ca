import RelayCore
import SQLite
import Testing

@testable import SQLiteStore

@Suite("SQLite store: rows of attempts")
struct AttemptRowsTests {
  @Test("the database holds no more attempts of an envelope than are kept")
  func trimmed() async throws {
    try await Bench.with { bench in
      let id = try await bench.accept(bench.draft())
      let entry = try await bench.entry(id)
      let total = Int32(StoreLimits.attemptsKeptMax + 20)
      bench.store.record(
        (1...total).map { number in
          Transition(
            serial: id.serial, lane: entry.lane, upstream: entry.upstream,
            change: .retry(at: bench.clock.now), at: bench.clock.now,
            attempt: bench.attempt(number, .unreachable), epoch: 1)
        })
      await bench.observer.waitUntilRecorded(Int(total))
      let connection = try Connection(
        path: DataFolder.database(in: bench.folder), access: .readOnly)
      let row = try Statement("SELECT count(*), min(number) FROM attempt", on: connection)
      #expect(try row.step())
      #expect(row.int(0) == Int64(StoreLimits.attemptsKeptMax) && row.int(1) == 21)
    }
  }
}
