#if PostgreSQL
import Foundation
import PostgresStore
import PostgresTesting
import RelayCore
import SQLite
import Testing

@testable import SQLiteStore

@Suite(
  "What a move finds that was cut off", .timeLimit(.minutes(2)),
  .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed: scripts/setup test"))
struct MoveCutTests {
  private let stand: MoveStand

  init() throws {
    stand = try MoveStand()
    try MovedContent.make(in: stand.folder("a"))
  }

  /// Leaves files in a folder as a cut does.
  private func leave(_ names: [String], in name: String) throws {
    let folder = stand.folder(name)
    try FileManager.default.createDirectory(
      atPath: folder + "/bodies", withIntermediateDirectories: true)
    for file in names + ["lock"] {
      try Data([1]).write(to: URL(fileURLWithPath: "\(folder)/\(file)"))
    }
  }

  private static let part = "waystation.sqlite3.part"

  @Test(
    "what SQLite or a mark leaves behind at a cut is cleared by the next move",
    arguments: [
      [part], [part + "-journal"], [part, part + "-journal", "bodies/0"], ["moved.part"],
      [part, "moved.part"], [part, part + "-wal", part + "-shm"],
    ])
  func leftovers(names: [String]) throws {
    try stand.moveIn(from: "a")
    try leave(names, in: "b")
    try stand.moveOut(to: "b")
    let left = try FileManager.default.contentsOfDirectory(atPath: stand.folder("b")).sorted()
    #expect(left == ["begun", "bodies", "lock", "waystation.sqlite3"])
    let bodies = try FileManager.default.contentsOfDirectory(atPath: stand.folder("b") + "/bodies")
    #expect(bodies == [MovedContent.bodyName])
  }

  @Test("what is no rest of a move keeps a folder from being moved into")
  func strangers() throws {
    try stand.moveIn(from: "a")
    for names in [["bodies/0"], ["begun"], [Self.part, "waystation.sqlite3"], ["notes"]] {
      try leave(names, in: "b")
      let refusal = #expect(throws: StoreError.self) { try stand.moveOut(to: "b") }
      #expect(refusal?.detail.contains("not empty") == true, "\(names)")
      try FileManager.default.removeItem(atPath: stand.folder("b"))
    }
  }

  @Test("no relay starts where the mark of a move was being written, but on a store it does")
  func markWithoutName() throws {
    try leave([Self.part, "moved.part"], in: "b")
    let refusal = #expect(throws: StoreError.self) {
      try SQLiteStore.open(folder: stand.folder("b"))
    }
    #expect(refusal?.detail.contains("was cut off as it began") == true)
    #expect(SQLiteStore.obstacleByMove(in: stand.folder("b")) != nil)
    try leave(["moved.part"], in: "a")
    #expect(SQLiteStore.obstacleByMove(in: stand.folder("a")) == nil)
  }

  @Test("where the target is gone before its move was finished, the way back is told")
  func targetIsGone() throws {
    _ = try? stand.moveIn(from: "a") { FailingTarget($0, at: .open) }
    let name = stand.database.name
    try stand.alter("DROP SCHEMA \(name) CASCADE; CREATE SCHEMA \(name)")
    let database = #expect(throws: StoreError.self) { try stand.moveIn(from: "a") }
    #expect(database?.detail.contains("is not there any more") == true, "\(database as Any)")
    #expect(database?.detail.contains("store reopen --at \(stand.folder("a"))") == true)
    #expect(try SQLiteMoveSource.reopen(folder: stand.folder("a")) != nil)
    try stand.moveIn(from: "a")
    _ = try? stand.moveOut(to: "b") { FailingTarget($0, at: .open) }
    try FileManager.default.removeItem(atPath: stand.folder("b"))
    let folder = #expect(throws: StoreError.self) { try stand.moveOut(to: "b") }
    #expect(folder?.detail.contains("is not there any more") == true, "\(folder as Any)")
    #expect(folder?.detail.contains("store reopen --at postgresql://") == true)
  }

  @Test("a move that is done is told so when it is run again, and nothing is done")
  func repeated() throws {
    try stand.moveIn(from: "a")
    #expect(try stand.moveIn(from: "a").isRepeated)
    try stand.moveOut(to: "b")
    #expect(try stand.moveOut(to: "b").isRepeated)
    try stand.alter("b", "UPDATE event_origin SET origin = origin + 1")
    let other = #expect(throws: StoreError.self) { try stand.moveOut(to: "b") }
    #expect(other?.detail.contains("it has been moved to \(stand.folder("b"))") == true)
  }

  @Test("a folder's tables are brought up to date only once its target is there and free")
  func upgrade() throws {
    let data = try DataFolder.claim(stand.folder("old"))
    try DatabaseFile.prepare(
      path: data.database, pageBytes: StoreTuning.pageBytes,
      migrations: Migration.all.filter { $0.version <= 9 })
    let database = data.database
    _ = consume data
    try stand.moveIn(from: "a")
    #expect(throws: StoreError.self) { try stand.moveIn(from: "old") }
    let version = try Connection(path: database, access: .readOnly).number("PRAGMA user_version")
    #expect(version == 9)
  }

  @Test("what has the database is called a move, if it is one")
  func twoMoves() throws {
    let first = try stand.end()
    defer { first.leave() }
    let refusal = #expect(throws: StoreError.self) { try stand.end() }
    #expect(refusal?.detail.contains("another 'waystation store move' has it") == true)
  }

  @Test("nothing is moved over a store that was moved away, and the sentence says what to do")
  func overDeparted() throws {
    try stand.moveIn(from: "a")
    let refusal = #expect(throws: StoreError.self) { try stand.moveOut(to: "a") }
    #expect(refusal?.detail.contains("move the old one away, and make an empty one") == true)
    #expect(refusal?.detail.contains("reopen") == false)
  }
}
#endif
