import Foundation
import Synchronization
import Testing
import WaystationOutbox
import WaystationOutboxCurl

extension EndToEnd {
  /// A device that goes on from a backup, beside a relay that has gone on meanwhile.
  @Suite("A device that was restored", .serialized, .timeLimit(.minutes(5)))
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

    private func restore(_ change: (inout Settings) -> Void = { _ in }) async throws -> Outbox {
      try FileManager.default.removeItem(atPath: outbox)
      try FileManager.default.moveItem(atPath: backup, toPath: outbox)
      return try await opened(change)
    }

    private func opened(_ change: (inout Settings) -> Void = { _ in }) async throws -> Outbox {
      var settings = stand.settings()
      change(&settings)
      return try await Outbox.open(settings)
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

    @Test("it asks about each item, also behind one that waits still")
    func behind() async throws {
      let ids = try await backedUp(lanes: [Lane("a"), Lane("a"), Lane("a")])
      let former = try await opened()
      let key = try #require(await former.item(ids[1])?.key)
      let path = "/v1/clients/\(OutboxStand.client)/envelopes/\(key)"
      #expect(try await stand.relay.device().request("DELETE", path).status == 200)
      #expect(await former.words(of: [ids[1]]) == ["cancelled"])
      let next = try await former.enqueue(Request("POST", "/next"), Options(lane: Lane("b")))
      _ = try await former.item(next, "the relay has", where: \.isAtRelay)
      await former.close()
      let restored = try await restore()
      #expect(await restored.words(of: [ids[1]]) == ["cancelled"])
      await restored.close()
    }

    @Test(
      "a guest network's page, and an end of the device in between, lose no question",
      arguments: [true, false])
    func asked(isAnswered: Bool) async throws {
      try await stand.relay.start()
      let first = try await opened { $0.startPaused = true }
      var ids: [Item.ID] = []
      for number in 1...3 { ids.append(try await first.enqueue(Request("POST", "/\(number)"))) }
      await first.close()
      try FileManager.default.copyItem(atPath: outbox, toPath: backup)
      try FileManager.default.removeItem(atPath: backup + "/device")
      let former = try await opened()
      try await former.resume()
      #expect(await Set(former.words(of: ids)) == ["delivered 201"])
      let next = try await former.enqueue(Request("POST", "/next"))
      #expect(await former.words(of: [next]) == ["delivered 201"])
      await former.close()
      let guest = GuestNetwork(isAnswering: isAnswered)
      let restored = try await restore { $0.transport = guest }
      try await restored.resume()
      try await eventually("a question that the network has got") { guest.isAsked ? true : nil }
      await restored.close()
      let again = try await opened()
      for word in await again.words(of: ids) { #expect(word.hasPrefix("delivered"), "\(word)") }
      #expect(stand.upstream.received.map(\.target) == ["/1", "/2", "/3", "/next"])
      await again.close()
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

/// A network that lets everything through but for the question how one envelope has ended.
private final class GuestNetwork: Transport {
  private let curl = CurlTransport()
  private let asked = Switch()
  /// Whether it answers that with a page of its own.
  private let isAnswering: Bool

  init(isAnswering: Bool) { self.isAnswering = isAnswering }

  var isAsked: Bool { asked.isOn }

  func send(
    _ exchange: Exchange, progress: @escaping @Sendable (WaystationOutbox.Progress) -> Void
  ) async throws(ConnectionFailure) -> Response {
    guard exchange.method == "GET", exchange.url.contains("/envelopes/") else {
      return try await curl.send(exchange, progress: progress)
    }
    asked.set(true)
    guard isAnswering else {
      throw ConnectionFailure(reason: "the network is gone", mayHaveArrived: false)
    }
    return Response(
      status: 200, headers: [("Content-Type", "text/html")], body: Array("<p>Sign in".utf8))
  }
}

/// Something that is on or off, and that several threads look at.
private final class Switch: Sendable {
  private let state = Mutex(false)

  var isOn: Bool { state.withLock { $0 } }

  func set(_ isOn: Bool) { state.withLock { $0 = isOn } }
}
