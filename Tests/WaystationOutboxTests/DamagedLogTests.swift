import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

@Suite("A log that a bad disk has changed while the outbox was closed", .timeLimit(.minutes(5)))
struct DamagedLogTests {
  private static let count = 20

  /// Where a frame is hit, from its beginning.
  enum Hit: Int, CaseIterable {
    case pageNumber = 3
    case commitMark = 6
    case salt = 10
    case sum = 17
    case content = 2000
  }

  private static func told(_ outbox: Outbox) async -> String? {
    await outbox.events().first { event -> String? in
      if case .damaged(let words) = event { words } else { nil }
    }
  }

  @Test("one wrong bit in the middle costs no item behind it", arguments: Hit.allCases)
  func middle(_ hit: Hit) async throws {
    let crashed = try await CrashedOutbox.make(Self.count)
    let frame = try crashed.commits()[Self.count / 2] - 1
    try Damage.flip(
      crashed.path + "-wal", at: CrashedOutbox.place(of: frame) + hit.rawValue, bits: 4)
    let next = try await crashed.stand.reopened()
    #expect(await next.outbox.items().map(\.id) == crashed.ids)
    #expect(
      await Self.told(next.outbox)?.contains("\(Self.count) items of it go on, and 0") == true)
    try await next.outbox.resume()
    #expect(try await next.ending(of: crashed.ids[Self.count - 1]).word == "delivered")
    #expect(next.paths == (1...Self.count).map { "/\($0)" })
    await next.outbox.close()
  }

  @Test("one wrong bit in the log's own beginning costs no item", arguments: [0, 3, 9, 13, 17, 25])
  func beginning(_ offset: Int) async throws {
    let crashed = try await CrashedOutbox.make(Self.count)
    try Damage.flip(crashed.path + "-wal", at: offset, bits: 1)
    let next = try await crashed.stand.reopened()
    #expect(await next.outbox.items().map(\.id) == crashed.ids)
    await next.outbox.close()
  }

  @Test("where the log's beginning is lost, that is told, and what stands behind it goes on")
  func lostBeginning() async throws {
    let crashed = try await CrashedOutbox.make(Self.count)
    try Damage.overwrite(crashed.path + "-wal", at: 0, count: 512)
    let next = try await crashed.stand.reopened()
    #expect(await Self.told(next.outbox) != nil)
    #expect(Set(await next.outbox.items().map(\.id)).isSuperset(of: crashed.ids.suffix(10)))
    await next.outbox.close()
  }

  @Test("wherever one bit of the log is wrong, the items of all commits before the last two stay")
  func anywhere() async throws {
    let crashed = try await CrashedOutbox.make(Self.count)
    let log = try Platform.read(crashed.path + "-wal")
    let database = try Platform.read(crashed.path)
    await crashed.stand.outbox.close()
    // A prime number of bytes, so that each part of a frame is hit.
    for offset in stride(from: 0, to: log.count, by: 6007) {
      // The other tests of this run share the thread.
      await Task.yield()
      let folder = try TemporaryFolder()
      let path = OutboxFile.path(in: folder.path)
      try Platform.write(database, toNew: path)
      var damaged = log
      damaged[offset] ^= 1 << UInt8(offset % 8)
      try Platform.write(damaged, toNew: path + "-wal")
      var damage: String?
      let file = try OutboxFile.open(in: folder.path, durability: .full, damage: &damage)
      let found = try file.items(after: 0, countMax: 100).map(\.id)
      let lost = Set(crashed.ids.map(\.raw)).subtracting(found)
      #expect(
        lost.isSubset(of: crashed.ids.suffix(2).map(\.raw)), "byte \(offset): \(damage ?? "")")
    }
  }

  @Test(
    "a last transaction that is torn is normal: what was before it goes on, and nothing is told")
  func torn() async throws {
    let crashed = try await CrashedOutbox.make(Self.count)
    let commits = try crashed.commits()
    try #require(commits[commits.count - 1] - commits[commits.count - 2] > 1)
    let first = CrashedOutbox.place(of: commits[commits.count - 2] + 1)
    try Damage.overwrite(crashed.path + "-wal", at: first + 100, count: 512)
    let next = try await crashed.stand.reopened()
    #expect(await next.outbox.items().map(\.id) == Array(crashed.ids.dropLast()))
    #expect(!crashed.isSetAside)
    await next.outbox.close()
  }

  @Test("where commits are not synced one by one, what is behind a gap proves nothing")
  func ordered() async throws {
    let crashed = try await CrashedOutbox.make(Self.count) { $0.durability = .ordered }
    let frame = try crashed.commits()[Self.count / 2] - 1
    try Damage.flip(crashed.path + "-wal", at: CrashedOutbox.place(of: frame) + 2000, bits: 4)
    let next = try await crashed.stand.reopened()
    let left = await next.outbox.items().map(\.id)
    #expect(!left.isEmpty && left == Array(crashed.ids.prefix(left.count)))
    #expect(!crashed.isSetAside)
    await next.outbox.close()
  }

  @Test("what is set aside has the log as it was found")
  func aside() async throws {
    let crashed = try await CrashedOutbox.make(Self.count)
    let frame = try crashed.commits()[3]
    try Damage.flip(crashed.path + "-wal", at: CrashedOutbox.place(of: frame) + 2000, bits: 4)
    let log = try Platform.read(crashed.path + "-wal")
    let next = try await crashed.stand.reopened()
    #expect(try Platform.read("\(crashed.path).damaged-1-wal") == log)
    await next.outbox.close()
  }
}
