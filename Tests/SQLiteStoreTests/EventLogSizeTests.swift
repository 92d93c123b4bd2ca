import Foundation
import RelayCore
import SQLiteStore
import Testing

/// How the event log stays within its bytes.
@Suite("SQLite store: the size of the event log", .timeLimit(.minutes(1)))
struct EventLogSizeTests {
  @Test("the log forgets its oldest events once it is too large, and goes on after a restart")
  func bounded() async throws {
    try await Bench.with { bench in
      let options = SQLiteStore.Options(
        clock: { bench.clock.now }, eventLogBytesMax: 10_000)
      let folder = bench.folder + "-small"
      defer { try? FileManager.default.removeItem(atPath: folder) }
      for round in 1...2 {
        let store = try SQLiteStore.open(folder: folder, options: options)
        store.start(observer: RecordingObserver())
        for _ in 0..<600 { _ = try await store.append([bench.draft()], isAtomic: false) }
        let span = try await store.eventLogSpan()
        #expect(span.end.row == Int64(round * 600 + 1))
        // A row of one acceptance has about thirty bytes.
        let rows = span.end.row - span.first.row
        #expect((250...400).contains(rows), "\(rows) rows are kept")
        await store.close()
      }
    }
  }
}
