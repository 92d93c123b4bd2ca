import SQLite
import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

@Suite("Tables of earlier versions, and receipts in a damaged database")
struct OlderTablesTests {
  /// Puts the tables of a closed outbox back to the first version.
  private static func putBack(_ folder: String) throws {
    let file = try OutboxFile(path: OutboxFile.path(in: folder), durability: .ordered)
    try file.connection.execute(
      """
      DROP TABLE item_digest; DROP TABLE receipt; DROP TABLE custody;
      DROP TABLE unproven; DROP TABLE ledger_page; DROP TABLE proof; DROP TABLE named;
      DROP TABLE item_signature; DROP TABLE signed_lane; DROP TABLE signed_void;
      PRAGMA user_version = 1;
      """)
  }

  /// The same after a start, with one more item: the first answer that it gets is to that item.
  ///
  /// A check-in before it would bring the receipt of what was sent earlier.
  private static func reopened(
    _ stand: CustodyStand, withNext number: Int, _ look: (Outbox) async -> Void = { _ in }
  ) async throws -> (next: CustodyStand, ids: [Item.ID]) {
    stand.relay.cut()
    let next = try await stand.reopened()
    await look(next.outbox)
    let ids = try await next.enqueue(number...number)
    stand.relay.mend()
    await next.outbox.wake()
    return (next, ids)
  }

  @Test("those of the first version go on, with all items", arguments: [false, true])
  func first(_ isDamaged: Bool) async throws {
    let stand = try await CustodyStand.open { $0.startPaused = true }
    let ids = try await stand.enqueue(1...3)
    await stand.outbox.close()
    let folder = "\(stand.stand.folder.path)/outbox"
    try Self.putBack(folder)
    if isDamaged { try Platform.write([], toNew: OutboxFile.mark(in: folder)) }
    let next = try await stand.reopened()
    #expect(await next.outbox.items().map(\.id) == ids)
    try await next.outbox.resume()
    _ = try await next.receipt(of: 3)
    #expect(try await next.bodies().isEmpty)
    await next.outbox.close()
  }

  @Test("numbers that were given before there were receipts are kept until their ending")
  func numbered() async throws {
    let stand = try await CustodyStand.open()
    try await stand.enqueue(1...2)
    _ = try await stand.receipt(of: 2)
    await stand.outbox.close()
    try Self.putBack("\(stand.stand.folder.path)/outbox")
    let (next, ids) = try await Self.reopened(stand, withNext: 3)
    await next.untilAccepted()
    try await next.enqueue(4...4)
    let receipt = try await next.receipt(of: 4)
    #expect(receipt.begin == 1 && receipt.checkedFrom == 4)
    #expect(try await next.bodies() == ids)
    #expect(await next.outbox.status()?.lanes[.default]?.custodyFault == nil)
    await next.outbox.close()
  }

  @Test("a device that was restored goes on from a chain that it does not know, without a fault")
  func restored() async throws {
    let stand = try await CustodyStand.open()
    try await stand.enqueue(1...1)
    _ = try await stand.receipt(of: 1)
    await stand.outbox.close()
    let folder = "\(stand.stand.folder.path)/outbox"
    let path = OutboxFile.path(in: folder)
    _ = try Platform.copy(path, toNew: "\(folder)/backup")
    let later = try await stand.reopened()
    try await later.enqueue(2...3)
    _ = try await later.receipt(of: 3)
    await later.outbox.close()
    try Platform.move("\(folder)/backup", to: path)
    Platform.remove("\(folder)/device/incarnation")
    let (next, ids) = try await Self.reopened(later, withNext: 4)
    while await next.outbox.item(ids[0])?.isAtRelay != true { await Task.yield() }
    try await next.enqueue(5...5)
    let receipt = try await next.receipt(of: 5)
    #expect(receipt.begin == 1 && receipt.checkedFrom == 5)
    #expect(try await next.bodies() == ids)
    #expect(await next.outbox.status()?.lanes[.default]?.custodyFault == nil)
    await next.outbox.close()
  }

  @Test("a receipt outlives damage, and its chain is gone on from without a fault")
  func salvaged() async throws {
    let stand = try await CustodyStand.open()
    try await stand.enqueue(1...2)
    let receipt = try await stand.receipt(of: 2)
    await stand.outbox.close()
    try Platform.write([], toNew: OutboxFile.mark(in: "\(stand.stand.folder.path)/outbox"))
    let (next, ids) = try await Self.reopened(stand, withNext: 3) {
      #expect(await $0.receipts(.default) == [receipt])
    }
    await next.untilAccepted()
    try await next.enqueue(4...4)
    let later = try await next.receipt(of: 4)
    #expect(later.checkedFrom == 4)
    #expect(await next.outbox.receipts(.default).map(\.last) == [4, 3, 2])
    #expect(try await next.bodies() == ids)
    #expect(await next.outbox.status()?.lanes[.default]?.custodyFault == nil)
    await next.outbox.close()
  }
}
