import RelayCore
import SQLite
import SQLitePages
import StoreModel
import Testing

@testable import SQLiteStore

@Suite("Damaged remembered keys", .timeLimit(.minutes(5)))
struct DamagedKeyTests {
  private func end(_ bench: Bench, key: String?) async throws {
    let id = try await bench.accept(bench.draft(key: key))
    try await bench.record(id, .end(.delivered, reason: ""))
    bench.clock.advance(milliseconds: 1000)
  }

  /// Deletes what has ended; keys are remembered for so long after the end.
  private func delete(_ bench: Bench, keyMs: Int64) async throws -> Int {
    let now = bench.clock.now
    let cutoffs = RetentionCutoffs(
      delivered: now, failed: now, keys: now.adding(milliseconds: -keyMs))
    var count = 0
    while true {
      let page = try await bench.store.deleteEnded(cutoffs, countMax: 100)
      count += page.deletedCount
      if page.isRoundDone { return count }
    }
  }

  private func zero(_ bench: Bench, page name: String) throws {
    let path = DataFolder.database(in: bench.folder)
    let beside = try Connection(path: path, access: .readWrite)
    try beside.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    let root = try beside.number("SELECT rootpage FROM sqlite_schema WHERE name = '\(name)'")
    let bytes = try DatabaseImage(path: path, indexTrust: .hint).pageBytes
    try Damage.overwrite(
      path, at: (Int(root) - 1) * bytes, with: [UInt8](repeating: 0, count: bytes))
    // A commit of somebody else's: what a connection has kept of the file counts no longer.
    try beside.execute("PRAGMA user_version = \(Migration.latest)")
  }

  @Test("are forgotten no more, and what has ended is deleted all the same")
  func retention() async throws {
    try await Bench.with { bench in
      try await end(bench, key: "k")
      #expect(try await delete(bench, keyMs: 60_000) == 1)
      try await end(bench, key: nil)
      try zero(bench, page: "remembered_key_ended")
      #expect(try await delete(bench, keyMs: 0) == 1)
      #expect(try bench.files.damage.leftOut == [.keyDeletion])
      let again = try await bench.store.append([bench.draft(key: "k")], isAtomic: false)
      #expect(again == [.forgotten])
    }
  }

  @Test("keep an envelope whose key cannot be remembered, and no other one")
  func remembering() async throws {
    try await Bench.with { bench in
      try await end(bench, key: "k")
      try await end(bench, key: nil)
      try zero(bench, page: "remembered_key")
      #expect(try await delete(bench, keyMs: 60_000) == 1)
      #expect(try bench.files.damage.leftOut == [.envelopeDeletion])
      #expect(try await bench.store.envelope(client: "device-1", key: "k") != nil)
    }
  }

  @Test("are carried over by a salvage")
  func salvage() async throws {
    let folder = Bench.freshFolder()
    let bench = try Bench(folder: folder)
    try await end(bench, key: "k")
    #expect(try await delete(bench, keyMs: 60_000) == 1)
    await bench.planned.close()
    let report = try Salvage.run(from: folder, to: folder + "-new") { _ in }
    #expect(report.rows["remembered_key"] == 1)
    await bench.tearDown()
    let salvaged = try Bench(folder: folder + "-new")
    let again = try await salvaged.store.append([bench.draft(key: "k")], isAtomic: false)
    #expect(again == [.forgotten])
    await salvaged.tearDown()
  }
}
