import Foundation
import RelayCore
import SQLite
import SQLitePages
import Testing

@testable import SQLiteStore

@Suite("Counting the line", .timeLimit(.minutes(5)))
struct LineSummaryTests {
  @Test("it comes out the same in whichever steps it is done", arguments: [1, 2, 37, 4096])
  func steps(stepMax: Int) async throws {
    try await Bench.with { bench in
      let drafts = (0..<500).map { bench.draft(client: "c\($0 % 11)") }
      _ = try await bench.store.append(drafts, isAtomic: false)
      // Most numbers between the first and the last have ended.
      for number in 20...180 where number != 100 {
        let entry = try #require(try await bench.store.line(at: [Serial(number)]).first)
        bench.store.record([
          Transition(
            serial: entry.serial, lane: entry.lane, upstream: entry.upstream,
            change: .end(.cancelled, reason: "x"), at: bench.clock.now, epoch: 1)
        ])
      }
      await bench.observer.waitUntilRecorded(160)
      let store = try #require(bench.store as? SQLiteStore)
      for after in [0, 50, 100, 499, 500] as [Serial] {
        let summary = try await store.lineSummary(after: after, stepMax: stepMax)
        let page = try await store.line(after: after, countMax: 1000)
        #expect(summary.waitingCount == page.entries.count && summary.use == page.use)
        #expect(summary.shares.compactMap(\.first).min() == page.entries.first?.serial)
        #expect(summary.shares.compactMap(\.last).max() == page.entries.last?.serial)
      }
    }
  }

  @Test("a damaged row is said to be one, and nothing is counted without it")
  func damaged() async throws {
    try await Bench.with { bench in
      _ = try await bench.store.append((0..<9).map { _ in bench.draft() }, isAtomic: false)
      await bench.store.close()
      do {
        let connection = try Connection(
          path: "\(bench.folder)/waystation.sqlite3", access: .readWrite)
        try connection.execute("UPDATE line SET standing = 9 WHERE serial = 5")
      }
      try await bench.reopen()
      await #expect(throws: StoreError.self) { try await bench.store.lineSummary(after: 0) }
    }
  }

  @Test("the pages that are announced are those of the line, from behind the number on")
  func announced() async throws {
    try await Bench.with { bench in
      let drafts = (0..<1000).map { _ in bench.draft() }
      for _ in 0..<3 { _ = try await bench.store.append(drafts, isAtomic: false) }
      await bench.store.close()
      let path = "\(bench.folder)/waystation.sqlite3"
      let root = try Self.root(of: "line", in: path)
      let image = try DatabaseImage(path: path, indexTrust: .hint)
      for after in [0, 1500, 3000] as [Int64] {
        let forecast = try #require(
          try PageForecast(of: path, root: root, pageBytes: image.pageBytes, after: after))
        let rows = forecast.leaves.flatMap { image.tree($0)?.cells.compactMap(\.?.row) ?? [] }
        #expect(rows.filter { $0 > after } == Array((after + 1)..<3001))
        #expect(rows.count < 3000 - Int(after) + 500)
        forecast.announce()
      }
      // A page that is no table's, and a file that is none of SQLite's.
      #expect(
        try PageForecast(of: path, root: 1 << 40, pageBytes: image.pageBytes, after: 0)?.leaves
          == [])
      #expect(try PageForecast(of: path + "-", root: 1, pageBytes: 8192, after: 0) == nil)
      try await bench.reopen()
    }
  }

  @Test("SQLite's lock of the database stays where the file is looked at beside it")
  func lockStays() async throws {
    try await Bench.with { bench in
      _ = try await bench.store.append((0..<9).map { _ in bench.draft() }, isAtomic: false)
      let path = "\(bench.folder)/waystation.sqlite3"
      #expect(try Self.isLocked(path))
      for _ in 0..<2 { _ = try await bench.store.lineSummary(after: 0) }
      #expect(try Self.isLocked(path))
      await bench.store.close()
      #expect(try !Self.isLocked(path))
    }
  }

  /// Whether this process has a lock on a file that others heed (proc_locks(5)).
  private static func isLocked(_ path: String) throws -> Bool {
    var status = stat()
    try #require(stat(path, &status) == 0)
    return try everything(of: "/proc/locks").split(separator: "\n").contains { line in
      line.contains("POSIX") && line.contains(" \(getpid()) ")
        && line.contains(":\(status.st_ino) ")
    }
  }

  /// Foundation takes no more of such a file than its first 4 KiB.
  private static func everything(of path: String) throws -> String {
    let file = try #require(fopen(path, "r"))
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    var text: [UInt8] = []
    while case let count = fread(&bytes, 1, bytes.count, file), count > 0 {
      text += bytes.prefix(count)
    }
    return String(decoding: text, as: UTF8.self)
  }

  private static func root(of table: String, in path: String) throws -> Int {
    let connection = try Connection(path: path, access: .readOnly)
    return Int(
      try connection.number("SELECT rootpage FROM sqlite_schema WHERE name = '\(table)'"))
  }

  @Test("halves meet in the middle, and leave nothing out")
  func halves() {
    for through in [3, 4, 5, 6, 1000] as [Serial] {
      let halves = LineStretch(after: 3, through: through).halves
      #expect(halves[0].after == 3 && halves[1].through == through)
      #expect(halves[0].through == halves[1].after)
    }
    #expect(LineStretch(after: 3, through: 3).isEmpty)
  }
}
