import SQLite
import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

@Suite("A list of tables that a bad disk has changed", .timeLimit(.minutes(5)))
struct DamagedSchemaTests {
  private static let count = 60

  /// The files of a closed outbox, and the numbers of its items.
  private static func closed() async throws -> (stand: Stand, ids: [Item.ID], path: String) {
    let stand = try await Stand { $0.startPaused = true }
    let ids = try await stand.outbox.enqueue(
      (1...count).map {
        (
          Request("POST", "/\($0)", .bytes([UInt8](repeating: 7, count: 700), type: "a/b")),
          Options()
        )
      })
    await stand.outbox.close()
    return (stand, ids, OutboxFile.path(in: "\(stand.folder.path)/outbox"))
  }

  private static func told(_ outbox: Outbox) async -> String? {
    await outbox.events().first { event -> String? in
      if case .damaged(let words) = event { words } else { nil }
    }
  }

  @Test("one wrong bit where the list begins costs no item", arguments: 100...111)
  func beginning(_ offset: Int) async throws {
    let (stand, ids, path) = try await Self.closed()
    for bit in [UInt8(1), 4, 0x20] {
      let folder = try TemporaryFolder()
      _ = try Platform.copy(path, toNew: OutboxFile.path(in: folder.path))
      try Damage.flip(OutboxFile.path(in: folder.path), at: offset, bits: bit)
      var damage: String?
      let file = try OutboxFile.open(in: folder.path, durability: .full, damage: &damage)
      #expect(try file.items(after: 0, countMax: 100).map(\.id) == ids.map(\.raw))
      for id in ids { #expect(try file.content(of: id.raw)?.body.count == 700) }
    }
    await stand.outbox.close()
  }

  @Test("one wrong bit anywhere in the list costs no item, and keeps no outbox from opening")
  func anywhere() async throws {
    let (stand, ids, path) = try await Self.closed()
    let pages = try Self.listPages(path)
    for page in pages {
      for offset in stride(from: page == 1 ? 100 : 0, to: 4096, by: 37) {
        let folder = try TemporaryFolder()
        _ = try Platform.copy(path, toNew: OutboxFile.path(in: folder.path))
        let place = (page - 1) * 4096 + offset
        try Damage.flip(OutboxFile.path(in: folder.path), at: place, bits: 1 << UInt8(offset % 8))
        var damage: String?
        let file = try OutboxFile.open(in: folder.path, durability: .full, damage: &damage)
        let found = try file.items(after: 0, countMax: 100).map(\.id)
        #expect(found == ids.map(\.raw), "byte \(place)")
      }
    }
    await stand.outbox.close()
  }

  /// The pages of the list of tables.
  private static func listPages(_ path: String) throws -> [Int] {
    let bytes = try Platform.read(path)
    guard bytes[100] == 5 else { return [1] }
    let count = Int(bytes[103]) << 8 | Int(bytes[104])
    let children = (0..<count).map { index in
      let cell = Int(bytes[112 + 2 * index]) << 8 | Int(bytes[113 + 2 * index])
      return bytes[cell..<cell + 4].reduce(0) { $0 << 8 | Int($1) }
    }
    return [1] + children + [bytes[108..<112].reduce(0) { $0 << 8 | Int($1) }]
  }

  @Test("a wrong version of the tables is mended", arguments: [1, 2, 3, 4, 6, 12, 20, 36])
  func version(_ number: Int) async throws {
    let (stand, ids, path) = try await Self.closed()
    try Connection(path: path, access: .readWrite).execute("PRAGMA user_version = \(number)")
    let next = try await stand.reopened()
    #expect(await next.outbox.items().map(\.id) == ids)
    #expect(await Self.told(next.outbox)?.contains("version \(number)") == true)
    #expect(OutboxFile.version(in: "\(stand.folder.path)/outbox") == Schema.version)
    try await next.outbox.resume()
    #expect(try await next.ending(of: ids[Self.count - 1]).word == "delivered")
    await next.outbox.close()
  }

  @Test("a database that a later library has written is left as it is", arguments: [false, true])
  func later(_ isMarked: Bool) async throws {
    let (stand, _, path) = try await Self.closed()
    try Connection(path: path, access: .readWrite).execute(
      "CREATE TABLE later (id INTEGER PRIMARY KEY); PRAGMA user_version = \(Schema.version + 1)")
    if isMarked {
      try Platform.write([], toNew: OutboxFile.mark(in: "\(stand.folder.path)/outbox"))
    }
    let before = try Platform.read(path)
    await #expect(throws: OutboxError.newerSchema(Schema.version + 1)) {
      try await stand.reopened()
    }
    #expect(try Platform.read(path) == before)
  }

  @Test("a table of a later step that is there already is damage, and no error for ever")
  func half() async throws {
    let (stand, ids, path) = try await Self.closed()
    try Connection(path: path, access: .readWrite).execute(
      "DROP TABLE receipt; PRAGMA user_version = 1")
    let next = try await stand.reopened()
    #expect(await next.outbox.items().map(\.id) == ids)
    #expect(await Self.told(next.outbox)?.contains("\(Self.count) items of it go on") == true)
    await next.outbox.close()
  }
}
