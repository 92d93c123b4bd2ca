import Foundation
import Glibc
import RelayCore
import SQLite
import SQLitePages
import Testing

@testable import SQLiteStore

/// Stores that were damaged: what a check says of them, and what a salvage makes of them.
@Suite("SQLite store: damage", .timeLimit(.minutes(5)))
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

  /// A store some of which only its log has, and a copy of it as a kill leaves it.
  private func withCrashed(
    _ body: (DamageBench, _ crashed: String, _ before: DamageBench.Contents) async throws -> Void
  ) async throws {
    try await DamageBench.with { bench in
      try await bench.fill(rounds: 4)
      let before = try await bench.contents()
      let crashed = bench.folder + "-crashed"
      defer { try? FileManager.default.removeItem(atPath: crashed) }
      try bench.copy(to: crashed)
      try await body(bench, crashed, before)
    }
  }

  @Test("what only the log holds is read as well, also behind a frame that is damaged")
  func damagedLog() async throws {
    try await withCrashed { bench, crashed, before in
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

  @Test(
    "a log whose beginning is lost is refused, and a salvage says so", arguments: [48, 512, 4096])
  func lostLogBeginning(_ bytes: Int) async throws {
    try await withCrashed { bench, crashed, before in
      try Damage.overwrite(
        DataFolder.database(in: crashed) + "-wal", at: 0, with: [UInt8](repeating: 0, count: bytes))
      #expect(throws: StoreError.self) { _ = try SQLiteStore.open(folder: crashed) }
      let verdict = try StoreCheck.run(folder: crashed)
      #expect(verdict.findings.contains { $0.kind == "log-damaged" }, "\(verdict.findings)")
      let (report, findings) = try bench.salvage(from: crashed)
      #expect(findings.contains { $0.reason.hasPrefix("the beginning of the log is lost") })
      #expect(report.envelopes > before.envelopes.count / 2)
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

  @Test("which file is whose is known by the row and by the index, and lost only with both")
  func bodyNames() async throws {
    try await DamageBench.with { bench in
      try await bench.fill(rounds: 5)
      let before = try await bench.contents()
      await bench.bench.store.close()
      let page = try bench.rootPage(of: "body_file")
      let index = try bench.rootPage(of: "sqlite_autoindex_body_file_1")
      func zero(_ page: Int) throws {
        try Damage.overwrite(
          bench.database, at: (page - 1) * 8192, with: [UInt8](repeating: 0, count: 8192))
      }
      try zero(page)
      let (report, findings) = try bench.salvage()
      #expect(report.bodies == 5 && report.envelopes == before.envelopes.count)
      #expect(findings.map(\.table) == ["body_file"])
      #expect(try await bench.salvaged().envelopes == before.envelopes)
      #expect(try StoreCheck.run(folder: bench.newFolder).isSound)
      // A file that is shorter than the line knows is not taken, whichever says whose it is. The
      // longest one is the newest, and waits: of what has ended only the row knew the length.
      try Damage.truncate(bench.longestBodyFile(), to: 10)
      let (cut, cutFindings) = try bench.salvage()
      #expect(cut.bodies == 4 && cutFindings.count { $0.kind == .envelope && $0.id != nil } == 1)
      try zero(index)
      let (rest, lost) = try bench.salvage()
      #expect(rest.bodies == 0 && rest.envelopes == before.envelopes.count - 5)
      #expect(Set(lost.compactMap(\.id)).count == 5, "\(lost)")
      #expect(try StoreCheck.run(folder: bench.newFolder).isSound)
    }
  }

  @Test(
    "a revocation whose row has a flipped byte is taken from the index: its token stays revoked",
    arguments: ["id", "client"])
  func flippedRevocation(_ column: String) async throws {
    try await DamageBench.with { bench in
      try await bench.fill(rounds: 1)
      let before = try await bench.contents().tokens
      await bench.bench.store.close()
      let revoked = before.compactMap { id, grant in
        if case .revoked(let client) = grant { (id: id, client: client) } else { nil }
      }
      let (id, client) = try #require(revoked.min { $0.id < $1.id })
      // The row has them side by side, with the kind in between; the index the other way round.
      var bytes = try Data(contentsOf: URL(fileURLWithPath: bench.database))
      let row = try #require(bytes.range(of: Data(id.utf8) + [3] + Data(client.utf8)))
      bytes[row.lowerBound + (column == "id" ? id.utf8.count - 1 : id.utf8.count + 1)] ^= 1
      try bytes.write(to: URL(fileURLWithPath: bench.database))
      let (_, findings) = try bench.salvage()
      #expect(try await bench.salvaged().tokens[id] == before[id])
      #expect(findings.contains { $0.table == "token" })
    }
  }

  @Test("a move aside that was cut off is finished, and its tokens are carried over then")
  func cutOff() async throws {
    try await DamageBench.with { bench in
      try await bench.fill(rounds: 1)
      let tokens = try await bench.contents().tokens
      await bench.bench.store.close()
      let aside = bench.folder + "/damaged-2026-01-01T00-00-00-000Z"
      try FileManager.default.createDirectory(atPath: aside, withIntermediateDirectories: false)
      try FileManager.default.moveItem(
        atPath: bench.database, toPath: DataFolder.database(in: aside))
      // The database was moved, and what belongs to it was not yet.
      #expect(throws: StoreError.self) { _ = try SQLiteStore.open(folder: bench.folder) }
      var options = SQLiteStore.Options()
      options.setsAsideDamaged = true
      for round in 0..<2 {
        let store = try SQLiteStore.open(folder: bench.folder, options: options)
        let files = store.files()
        #expect(files.setAside?.folder == aside && files.mayLackTokens)
        #expect(files.setAside?.tokens?.revocations == (round == 0 ? 50 : nil))
        let page = try await store.tokens(after: "", client: nil, countMax: 1000)
        #expect(page.tokens.reduce(into: [:]) { $0[$1.id] = $1.grant } == tokens)
        await store.close()
      }
      #expect(FileManager.default.fileExists(atPath: aside + "/begun"))
      // All was moved, and the new database was not there yet.
      try FileManager.default.removeItem(atPath: bench.database)
      try FileManager.default.removeItem(atPath: bench.folder + "/begun")
      let store = try SQLiteStore.open(folder: bench.folder)
      #expect(store.files().setAside?.tokens?.tokens == 150)
      await store.close()
    }
  }

  @Test("a body's file is not swept while the table knows it, though its index does not")
  func sweeping() async throws {
    try await DamageBench.with { bench in
      try await bench.fill(rounds: 3)
      await bench.bench.store.close()
      let bodies = bench.folder + "/bodies"
      let names = try FileManager.default.contentsOfDirectory(atPath: bodies)
      let page = try bench.rootPage(of: "sqlite_autoindex_body_file_1")
      let bytes = try #require(FileManager.default.contents(atPath: bench.database))
      let place = try #require(
        bytes.range(of: Data(names[0].utf8), in: (page - 1) * 8192..<page * 8192))
      let other: UInt8 = names[0].hasPrefix("0") ? 0x31 : 0x30
      try Damage.overwrite(bench.database, at: place.lowerBound, with: [other])
      try Data([1]).write(
        to: URL(fileURLWithPath: bodies + "/" + String(repeating: "a", count: 32)))
      await (try SQLiteStore.open(folder: bench.folder)).close()
      let left = try FileManager.default.contentsOfDirectory(atPath: bodies)
      #expect(left.sorted() == names.sorted())
    }
  }

  @Test("a row whose number has become another one's takes nobody's place, and has its own again")
  func misplaced() async throws {
    try await DamageBench.with { bench in
      try await bench.fill(rounds: 10)
      let before = try await bench.contents()
      await bench.bench.store.close()
      let image = try DatabaseImage(path: bench.database, indexTrust: .hint)
      let owners = PageOwners(image, roots: [try bench.rootPage(of: "envelope")])
      let leaves = (1...image.pageCount).filter { page in
        owners.tree(of: page) == 1
          && image.tree(page).map { $0.kind == .tableLeaf && $0.cells.count > 2 } == true
      }
      let (page, other) = (try #require(leaves.last { $0 != leaves.max() }), leaves[0])
      let taken = try #require(image.tree(other)?.cells[0]?.row)
      // The second cell of a page: its length, and then its number, of two bytes here.
      let bytes = try #require(image.page(page))
      var place = bytes.number16(at: 8 + 2)
      place = try #require(bytes.variableNumber(at: place, before: bytes.count)).1
      let number: [UInt8] = [0x80 | UInt8(taken >> 7), UInt8(taken & 0x7F)]
      try Damage.overwrite(bench.database, at: (page - 1) * 8192 + place, with: number)
      #expect(try !StoreCheck.run(folder: bench.folder).isSound)
      let (_, findings) = try bench.salvage()
      #expect(findings.map(\.table) == ["envelope"], "\(findings)")
      #expect(try await bench.salvaged() == before)
      #expect(try StoreCheck.run(folder: bench.newFolder).isSound)
    }
  }

  @Test("a flipped number within an id is put right by its row's, and a text that is none is seen")
  func idsAndTexts() async throws {
    try await DamageBench.with { bench in
      try await bench.fill(rounds: 2)
      let before = try await bench.contents()
      await bench.bench.store.close()
      let image = try #require(FileManager.default.contents(atPath: bench.database))
      let id = try #require(EnvelopeID(parsing: before.order[7]))
      let place = try #require(image.range(of: Data(id.bytes))).lowerBound
      // This byte of an id holds a part of the serial alone.
      try Damage.overwrite(bench.database, at: place + 11, with: [id.bytes[11] ^ 0x40])
      let (_, findings) = try bench.salvage()
      #expect(findings.map(\.id) == [id])
      #expect(try await bench.salvaged() == before)
      try Damage.overwrite(bench.database, at: place + 11, with: [id.bytes[11]])
      try bench.execute(
        """
        UPDATE token SET label = CAST(x'6CFF' AS TEXT) WHERE id = (\
        SELECT min(id) FROM token WHERE label IS NOT NULL)
        """)
      let verdict = try StoreCheck.run(folder: bench.folder)
      #expect(verdict.findings.map(\.kind) == ["invalidRow-text"])
      #expect(try bench.salvage().findings.map(\.table) == ["token"])
    }
  }

  @Test("a mark of what refers that is not as posted is seen, and made anew")
  func marks() async throws {
    try await DamageBench.with { bench in
      var draft = bench.bench.draft(hold: true)
      draft.references = true
      let id = try await bench.bench.accept(draft)
      try await bench.bench.accept(bench.bench.draft())
      await bench.bench.store.close()
      try bench.execute("UPDATE line SET refers = 1 - refers")
      let verdict = try StoreCheck.run(folder: bench.folder)
      #expect(verdict.findings.map(\.kind) == ["reference-not-marked"])
      #expect(verdict.findings.first?.count == 2)
      #expect(try bench.salvage().findings.isEmpty)
      #expect(try StoreCheck.run(folder: bench.newFolder).isSound)
      #expect(try await bench.salvaged().order.first == "\(id)")
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
      let aside = try #require(store.files().setAside)
      await store.close()
      #expect(aside.folder.hasPrefix(bench.folder + "/damaged-"))
      #expect(DataFolder.size(ofFile: DataFolder.database(in: aside.folder)) == size)
      #expect(try bench.salvage(from: aside.folder).report.envelopes > 0)
    }
  }
}
