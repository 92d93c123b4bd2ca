import Foundation
import RelayCore
import SQLite
import Testing

@testable import SQLiteStore

/// What is met on opening a folder.
@Suite("SQLite store: opening", .timeLimit(.minutes(5)))
struct OpeningTests {
  private func withFolder(_ body: (String) async throws -> Void) async throws {
    let folder = Bench.freshFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await body(folder)
  }

  private func openError(_ folder: String) -> StoreError? {
    do throws(StoreError) {
      _ = try SQLiteStore.open(folder: folder)
      return nil
    } catch {
      return error
    }
  }

  private func execute(_ sql: String, in folder: String) throws {
    let connection = try Connection(path: DataFolder.database(in: folder), access: .create)
    try connection.execute(sql)
  }

  @Test("a new folder is its owner's alone")
  func permissions() async throws {
    try await withFolder { folder in
      let store = try SQLiteStore.open(folder: folder)
      for (path, mode) in [("", 0o700), ("/bodies", 0o700), ("/waystation.sqlite3", 0o600)] {
        let attributes = try FileManager.default.attributesOfItem(atPath: folder + path)
        #expect(attributes[.posixPermissions] as? Int == mode)
      }
      await store.close()
    }
  }

  @Test("a second owner is refused and told who the first is, until that one closes")
  func lock() async throws {
    try await withFolder { folder in
      let store = try SQLiteStore.open(folder: folder)
      let error = try #require(openError(folder))
      #expect(error.kind == .inUse)
      #expect(error.detail.contains("\(getpid())"))
      await store.close()
      let again = try SQLiteStore.open(folder: folder)
      await again.close()
    }
  }

  @Test("a second owner is refused also after somebody has removed the file that says who it is")
  func removedLock() async throws {
    try await withFolder { folder in
      let store = try SQLiteStore.open(folder: folder)
      try FileManager.default.removeItem(atPath: folder + "/lock")
      #expect(try #require(openError(folder)).kind == .inUse)
      #expect(try StoreCheck.run(folder: folder).isInUse)
      await store.close()
      let again = try SQLiteStore.open(folder: folder)
      await again.close()
    }
  }

  @Test("a store of a newer version is refused and left as it is")
  func newerSchema() async throws {
    try await withFolder { folder in
      await (try SQLiteStore.open(folder: folder)).close()
      try execute("PRAGMA user_version = 999", in: folder)
      let before = FileManager.default.contents(atPath: DataFolder.database(in: folder))
      let error = try #require(openError(folder))
      #expect(error.kind == .newerSchema && error.detail.contains("999"))
      #expect(FileManager.default.contents(atPath: DataFolder.database(in: folder)) == before)
    }
  }

  @Test("a version that no store can have is damage, and not a newer one")
  func impossibleSchema() async throws {
    try await withFolder { folder in
      await (try SQLiteStore.open(folder: folder)).close()
      try execute("PRAGMA user_version = -5", in: folder)
      #expect(try #require(openError(folder)).kind == .corrupt)
      #expect(throws: Never.self) { try StoreCheck.run(folder: folder) }
    }
  }

