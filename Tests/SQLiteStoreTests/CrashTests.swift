import Foundation
import RelayCore
import SQLite
import SQLiteStore
import Synchronization
import Testing

/// What is left when a process ends without a word: a copy of the files at some moment.
@Suite("SQLite store: crashes", .timeLimit(.minutes(5)))
struct CrashTests {
  /// Copies a store's files as they are, while the store goes on: what a killed process leaves.
  ///
  /// Nothing is being written meanwhile, and so little that no checkpoint is due.
  private func crashImage(of folder: String) throws -> String {
    let image = Bench.freshFolder()
    try FileManager.default.createDirectory(
      atPath: image + "/bodies", withIntermediateDirectories: true)
    for name in ["waystation.sqlite3", "waystation.sqlite3-wal"] {
      try FileManager.default.copyItem(atPath: "\(folder)/\(name)", toPath: "\(image)/\(name)")
    }
    return image
  }

  @Test("everything acknowledged is there after a crash, with its counts")
  func acknowledgedIsThere() async throws {
    try await Bench.with { bench in
      var ids: [EnvelopeID] = []
      for index in 0..<40 {
        ids.append(
          try await bench.accept(bench.draft(key: "k\(index)", sequence: Int64(index + 1))))
      }
      for id in ids.prefix(10) { try await bench.record(id, .end(.delivered, reason: "")) }
      try await bench.record(
        ids[10], .retry(at: bench.clock.now), attempt: bench.attempt(1, .unreachable))
      let image = try crashImage(of: bench.folder)
      defer { try? FileManager.default.removeItem(atPath: image) }

      let store = try SQLiteStore.open(folder: image, options: .init(clock: { bench.clock.now }))
      store.start(observer: RecordingObserver())
      let page = try await store.line(after: 0, countMax: 100)
      #expect(page.entries.map(\.serial) == ids.dropFirst(10).map(\.serial))
      #expect(page.entries.first?.attempts == 1)
      for (index, id) in ids.enumerated() {
        #expect(try await store.envelope(id)?.state == (index < 10 ? .delivered : .queued))
      }
      #expect(store.statistics().envelopes == bench.store.statistics().envelopes)
      let lane = try #require(try await store.client("device-1")?.lanes.first)
      #expect(lane.ended[.delivered] == 10 && lane.lastSequence == 40)
      let results = try await store.append(
        [bench.draft(key: "k39"), bench.draft()], isAtomic: false)
      #expect(results[0] == .duplicate(id: ids[39], state: .queued))
      guard case .accepted(let next, _, _) = results[1] else {
        throw Unexpected(description: "\(results)")
      }
      #expect(next.serial == 41)
      await store.close()
    }
  }

  @Test("names that were forgotten before a crash are so after it, with their counts and numbers")
  func forgotten() async throws {
    try await Bench.with { bench in
      for index in 0..<20 {
        try await bench.end(
          try await bench.accept(bench.draft(client: "c\(index % 4)", lane: "\(index)")))
      }
      let waits = try await bench.accept(bench.draft(client: "c0", lane: "waits"))
      let last = try await bench.entry(waits)
      try await bench.deleteEverything()
      var isDone = false
      while !isDone {
        isDone = try await bench.store.forgetNames(countMax: 3).isRoundDone
        let image = try crashImage(of: bench.folder)
        defer { try? FileManager.default.removeItem(atPath: image) }
        let store = try SQLiteStore.open(folder: image, options: .init(clock: { bench.clock.now }))
        store.start(observer: RecordingObserver())
        #expect(store.statistics().names == bench.store.statistics().names)
        let results = try await store.append(
          [bench.draft(client: "c0", lane: "waits"), bench.draft(client: "new")], isAtomic: false)
        #expect(results.count == 2)
        let line = try await store.line(after: 0, countMax: 10).entries
        #expect(line.prefix(2).map(\.lane) == [last.lane, last.lane])
        #expect(line[2].lane.rawValue == last.lane.rawValue + 1)
        #expect(line[2].client.rawValue == 5)
        await store.close()
        let verdict = try StoreCheck.run(folder: image)
        #expect(verdict.isSound, "\(verdict.findings)")
      }
      let counts = bench.store.statistics().names
      #expect(counts.clients == 1 && counts.lanes == 1)
    }
  }

  @Test("a log that was cut off loses at most what was never acknowledged")
  func tornLog() async throws {
    try await Bench.with { bench in
      for _ in 0..<20 { try await bench.accept(bench.draft()) }
      let image = try crashImage(of: bench.folder)
      defer { try? FileManager.default.removeItem(atPath: image) }
      let wal = image + "/waystation.sqlite3-wal"
      let log = try #require(FileManager.default.contents(atPath: wal))
      try log.prefix(log.count - 100).write(to: URL(fileURLWithPath: wal))
      let store = try SQLiteStore.open(folder: image)
      let page = try await store.line(after: 0, countMax: 100)
      #expect(page.entries.map(\.serial) == Array(1...Int64(page.entries.count)))
      #expect(store.statistics().envelopes[.queued] == Int64(page.entries.count))
      #expect(page.entries.count == 19)
      await store.close()
    }
  }
}
