import SQLite
import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

@Suite("A database that a bad disk or a bad hand has changed", .timeLimit(.minutes(5)))
struct DamageTests {
  private static let count = 20

  private static func filled(
    _ change: (inout Settings) -> Void = { _ in }
  ) async throws -> (stand: Stand, ids: [Item.ID], path: String) {
    let stand = try await Stand {
      $0.startPaused = true
      change(&$0)
    }
    let ids = try await stand.outbox.enqueue(
      (1...count).map { (Request("POST", "/\($0)"), Options()) })
    return (stand, ids, OutboxFile.path(in: "\(stand.folder.path)/outbox"))
  }

  /// Changes a closed outbox's database behind its back.
  private static func change(_ path: String, _ sql: String) throws {
    try OutboxFile(path: path, durability: .ordered).connection.execute(sql)
  }

  @Test(
    "one wrong bit at the beginning of the file costs no item",
    arguments: [0, 16, 18, 19, 20, 21, 23, 28, 36, 44, 47, 56, 60, 61, 71, 75])
  func header(_ offset: Int) async throws {
    let (stand, ids, path) = try await Self.filled()
    await stand.outbox.close()
    try Damage.flip(path, at: offset, bits: 0xC0)
    let next = try await stand.reopened()
    #expect(await next.outbox.items().map(\.id) == ids)
    try await next.outbox.resume()
    #expect(try await next.ending(of: ids[Self.count - 1]).word == "delivered")
    #expect(next.paths == (1...Self.count).map { "/\($0)" })
    await next.outbox.close()
  }

  @Test("a start after a crash takes nothing for damaged that stands in the log alone")
  func logAlone() async throws {
    let (stand, ids, path) = try await Self.filled()
    // As a crash leaves them.
    let folder = "\(stand.folder.path)/outbox"
    for suffix in ["", "-wal"] {
      _ = try Platform.copy(path + suffix, toNew: "\(folder)/kept\(suffix)")
    }
    await stand.outbox.close()
    for suffix in ["", "-wal"] { try Platform.move("\(folder)/kept\(suffix)", to: path + suffix) }
    let next = try await stand.reopened()
    #expect(await next.outbox.items().map(\.id) == ids)
    #expect(!Platform.names(in: folder).contains { $0.contains("damaged") })
    await next.outbox.close()
  }

  @Test("what is mended is told, with how many items go on, and the former bytes are kept")
  func told() async throws {
    let (stand, _, path) = try await Self.filled()
    await stand.outbox.close()
    let before = Platform.head(of: path, byteCount: DatabaseHeader.byteCount)
    try Damage.flip(path, at: 0, bits: 1)
    let next = try await stand.reopened()
    let told = await next.outbox.events().first { event -> String? in
      if case .damaged(let words) = event { words } else { nil }
    }
    #expect(told?.contains("\(Self.count) items of it go on, and 0 could not be read") == true)
    var kept = try Platform.read("\(path).damaged-1-header")
    kept[0] ^= 1
    #expect(kept == before)
    await next.outbox.close()
  }

  @Test("where nothing can be read, nobody claims to know how much was lost")
  func unknownLoss() async throws {
    let (stand, _, path) = try await Self.filled()
    await stand.outbox.close()
    let size = try #require(Platform.size(of: path))
    try Damage.overwrite(
      path, at: DatabaseHeader.byteCount, count: Int(size) - DatabaseHeader.byteCount)
    let next = try await stand.reopened()
    let told = await next.outbox.events().first { event -> String? in
      if case .damaged(let words) = event { words } else { nil }
    }
    #expect(told?.contains("0 items of it go on, and nobody knows how many") == true)
    await next.outbox.close()
  }

  @Test("an item whose row of content is gone waits for somebody, and nothing turns in circles")
  func contentGone() async throws {
    let (stand, ids, path) = try await Self.filled()
    await stand.outbox.close()
    try Self.change(path, "DELETE FROM content WHERE id = \(ids[1].raw)")
    let next = try await stand.reopened()
    try await next.outbox.resume()
    #expect(try await next.ending(of: ids[1]).word == "refused")
    #expect(await next.outbox.item(ids[1])?.lastError?.id == "body-lost")
    try await next.outbox.resolve(ids[1], .discard(reason: "gone"))
    #expect(try await next.ending(of: ids[Self.count - 1]).word == "delivered")
    #expect(next.paths.count == Self.count - 1)
    #expect(next.relay.requestCount < 2 * Self.count)
    await next.outbox.close()
  }

  @Test("a lane whose row is lost has its name from what was sent of it")
  func laneName() async throws {
    let (stand, ids, path) = try await Self.filled { $0.lanes["default"] = LaneSettings() }
    stand.relay.isUpstreamAway = true
    try await stand.outbox.resume()
    while await stand.outbox.item(ids[Self.count - 1])?.isAtRelay != true { await Task.yield() }
    await stand.outbox.close()
    try Self.change(path, "DELETE FROM lane")
    try Platform.write([], toNew: OutboxFile.mark(in: "\(stand.folder.path)/outbox"))
    let next = try await stand.reopened { $0.startPaused = false }
    #expect(await next.outbox.items(.lane(.default)).count == Self.count)
    await next.outbox.close()
  }

  @Test("a database that somebody has removed meanwhile takes nothing more")
  func removed() async throws {
    let clock = ManualClock()
    let (stand, _, path) = try await Self.filled { $0.clock = clock }
    try Platform.move(path, to: "\(path).elsewhere")
    clock.advance(by: .seconds(1))
    let error = await #expect(throws: EnqueueError.self) {
      try await stand.outbox.enqueue(Request("POST", "/lost"))
    }
    #expect("\(String(describing: error))".contains("removed or replaced the database"))
    await stand.outbox.close()
  }
}