  @Test(
    "a file that is no store of ours is refused and left as it is",
    arguments: ["text", "foreign", "short"])
  func foreign(_ what: String) async throws {
    try await withFolder { folder in
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true)
      let path = DataFolder.database(in: folder)
      switch what {
      case "foreign":
        try execute("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)", in: folder)
      case "short": try Data("SQLite".utf8).write(to: URL(fileURLWithPath: path))
      default:
        let text = String(repeating: "this is no database. ", count: 100)
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
      }
      let before = FileManager.default.contents(atPath: path)
      let error = try #require(openError(folder))
      #expect(error.kind == .corrupt && error.detail.contains("data folder"))
      #expect(FileManager.default.contents(atPath: path) == before)
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == [
          "bodies", "lock", "waystation.sqlite3",
        ])
    }
  }

  @Test("a database that is gone while its log is there is refused, and the log is left")
  func missingBesideLog() async throws {
    try await withFolder { folder in
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true)
      let log = DataFolder.database(in: folder) + "-wal"
      try Data(repeating: 7, count: 5000).write(to: URL(fileURLWithPath: log))
      let error = try #require(openError(folder))
      #expect(error.kind == .corrupt && error.detail.contains("its log"))
      #expect(FileManager.default.contents(atPath: log)?.count == 5000)
    }
  }

  @Test(
    "a database that is gone, or empty, where there was one is refused",
    arguments: [true, false])
  func lost(isEmpty: Bool) async throws {
    try await Bench.with { bench in
      try await bench.accept(bench.draft())
      await bench.store.close()
      let path = DataFolder.database(in: bench.folder)
      let whole = try #require(FileManager.default.contents(atPath: path))
      try FileManager.default.removeItem(atPath: path)
      if isEmpty { try Data().write(to: URL(fileURLWithPath: path)) }
      let error = try #require(openError(bench.folder))
      #expect(error.kind == .corrupt && error.detail.contains("was begun"))
      #expect(FileManager.default.fileExists(atPath: path) == isEmpty)
      try whole.write(to: URL(fileURLWithPath: path))
      try await bench.reopen()
      #expect(bench.store.statistics().envelopes[.queued] == 1)
    }
  }

  @Test("a damaged store is refused, and starts again once it is repaired")
  func damaged() async throws {
    try await Bench.with { bench in
      for _ in 0..<50 { try await bench.accept(bench.draft()) }
      await bench.store.close()
      let path = DataFolder.database(in: bench.folder)
      let whole = try #require(FileManager.default.contents(atPath: path))
      var damaged = whole
      damaged.replaceSubrange(200..<whole.count, with: Data(count: whole.count - 200))
      try damaged.write(to: URL(fileURLWithPath: path))
      let error = try #require(openError(bench.folder))
      #expect(error.kind == .corrupt)
      #expect(FileManager.default.contents(atPath: path) == damaged)
      try whole.write(to: URL(fileURLWithPath: path))
      try await bench.reopen()
      #expect(bench.store.statistics().envelopes[.queued] == 50)
    }
  }

  @Test("each earlier version is brought to the latest", arguments: 0...Int(Migration.latest))
  func migrations(from version: Int) async throws {
    try await withFolder { folder in
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true)
      if version > 0 {
        try DatabaseFile.prepare(
          path: DataFolder.database(in: folder), pageBytes: 4096,
          migrations: Migration.all.filter { $0.version <= version })
      }
      let store = try SQLiteStore.open(folder: folder)
      #expect(store.statistics().envelopes[.queued] == 0)
      await store.close()
      let connection = try Connection(path: DataFolder.database(in: folder), access: .readOnly)
      #expect(try connection.number("PRAGMA user_version") == Migration.latest)
      #expect(try connection.text("PRAGMA integrity_check") == "ok")
    }
  }

  private func shape(of folder: String) throws -> String {
    let connection = try Connection(path: DataFolder.database(in: folder), access: .readOnly)
    let row = try Statement("SELECT sql FROM sqlite_schema ORDER BY name", on: connection)
    var lines = ["\(try connection.number("PRAGMA user_version"))"]
    while try row.step() { lines.append(row.text(0) ?? "") }
    return lines.joined(separator: "\n")
  }

  @Test(
    "an earlier version's store that is refused is as it was, and that version still opens it",
    arguments: 1..<Migration.latest)
  func refusedEarlier(version: Int64) async throws {
    try await withFolder { folder in
      let earlier = Migration.all.filter { $0.version <= version }
      let path = DataFolder.database(in: folder)
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try DatabaseFile.prepare(path: path, pageBytes: 4096, migrations: earlier)
      try execute(
        "DELETE FROM ledger; INSERT INTO client (number, name) VALUES (1, 'c')", in: folder)
      let before = try shape(of: folder)
      let error = try #require(openError(folder))
      #expect(error.kind == .corrupt && error.detail.contains("Nothing was changed"))
      #expect(try shape(of: folder) == before)
      try DatabaseFile.prepare(path: path, pageBytes: 4096, migrations: earlier)
      #expect(try shape(of: folder) == before)
    }
  }

  @Test("numbers that an earlier version has passed over stay passed over")
  func earlierNumbers() async throws {
    try await withFolder { folder in
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true)
      let path = DataFolder.database(in: folder)
      try DatabaseFile.prepare(
        path: path, pageBytes: 4096, migrations: Migration.all.filter { $0.version < 4 })
      let connection = try Connection(path: path, access: .readWrite)
      try connection.execute(
        """
        INSERT INTO client VALUES (1, 'c');
        INSERT INTO lane (number, client, name, last_sequence) VALUES (1, 1, 'l', 5);
        """)
      let bench = try Bench(folder: folder)
      let results = try await bench.store.append(
        [4, 6, 8].map { bench.draft(client: "c", lane: "l", sequence: $0) }, isAtomic: false)
      #expect(results[0] == .sequencePassed(last: 5))
      guard case .accepted = results[1], case .parked(_, missing((7, 7))) = results[2] else {
        throw Unexpected(description: "\(results)")
      }
      await bench.store.close()
    }
  }

  @Test("names that an earlier version knew are counted, and none of their numbers is given again")
  func earlierNames() async throws {
    try await withFolder { folder in
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true)
      let path = DataFolder.database(in: folder)
      try DatabaseFile.prepare(
        path: path, pageBytes: 4096, migrations: Migration.all.filter { $0.version < 16 })
      let connection = try Connection(path: path, access: .readWrite)
      try connection.execute(
        """
        INSERT INTO client VALUES (1, 'a'), (7, 'b');
        INSERT INTO lane (number, client, name) VALUES (1, 1, 'x'), (2, 7, 'x'), (9, 7, 'y');
        """)
      let bench = try Bench(folder: folder)
      var names = NameLimits()
      names.clientLanesMax = 2
      try await bench.reopen(names: names)
      let counts = bench.store.statistics().names
      #expect(counts.clients == 2 && counts.lanes == 3)
      let results = try await bench.store.append(
        [("b", "z"), ("a", "z"), ("c", "z")].map { bench.draft(client: $0.0, lane: $0.1) },
        isAtomic: false)
      guard case .overQuota = results[0] else { throw Unexpected(description: "\(results)") }
      let line = try await bench.store.line(after: 0, countMax: 10).entries
      #expect(line.map(\.lane.rawValue) == [10, 11] && line.map(\.client.rawValue) == [1, 8])
      await bench.store.close()
      #expect(try StoreCheck.run(folder: folder).isSound)
    }
  }

  @Test("a first log that a power cut left beside a database without one does not keep it closed")
  func firstLog() async throws {
    try await withFolder { folder in
      try await SQLiteStore.open(folder: folder).close()
      try execute("PRAGMA journal_mode = DELETE", in: folder)
      let log = DataFolder.database(in: folder) + "-wal"
      try Data(count: 32).write(to: URL(fileURLWithPath: log))
      let error = openError(folder)
      #expect(error == nil)
    }
  }

  @Test("migrations are numbered upwards, from 1")
  func numbering() {
    let versions = Migration.all.map(\.version)
    #expect(versions.first == 1 && versions == Array(Set(versions)).sorted())
  }

  @Test("a migration that fails leaves the version before it")
  func failedMigration() async throws {
    try await withFolder { folder in
      await (try SQLiteStore.open(folder: folder)).close()
      let bad = Migration(version: Migration.latest + 1, sql: "CREATE TABLE extra (a); NONSENSE;")
      #expect(throws: StoreError.self) {
        try DatabaseFile.prepare(
          path: DataFolder.database(in: folder), pageBytes: 4096,
          migrations: Migration.all + [bad])
      }
      let store = try SQLiteStore.open(folder: folder)
      await store.close()
      let connection = try Connection(path: DataFolder.database(in: folder), access: .readOnly)
      #expect(
        try connection.number("SELECT count(*) FROM sqlite_schema WHERE name = 'extra'") == 0)
    }
  }

  @Test("bodies that no envelope refers to are swept at the start, and the others kept")
  func orphans() async throws {
    try await Bench.with { bench in
      let file = try await bench.store.write([[1, 2, 3]])
      let orphan = try await bench.store.write([[4]])
      try await bench.accept(bench.draft(body: .file(file)))
      try await bench.reopen()
      #expect(FileManager.default.fileExists(atPath: file.path))
      #expect(!FileManager.default.fileExists(atPath: orphan.path))
    }
  }
}
