import Foundation
import RelayCore
import SQLite
import SQLitePages
import Testing

@testable import SQLiteStore

@Suite("SQLite store: a log beside its index")
struct LogIndexTests {
  private static let pageBytes = 4096
  private static let frameBytes = 24 + pageBytes
  private static let commits = 8

  /// A crashed database, of whose log a part was copied.
  ///
  /// Each commit is one frame.
  private struct Crashed {
    let folder: String
    var database: String { folder + "/database" }
    var log: String { database + "-wal" }

    /// - Parameter copied: The number of commits before the log was copied into the database.
    init(copied: Int = 0) throws {
      folder = Bench.freshFolder()
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let living = folder + "/living"
      let connection = try Connection(path: living, access: .create)
      try connection.execute(
        """
        PRAGMA page_size = \(pageBytes); PRAGMA journal_mode = WAL;
        PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (n INTEGER PRIMARY KEY, m INTEGER);
        INSERT INTO t VALUES (1, 0); PRAGMA wal_checkpoint(TRUNCATE)
        """)
      // While somebody reads from the log, it does not start over.
      let reader = try Connection(path: living, access: .readOnly)
      for number in 1...commits {
        try connection.execute("UPDATE t SET m = \(number)")
        guard number == copied else { continue }
        try reader.execute("BEGIN; SELECT * FROM t")
        try connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
      }
      for end in ["", "-wal", "-shm"] {
        try FileManager.default.copyItem(atPath: living + end, toPath: database + end)
      }
    }

    func image(_ trust: DatabaseForm.IndexTrust = .proven) throws -> DatabaseImage {
      try DatabaseImage(path: database, indexTrust: trust)
    }

    /// The row's number as the image has it.
    func number(in image: DatabaseImage) throws -> Int64? {
      let owners = PageOwners(image, roots: [2])
      let cell = try #require(image.tree(2)?.cells.first ?? nil)
      guard case .record(let record) = RowReader(owners: owners).read(cell, of: 2, image) else {
        return nil
      }
      return record.values[1].integer
    }

    func keep(bytes: Int) throws { try Damage.truncate(log, to: bytes) }
    func removeLog() throws { try FileManager.default.removeItem(atPath: log) }
  }

  private static func end(of commits: Int) -> Int { 32 + commits * frameBytes }

  /// Makes one, and removes it.
  private func with(copied: Int = 0, _ body: (Crashed) throws -> Void) throws {
    let crashed = try Crashed(copied: copied)
    defer { try? FileManager.default.removeItem(atPath: crashed.folder) }
    try body(crashed)
  }

  @Test("a log that is whole is taken, however much of it was copied", arguments: [0, 3, 8])
  func whole(copied: Int) throws {
    try with(copied: copied) { crashed in
      let image = try crashed.image()
      #expect(image.logImage.loss == nil && image.logImage.missingFrames == 0)
      #expect(try crashed.number(in: image) == 8)
    }
  }

  @Test("a log that was cut off is damaged where something of it is known to be lost, and not else")
  func cutOff() throws {
    for bytes in [0, 20, 32, 100] + (1..<8).flatMap({ [Self.end(of: $0), Self.end(of: $0) + 99] }) {
      try with { crashed in
        try crashed.keep(bytes: bytes)
        let image = try crashed.image()
        let left = max(0, (bytes - 32) / Self.frameBytes)
        #expect(image.logImage.loss == .end(pages: 8 - left), "\(bytes)")
        #expect(try crashed.number(in: image) == Int64(left), "\(bytes)")
        #expect(try !crashed.image(.hint).logImage.isDamaged, "\(bytes)")
      }
    }
  }

  @Test("a log that was deleted is missed, unless all of it was copied", arguments: [0, 3, 8])
  func deleted(copied: Int) throws {
    try with(copied: copied) { crashed in
      try crashed.removeLog()
      let image = try crashed.image()
      #expect(image.logImage.loss == (copied == 8 ? nil : .end(pages: 8 - copied)))
      #expect(try crashed.number(in: image) == Int64(copied))
      #expect(try !crashed.image(.hint).logImage.isDamaged)
    }
  }

  @Test("what is left of a log that was copied further hides nothing of the database")
  func copiedFurther() throws {
    for (copied, left) in [(8, 1), (8, 7), (5, 2), (5, 5), (5, 7)] {
      try with(copied: copied) { crashed in
        try crashed.keep(bytes: Self.end(of: left))
        let image = try crashed.image()
        let held = max(copied, left)
        #expect(image.logImage.loss == .end(pages: 8 - held), "\(copied) \(left)")
        #expect(try crashed.number(in: image) == Int64(held), "\(copied) \(left)")
        // A log is synced before it is copied: one that ends before was cut off in any case.
        #expect(try crashed.image(.hint).logImage.isDamaged == (left < copied))
      }
    }
  }

