import Foundation
import Synchronization
import Testing
import WaystationOutbox

extension EndToEnd {
  /// A device that goes on from a backup, beside a relay that has gone on meanwhile.
  @Suite("A device that was restored", .serialized, .timeLimit(.minutes(1)))
  struct OutboxRestores {
    private let isAway = Switch()
    private let stand: OutboxStand

    init() throws {
      stand = try OutboxStand { [isAway] _ in
        isAway.isOn ? .answer(503) : .answer(201, body: Array("taken".utf8))
      }
    }

    private var outbox: String { stand.folder.path + "/outbox" }
    private var backup: String { stand.folder.path + "/backup" }

    /// Has the relay take requests that the upstream does not take, and then makes a backup.
    private func backedUp(lanes: [Lane]) async throws -> [Item.ID] {
      try await stand.relay.start()
      isAway.set(true)
      let device = try await Outbox.open(stand.settings())
      var ids: [Item.ID] = []
      for (number, lane) in lanes.enumerated() {
        let id = try await device.enqueue(Request("POST", "/\(number)"), Options(lane: lane))
        ids.append(id)
      }
      for id in ids { _ = try await device.item(id, "the relay has", where: \.isAtRelay) }
      await device.close()
      try FileManager.default.copyItem(atPath: outbox, toPath: backup)
      try FileManager.default.removeItem(atPath: backup + "/device")
      return ids
    }

    private func restore() async throws -> Outbox {
      try FileManager.default.removeItem(atPath: outbox)
      try FileManager.default.moveItem(atPath: backup, toPath: outbox)
      return try await Outbox.open(stand.settings())
    }

    @Test("it learns at once how that has ended of which its former life was told")
    func told() async throws {
      let lanes = [Lane("a"), Lane("a"), Lane("b")] + (1...40).map { Lane("lane-\($0)") }
      let ids = try await backedUp(lanes: lanes)
      isAway.set(false)
      let former = try await Outbox.open(stand.settings())
      #expect(await Set(former.words(of: ids)) == ["delivered 201"])
      // By the next post the relay knows that the ends have come, and tells them no more.
      let next = try await former.enqueue(Request("POST", "/next"))
      #expect(await former.words(of: [next]) == ["delivered 201"])
      await former.close()
      let restored = try await restore()
      #expect(await Set(restored.words(of: ids)) == ["delivered 0"])
      #expect(stand.upstream.received.filter { $0.target == "/next" }.count == 1)
      await restored.close()
    }

    @Test("what ends after the backup, and was told to nobody, comes with the upstream's answer")
    func untold() async throws {
      let ids = try await backedUp(lanes: [Lane("a"), Lane("b")])
      isAway.set(false)
      let restored = try await restore()
      #expect(await Set(restored.words(of: ids)) == ["delivered 201"])
      await restored.close()
    }
  }
}

/// Something that is on or off, and that several threads look at.
private final class Switch: Sendable {
  private let state = Mutex(false)

  var isOn: Bool { state.withLock { $0 } }

  func set(_ isOn: Bool) { state.withLock { $0 = isOn } }
}
