import Foundation
import Glibc
import RelayCore
import Testing

@testable import SQLiteStore

/// Stores that were damaged: what a check says of them, and what a salvage makes of them.
@Suite("SQLite store: damage", .timeLimit(.minutes(1)))
struct SalvageTests {
  @Test("a store that is sound is found sound, also while it is in use")
  func sound() async throws {
    try await DamageBench.with { bench in
      try await bench.fill()
      let beside = try StoreCheck.run(folder: bench.folder)
      #expect(beside.isInUse)
      #expect(beside.isSound, "\(beside.findings)")
      await bench.bench.store.close()
      let verdict = try StoreCheck.run(folder: bench.folder)
      #expect(verdict.isSound, "\(verdict.findings)")
      #expect(!verdict.isInUse && verdict.envelopes == 661)
    }
  }

  @Test("a salvage of a store that is sound carries everything over, and touches nothing")
  func whole() async throws {
    try await DamageBench.with { bench in
      try await bench.fill()
      let before = try await bench.contents()
      await bench.bench.store.close()
      let files = bench.fingerprint()
      let (report, findings) = try bench.salvage()
      #expect(findings.isEmpty, "\(findings.prefix(5))")
      #expect(report.envelopes == before.envelopes.count)
      #expect(bench.fingerprint() == files)
      let after = try await bench.contents(ofSalvaged: true)
      #expect(after == before)
      #expect(try StoreCheck.run(folder: bench.newFolder).findings.map(\.kind) == [])
    }
  }

  @Test("what only the log holds is read as well, also behind a frame that is damaged")
  func damagedLog() async throws {
    try await DamageBench.with { bench in
      try await bench.fill(rounds: 4)
      let before = try await bench.contents()
      let crashed = bench.folder + "-crashed"
      defer { try? FileManager.default.removeItem(atPath: crashed) }
      try bench.copy(to: crashed)
      #expect(try bench.salvage(from: crashed).findings.isEmpty)
      #expect(try await bench.salvaged() == before)
      let log = DataFolder.database(in: crashed) + "-wal"
      // In the middle of the third frame: SQLite would drop nearly all of the log.
      try Damage.overwrite(log, at: 32 + 2 * (24 + 8192) + 4000, with: [0xFF, 0, 0xFF, 0])
      let verdict = try StoreCheck.run(folder: crashed)
      #expect(verdict.findings.contains { $0.kind == "log-damaged" }, "\(verdict.findings)")
      let (report, _) = try bench.salvage(from: crashed)
      #expect(report.envelopes > before.envelopes.count / 2)
      #expect(try StoreCheck.run(folder: bench.newFolder).isSound)
      #expect(throws: StoreError.self) { _ = try SQLiteStore.open(folder: crashed) }
    }
  }

  @Test("a body that is missing or cut off is found, named by a check, and told by a salvage")
  func bodies() async throws {
    try await DamageBench.with { bench in
      try await bench.fill(rounds: 3)
      await bench.bench.store.close()
      let names = try FileManager.default.contentsOfDirectory(atPath: bench.folder + "/bodies")
      try FileManager.default.removeItem(atPath: "\(bench.folder)/bodies/\(names[0])")
      try Damage.truncate("\(bench.folder)/bodies/\(names[1])", to: 10)
      let verdict = try StoreCheck.run(folder: bench.folder)
      #expect(verdict.findings.map(\.kind) == ["body-file-missing"])
      #expect(verdict.findings.first?.count == 2)
      let (report, findings) = try bench.salvage()
      #expect(report.bodies == 1 && findings.count == 2)
      #expect(findings.allSatisfy { $0.kind == .envelope && $0.client == "device-0" })
      #expect(findings.allSatisfy { $0.lane == "files" && $0.id != nil })
      #expect(try StoreCheck.run(folder: bench.newFolder).isSound)
    }
  }

  @Test("a salvage into a folder that is in use, or from a store that is, is refused")
  func refusals() async throws {
    try await DamageBench.with { bench in
      #expect(throws: StoreError.self) { try bench.salvage() }
      await bench.bench.store.close()
      #expect(throws: StoreError.self) {
        try Salvage.run(from: bench.folder, to: bench.folder, note: { _ in })
      }
    }
  }

  @Test("a database that is gone where a store was kept is not taken for a new one")
  func vanished() async throws {
    try await DamageBench.with { bench in
      await bench.bench.store.close()
      try Damage.truncate(bench.database, to: 0)
      let error = #expect(throws: StoreError.self) {
        _ = try SQLiteStore.open(folder: bench.folder)
      }
      #expect(error?.kind == .corrupt)
      #expect(try StoreCheck.run(folder: bench.folder).findings.map(\.kind) == ["database-missing"])
      try FileManager.default.removeItem(atPath: bench.database)
      #expect(throws: StoreError.self) { _ = try SQLiteStore.open(folder: bench.folder) }
    }
  }

  @Test("a damaged store is moved aside only when that is asked for, and a new one is begun")
  func settingAside() async throws {
    try await DamageBench.with { bench in
      try await bench.fill(rounds: 2)
      await bench.bench.store.close()
      try Damage.overwrite(bench.database, at: 0, with: [UInt8](repeating: 0, count: 8192))
      let size = DataFolder.size(ofFile: bench.database)
      #expect(throws: StoreError.self) { _ = try SQLiteStore.open(folder: bench.folder) }
      var options = SQLiteStore.Options()
      options.setsAsideDamaged = true
      let store = try SQLiteStore.open(folder: bench.folder, options: options)
      let aside = try #require(store.statistics().setAside)
      await store.close()
      #expect(aside.folder.hasPrefix(bench.folder + "/damaged-"))
      #expect(DataFolder.size(ofFile: DataFolder.database(in: aside.folder)) == size)
      #expect(try bench.salvage(from: aside.folder).report.envelopes > 0)
    }
  }
}
