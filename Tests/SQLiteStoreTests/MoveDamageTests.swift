#if PostgreSQL
import Foundation
import PostgresStore
import PostgresTesting
import RelayCore
import SQLite
import Testing

@testable import SQLiteStore

@Suite(
  "Damage in a store that is moved", .timeLimit(.minutes(2)),
  .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed: scripts/setup test"))
struct MoveDamageTests {
  private let stand: MoveStand

  init() throws {
    stand = try MoveStand()
    try MovedContent.make(in: stand.folder("a"))
  }

  private var body: URL {
    URL(fileURLWithPath: stand.folder("a") + "/bodies/" + MovedContent.bodyName)
  }

  /// What a move from the folder is refused with; the folder is as it was.
  private func refusal() throws -> String {
    let refusal = #expect(throws: StoreError.self) { try stand.moveIn(from: "a") }
    #expect(try MoveFile.read(in: stand.folder("a")) == nil)
    return refusal?.description ?? ""
  }

  // MARK: - In a folder

  @Test("an envelope that waits with changed bytes is not moved: a database would not notice")
  func changed() throws {
    try stand.alter("a", "UPDATE envelope SET body = CAST('INSIDE' AS BLOB) WHERE serial = 10")
    #expect(try refusal().contains("bytes of it have changed"))
  }

  @Test("an envelope that waits is not moved with a body that was changed, longer, shorter or lost")
  func changedBody() throws {
    var bytes = MovedContent.body
    bytes[300_000] ^= 1
    try Data(bytes).write(to: body)
    #expect(try refusal().contains("bytes of its body have changed"))
    try Data(MovedContent.body + [1]).write(to: body)
    #expect(try refusal().contains("has 600001 bytes, and had 600000"))
    try Data(MovedContent.body.dropLast()).write(to: body)
    #expect(try refusal().contains("has 599999 bytes, and had 600000"))
    try FileManager.default.removeItem(at: body)
    let lost = try refusal()
    #expect(lost.contains("move the envelope 0") && lost.contains("is missing"), "\(lost)")
    #expect(lost.contains("cancel it"), "\(lost)")
  }

  @Test("an ended envelope whose body is lost holds no move up, and is counted, there and back")
  func endedBody() throws {
    try stand.alter(
      "a",
      """
      DELETE FROM line WHERE serial = 11;
      INSERT INTO ended (serial, state, ended_at, attempts, in_doubt) VALUES (11, 1, 1, 1, 0)
      """)
    try FileManager.default.removeItem(at: body)
    let source = try SQLiteMoveSource(folder: stand.folder("a"))
    let end = try stand.end()
    _ = try StoreMove.run(from: source, to: end, number: 7) { _ throws(StoreError) in }
    end.leave()
    #expect(source.changedCount == 1)
    let target = try SQLiteMoveTarget(folder: stand.folder("b"))
    let back = try stand.end()
    defer { back.leave() }
    _ = try StoreMove.run(from: back, to: target, number: 8) { _ throws(StoreError) in }
    #expect(target.lostCount == 1)
  }

  @Test(
    "a folder whose rows do not fit together is not moved, and the sentence names the rule",
    arguments: [
      ("DELETE FROM envelope WHERE serial = 12", "line-without-envelope: 1, the first is 12"),
      ("DELETE FROM line WHERE serial = 12", "envelope-without-state"),
      ("DELETE FROM body_file", "envelope-without-body"),
      ("UPDATE line SET standing = 99 WHERE serial = 12", "unknown-state"),
      ("UPDATE ended SET state = 99", "unknown-state"),
      ("DELETE FROM envelope WHERE serial = 13", "ended-without-envelope"),
      (
        "INSERT INTO ended (serial, state, ended_at, attempts, in_doubt) VALUES (12, 1, 1, 1, 0)",
        "envelope-with-two-states"
      ),
      ("DELETE FROM client WHERE number = 4", "client-without-name"),
      ("DELETE FROM lane WHERE number = 3", "lane-without-name"),
      ("DELETE FROM upstream WHERE number = 3", "upstream-without-name"),
      ("UPDATE lane SET client = 1 WHERE number = 3", "lane-of-another-client"),
      ("UPDATE line SET upstream = 3 WHERE serial = 12", "two-upstreams"),
    ])
  func rules(change: String, rule: String) throws {
    try stand.alter("a", change)
    let text = try refusal()
    #expect(text.contains(rule) && text.contains("waystation store salvage"), "\(text)")
  }

  // MARK: - In a database

  @Test(
    "a database that is damaged is not moved, and no folder's tools are named for it",
    arguments: [
      (
        "UPDATE body_chunk SET bytes = set_byte(bytes, 5, get_byte(bytes, 5) # 1) WHERE n = 1",
        "bytes of its body have changed"
      ),
      ("DELETE FROM body_chunk WHERE n = 0", "is missing"),
      ("DELETE FROM body_chunk", "is missing"),
      ("DELETE FROM line WHERE serial = 12", "envelope-without-state"),
      ("DELETE FROM envelope WHERE serial = 12", "line-without-envelope"),
    ])
  func ofDatabase(change: String, told: String) throws {
    try stand.moveIn(from: "a")
    try stand.alter(change)
    let refusal = #expect(throws: StoreError.self) { try stand.moveOut(to: "b") }
    let text = refusal?.description ?? ""
    #expect(text.contains(told), "\(text)")
    #expect(!text.contains("store check") && !text.contains("salvage"), "\(text)")
    let end = try stand.end()
    defer { end.leave() }
    #expect(try end.mark() == nil)
  }

  @Test("a body that no envelope refers to is left out")
  func orphan() throws {
    try stand.moveIn(from: "a")
    try stand.alter("INSERT INTO body_chunk VALUES (gen_random_uuid(), 0, 'x')")
    #expect(try stand.moveOut(to: "b").rows[.bodyChunk] == 3)
  }
}
#endif
