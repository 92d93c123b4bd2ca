import Testing
import WaystationOutbox

extension EndToEnd {
  @Suite("A device's outbox, and what its relay does not take as it is", .serialized)
  struct OutboxNumbers {
    /// What somebody else has posted of the device's lane before it comes.
    enum Before: CaseIterable {
      case void, used, farAhead

      var envelope: [String: any Sendable] {
        switch self {
        case .void: ["sequence": 1, "void": true]
        case .used: ["sequence": 1, "path": "/another"]
        case .farAhead: ["sequence": 20_000, "inOrder": true, "path": "/another"]
        }
      }
    }

    @Test(
      "numbers that others have used change no lane's order, and are passed over in a few posts",
      arguments: Before.allCases, [1 << 20, 100])
    func numbers(before: Before, uploadBytes: Int64) async throws {
      let stand = try OutboxStand()
      try await stand.relay.start()
      let posted = try await stand.relay.device(OutboxStand.client).post(before.envelope)
      #expect(posted.status == 202)
      var settings = stand.settings()
      settings.startPaused = true
      settings.sending.uploadBytes = uploadBytes
      let outbox = try await Outbox.open(settings)
      var ids: [Item.ID] = []
      for name in ["a", "b", "c", "d"] {
        let size = name == "a" ? 500 : 10
        ids.append(
          try await outbox.enqueue(
            Request("POST", "/\(name)", .bytes([UInt8](repeating: 0, count: size), type: "x/y"))))
      }
      try await outbox.resume()
      #expect(await Set(outbox.words(of: ids)) == ["delivered 200"])
      #expect(
        stand.upstream.received.map(\.target).filter { $0 != "/another" }
          == ["/a", "/b", "/c", "/d"])
      await outbox.close()
    }

    @Test("a body that is larger than a post may be is uploaded")
    func large() async throws {
      let stand = try OutboxStand(more: [
        "limits": ["batchBytesMax": 200_000, "bodyBytesMax": 1 << 20]
      ])
      try await stand.relay.start()
      let outbox = try await Outbox.open(stand.settings())
      var ids: [Item.ID] = []
      for (name, size) in [("a", 10), ("b", 400_000), ("c", 150_000), ("d", 10)] {
        ids.append(
          try await outbox.enqueue(
            Request("POST", "/\(name)", .bytes([UInt8](repeating: 0, count: size), type: "x/y"))))
      }
      #expect(await Set(outbox.words(of: ids)) == ["delivered 200"])
      let received = stand.upstream.received
      #expect(received.map(\.target) == ["/a", "/b", "/c", "/d"])
      #expect(received.map(\.body.count) == [10, 400_000, 150_000, 10])
      await outbox.close()
    }
  }
}
