import RelayCore
import SQLiteStore
import Testing

/// The event log tells nothing that was not committed.
@Suite("SQLite store: the event log", .timeLimit(.minutes(5)))
struct EventLogTests {
  @Test("what a full disk has kept from being stored is not told, and no row is left out")
  func rolledBack() async throws {
    try await Bench.with { bench in
      let store = try #require(bench.store as? SQLiteStore)
      try await bench.accept(bench.draft())
      try await store.limitPages(to: 1)
      let big = bench.draft(body: .inline([UInt8](repeating: 1, count: 200_000)))
      await #expect(throws: StoreError.self) {
        while true { _ = try await store.append([big], isAtomic: false) }
      }
      let stored = try await store.line(after: 0, countMax: 1000).entries.map(\.serial)
      try await store.limitPages(to: nil)
      let last = try await bench.accept(bench.draft())
      #expect(try await bench.events().compactMap(\.id?.serial) == stored + [last.serial])
      let span = try await store.eventLogSpan()
      #expect(span.end.row == Int64(stored.count) + 2)
    }
  }
}
