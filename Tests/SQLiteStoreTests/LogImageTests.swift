import Foundation
import RelayCore
import SQLite
import SQLitePages
import Testing

@testable import SQLiteStore

@Suite("SQLite store: a log with damage")
struct LogImageTests {
  private static let pageBytes = 4096

  /// The log of a database with some commits of one page each, one of them damaged.
  ///
  /// - Parameters:
  ///   - damaged: The damaged one, from 1; 0 for the log's own beginning.
  ///   - hasIndex: Whether the log's index is there, as after a kill; a power cut leaves none.
  private func image(
    commits: Int, damaged: Int, hasIndex: Bool
  ) throws -> LogImage {
    let folder = Bench.freshFolder()
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let database = folder + "/database"
    let connection = try Connection(path: database, access: .create)
    try connection.execute(
      """
      PRAGMA page_size = \(Self.pageBytes); PRAGMA journal_mode = WAL;
      PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (n INTEGER PRIMARY KEY, m INTEGER);
      INSERT INTO t VALUES (1, 0); PRAGMA wal_checkpoint(TRUNCATE)
      """)
    for number in 1...commits { try connection.execute("UPDATE t SET m = \(number)") }
    let copy = folder + "/copy"
    for end in ["", "-wal"] + (hasIndex ? ["-shm"] : []) {
      try FileManager.default.copyItem(atPath: database + end, toPath: copy + end)
    }
    let log = try FileHandle(forUpdating: URL(fileURLWithPath: copy + "-wal"))
    let frame = 32 + (damaged - 1) * (24 + Self.pageBytes)
    try log.seek(toOffset: UInt64(damaged == 0 ? 16 : frame + 100))
    try log.write(contentsOf: [0xFF])
    try log.close()
    return try DatabaseImage(path: copy, indexTrust: .hint).logImage
  }

  @Test("damage is certain once more commits build upon it than may be unsynced at one moment")
  func behindDamage() throws {
    let unsynced = StoreTuning.unsyncedCommitsMax
    let doubtful = try image(commits: 2 + unsynced, damaged: 2, hasIndex: false)
    #expect(doubtful.commitsBehindDamage == unsynced && !doubtful.isDamaged)
    let certain = try image(commits: 3 + unsynced, damaged: 2, hasIndex: false)
    #expect(certain.commitsBehindDamage == unsynced + 1 && certain.isDamaged)
  }

  @Test("damage to the log's own beginning hides no commit")
  func beginning() throws {
    let image = try image(commits: 4, damaged: 0, hasIndex: false)
    #expect(image.isDamaged && image.commitsBehindDamage == 4)
  }

  @Test("the last commit of a damaged log is read as well")
  func last() throws {
    let image = try image(commits: 3 + StoreTuning.unsyncedCommitsMax, damaged: 2, hasIndex: false)
    let last = 2 + StoreTuning.unsyncedCommitsMax
    #expect(image.places[2] == Int64(32 + last * (24 + Self.pageBytes) + 24))
  }

  @Test("the index of a killed process makes no more of it, since it learns of commits unsynced")
  func withIndex() throws {
    let unsynced = StoreTuning.unsyncedCommitsMax
    let doubtful = try image(commits: 2 + unsynced, damaged: 2, hasIndex: true)
    #expect(doubtful.commitsBehindDamage == unsynced && !doubtful.isDamaged)
    let certain = try image(commits: 3 + unsynced, damaged: 2, hasIndex: true)
    #expect(certain.commitsBehindDamage == unsynced + 1 && certain.isDamaged)
  }

  /// A database and its log before it starts over, and after; and the header that is new then.
  private struct StartedOver {
    var before: (database: [UInt8], log: [UInt8])
    var copied: [UInt8]
    var header: [UInt8]
    /// The same after more commits, as many as there were before.
    var again: (database: [UInt8], log: [UInt8])
  }