  @Test("damage to the last commit alone is seen, and to any before it")
  func lastCommit() throws {
    for commit in 1...Self.commits {
      try with { crashed in
        try Damage.overwrite(crashed.log, at: Self.end(of: commit) - 9, with: [0xFF])
        let image = try crashed.image()
        let behind = Self.commits - commit
        #expect(image.logImage.loss == (behind > 0 ? .commits(behind) : .end(pages: 1)))
        #expect(image.logImage.missingFrames == 1)
        #expect(try crashed.number(in: image) == (behind > 0 ? 8 : 7))
      }
    }
  }

  @Test("the log of another time is no substitute, and its pages are not laid over newer ones")
  func olderLog() throws {
    try with(copied: 8) { crashed in
      let other = try Crashed()
      defer { try? FileManager.default.removeItem(atPath: other.folder) }
      try crashed.removeLog()
      try other.keep(bytes: Self.end(of: 4))
      try FileManager.default.moveItem(atPath: other.log, toPath: crashed.log)
      let image = try crashed.image()
      #expect(image.logImage.isDamaged)
      #expect(try crashed.number(in: image) == 8)
    }
  }

  @Test("an index that is older than the log says nothing, as a snapshot of the disk leaves it")
  func olderIndex() throws {
    try with { crashed in
      let connection = try Connection(path: crashed.database, access: .readWrite)
      let old = try Data(contentsOf: URL(filePath: crashed.database + "-shm"))
      // All is copied, and the log starts over.
      try connection.execute("PRAGMA wal_checkpoint(RESTART); UPDATE t SET m = 9")
      for end in ["", "-wal"] {
        let path = crashed.database + end
        try FileManager.default.copyItem(atPath: path, toPath: crashed.folder + "/copy" + end)
      }
      try old.write(to: URL(filePath: crashed.folder + "/copy-shm"))
      for trust in [DatabaseForm.IndexTrust.hint, .proven] {
        let image = try DatabaseImage(path: crashed.folder + "/copy", indexTrust: trust)
        #expect(!image.logImage.isDamaged)
        #expect(try crashed.number(in: image) == 9)
      }
    }
  }

  @Test("the last row of a table is found, whatever is damaged beside the way there")
  func lastRow() throws {
    let folder = Bench.freshFolder()
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/database"
    let connection = try Connection(path: path, access: .create)
    try connection.execute(
      """
      PRAGMA page_size = 512; PRAGMA journal_mode = WAL;
      CREATE TABLE a (n INTEGER PRIMARY KEY, t TEXT); CREATE TABLE b (n INTEGER PRIMARY KEY)
      """)
    for number in 0..<40 {
      try connection.execute("CREATE TABLE more\(number) (n INTEGER PRIMARY KEY, text TEXT)")
    }
    try connection.execute("CREATE TABLE last (n INTEGER PRIMARY KEY, t TEXT)")
    func last(_ table: String) throws -> Int64? {
      try DatabaseImage(path: path, indexTrust: .hint).lastRow(ofTable: table)
    }
    #expect(try last("last") == 0 && last("a") == 0 && last("missing") == nil)
    for number in 1...600 {
      try connection.execute("INSERT INTO last VALUES (\(number), 'some text')")
    }
    #expect(try last("last") == 600)
    try connection.execute("PRAGMA wal_checkpoint(TRUNCATE); DELETE FROM last WHERE n < 600")
    #expect(try last("last") == 600 && last("b") == 0)
    // As damage may have it.
    try connection.execute("INSERT INTO b VALUES (\(Int64.min + 1))")
    #expect(try last("b") == nil)
  }

  @Test("what was acknowledged is read as it was written, and anything else is passed over")
  func mark() throws {
    let folder = Bench.freshFolder()
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    #expect(AcknowledgedMark.events(in: folder) == nil)
    let mark = try #require(AcknowledgedMark(in: folder))
    #expect(AcknowledgedMark.events(in: folder) == nil)
    for number in [0, 7, 123_456, Int64.max] {
      mark.note(events: number)
      #expect(AcknowledgedMark.events(in: folder) == number)
    }
    let path = AcknowledgedMark.path(in: folder)
    let line = "events 0000000000000000012\n"
    for text in [
      "", "events ", line, String(line.dropLast()), line + line + "more",
      line + "events 0000000000000000013\n", line + line.replacing("events", with: "evened"),
      "events 000000000000000001x\nevents 000000000000000001x\n",
      "events 9999999999999999999\nevents 9999999999999999999\n",
    ] {
      try Data(text.utf8).write(to: URL(filePath: path))
      #expect(AcknowledgedMark.events(in: folder) == nil, "\(text)")
    }
    // What stood there before does not outlast the next start.
    try Data((line + line + "more").utf8).write(to: URL(filePath: path))
    let next = try #require(AcknowledgedMark(in: folder))
    next.note(events: 12)
    #expect(AcknowledgedMark.events(in: folder) == 12)
  }
}