  private func startedOver(commits: Int = 6) throws -> StartedOver {
    let folder = Bench.freshFolder()
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let database = folder + "/database"
    func bytes(_ end: String = "") throws -> [UInt8] {
      [UInt8](try Data(contentsOf: URL(fileURLWithPath: database + end)))
    }
    let connection = try Connection(path: database, access: .create)
    try connection.execute(
      """
      PRAGMA page_size = \(Self.pageBytes); PRAGMA journal_mode = WAL;
      PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (n INTEGER PRIMARY KEY, m INTEGER);
      INSERT INTO t VALUES (1, 0)
      """)
    for number in 1...commits { try connection.execute("UPDATE t SET m = \(number)") }
    let before = (try bytes(), try bytes("-wal"))
    try connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
    let copied = try bytes()
    for number in 1...commits { try connection.execute("UPDATE t SET m = -\(number)") }
    let again = (try bytes(), try bytes("-wal"))
    return StartedOver(
      before: before, copied: copied, header: Array(again.1[..<32]), again: again)
  }

  private func image(of database: [UInt8], _ log: [UInt8]) throws -> LogImage {
    let folder = Bench.freshFolder()
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/database"
    try Data(database).write(to: URL(fileURLWithPath: path))
    try Data(log).write(to: URL(fileURLWithPath: path + "-wal"))
    return try DatabaseImage(path: path, indexTrust: .hint).logImage
  }

  @Test("a log whose beginning a power cut has torn, as it started over, hides nothing")
  func tornHeader() throws {
    let started = try startedOver()
    let log = started.before.log
    for count in 0..<32 {
      let torn = Array(started.header[..<count]) + Array(log[count...])
      let image = try image(of: started.copied, torn)
      #expect(!image.isDamaged && image.commitsBehindDamage == 0, "\(count)")
    }
  }

  @Test("any one wrong bit of a log's beginning is damage, as long as the log is not copied")
  func headerBits() throws {
    let started = try startedOver()
    for commits in [1, 6] {
      let whole = started.before.log[..<Self.end(ofCommits: commits)]
      for bit in 0..<32 * 8 {
        var log = Array(whole)
        log[bit / 8] ^= 1 << (bit % 8)
        #expect(try image(of: started.before.database, log).isDamaged, "\(bit) of \(commits)")
      }
    }
  }

  /// Where the log ends with one of its commits: the first has the table and its pages.
  private static func end(ofCommits count: Int) -> Int { 32 + (3 + count) * (24 + pageBytes) }

  @Test(
    "a log whose first bytes are lost, with its first frame or more, is damaged",
    arguments: [24..<32, 0..<32, 0..<48, 0..<512, 0..<4096, 0..<3 * 4096])
  func lostFront(_ lost: Range<Int>) throws {
    let started = try startedOver()
    for (commits, byte) in [(1, 0), (6, 0), (6, 0xA5)] {
      var log = Array(started.before.log[..<Self.end(ofCommits: commits)])
      log.replaceSubrange(lost, with: lost.map { _ in UInt8(byte) })
      let image = try image(of: started.before.database, log)
      #expect(image.isDamaged, "\(lost) of \(commits)")
    }
  }

  @Test("a log with the beginning that it had a round before is damaged")
  func formerHeader() throws {
    let started = try startedOver()
    let former = Array(started.before.log[..<32])
    for commits in [1, 2, 6] {
      let log = started.again.log[..<(32 + commits * (24 + Self.pageBytes))]
      #expect(try !image(of: started.copied, Array(log)).isDamaged)
      #expect(try image(of: started.copied, former + log[32...]).isDamaged, "\(commits)")
    }
  }

  @Test("a log with a beginning of the next round, and the frames of the last one, hides nothing")
  func nextHeader() throws {
    let started = try startedOver()
    let image = try image(of: started.copied, started.header + started.before.log[32...])
    #expect(!image.isDamaged && image.commitsBehindDamage == 0)
  }

  @Test("a beginning that is torn does not hide that a frame behind it is damaged")
  func tornTwice() throws {
    let started = try startedOver()
    var log = started.before.log
    log.replaceSubrange(0..<16, with: started.header[..<16])
    log[Self.end(ofCommits: 4) - 1] ^= 1
    #expect(try image(of: started.copied, log).isDamaged)
  }

  @Test("commits are found behind damage of any length")
  func longDamage() throws {
    let started = try startedOver(commits: 200)
    var log = started.before.log
    let frame = 24 + Self.pageBytes
    let lost = 32 + 10 * frame..<32 + 190 * frame
    log.replaceSubrange(lost, with: lost.map { _ in 0 })
    let image = try image(of: started.before.database, log)
    #expect(image.isDamaged && image.commitsBehindDamage > 10)
  }
}
