import Foundation
import Testing
import WaystationOutbox
import WaystationOutboxCurl

extension EndToEnd {
  /// The device's library and an evidence lane of the real relay, up to the audit.
  @Suite("Evidence for the outbox", .serialized, .ofFiles)
  struct OutboxEvidence {
    private let stand: OutboxStand

    init() throws {
      stand = try OutboxStand(
        { $0.target.hasPrefix("/refused") ? .answer(422) : .answer(201, body: Array("ok".utf8)) },
        more: [
          "receipts": ["issuer": "https://relay.example"],
          "lanes": ["sales*": ["evidence": true]],
        ])
    }

    private func settings() -> Settings {
      var settings = stand.settings()
      settings.verifier = OpenSSLReceiptVerifier()
      settings.sending.uploadBytes = 100_000
      var sales = LaneSettings()
      sales.evidence = true
      sales.onRefusal = .skip
      settings.lanes["sales/1"] = sales
      settings.lanes["notes"] = sales
      return settings
    }

    private static let requests = [
      Request("POST", "/sales?n=1", .json(#"{"cents": 1250}"#)),
      Request("PUT", "/text", .bytes(Array("grüße".utf8), type: "text/plain")),
      Request("POST", "/none"),
      Request("POST", "/refused", .json("[]")),
      Request("PUT", "/upload", .bytes([UInt8](repeating: 7, count: 150_000), type: "image/jpeg")),
      Request("DELETE", "/last", headers: [("X-Note", "a")]),
    ]

    /// Audits the lane with what the device has kept, and what the upstream has got.
    private func audit(_ outbox: Outbox) async throws -> ChildProcess {
      let folder = stand.folder
      let keys = try await stand.relay.device("anybody").get("/.well-known/waystation/keys")
      try folder.write("keys", String(decoding: keys.body, as: UTF8.self))
      try folder.write(
        "receipts", await outbox.receipts("sales/1").map(\.json).joined(separator: "\n"))
      try folder.write("ledger", await outbox.ledger("sales/1").joined())
      try folder.write(
        "requests", try stand.upstream.received.map { try $0.recorded() }.joined(separator: "\n"))
      return try ChildProcess(
        Waystation.path,
        ["audit-lane", "--json"]
          + ["keys", "receipts", "ledger", "requests"].flatMap {
            ["--\($0)", folder.path + "/\($0)"]
          }
      )
    }

    @Test("what a device has kept, and what the upstream has got, are a whole audit")
    func audited() async throws {
      try await stand.relay.start()
      let outbox = try await Outbox.open(settings())
      let options = Options(lane: "sales/1")
      var ids: [Item.ID] = []
      for (number, request) in Self.requests.enumerated() {
        // Once while the relay has ends that are not signed, and once while it has none.
        if number == 2 || number == 5 {
          try await stand.relay.kill()
          try await stand.relay.start()
        }
        ids.append(try await outbox.enqueue(request, options))
      }
      let words = await outbox.words(of: ids)
      #expect(
        words == [
          "delivered 201", "delivered 201", "delivered 201", "refused status-422", "delivered 201",
          "delivered 201",
        ])
      for (id, number) in zip(ids, UInt64(1)...) {
        let evidence = try #require(await outbox.evidence(id))
        #expect(evidence.sequence == number && evidence.receipts.first?.begin == 1)
        #expect(evidence.ending?.state == (number == 4 ? .failed : .delivered))
        #expect(evidence.ending?.status == (number == 4 ? 422 : 201))
      }
      let status = await outbox.status()
      #expect(status?.lanes["sales/1"]?.custodyFault == nil && status?.bytes == 0)
      let audit = try await audit(outbox)
      #expect(try await audit.ending() == .exit(0), "\(audit.output)\(audit.errors)")
      let verdict = try JSONSerialization.jsonObject(with: Data(audit.output.utf8))
      let counts = try #require(verdict as? [String: Any])
      #expect(counts["holds"] as? Bool == true)
      #expect(counts["delivered"] as? Int == 5 && counts["failed"] as? Int == 1)
      await outbox.close()
    }

    @Test("keys that the relay has from another folder end with the rows that it has of them")
    func replaced() async throws {
      try await stand.relay.start()
      func entry(_ number: Int) -> (Request, Options) {
        let sale = Request("POST", "/sales/\(number)", .json(#"{"number": \#(number)}"#))
        return (sale, Options(key: "sale-\(number)", lane: "sales/1"))
      }
      let first = try await Outbox.open(settings())
      let before = try await first.enqueue((1...4).map(entry))
      #expect(await Set(first.words(of: before)) == ["delivered 201"])
      await first.close()
      var settings = settings()
      settings.folder += "-anew"
      let outbox = try await Outbox.open(settings)
      let numbers = [3, 5, 1, 2]
      let ids = try await outbox.enqueue(numbers.map(entry))
      let words = await outbox.words(of: ids)
      #expect(words.allSatisfy { $0.hasPrefix("delivered") }, "\(words)")
      for (id, number) in zip(ids, numbers) {
        let evidence = try #require(await outbox.evidence(id))
        #expect(evidence.ending?.state == .delivered)
        #expect(number == 5 || evidence.sequence == UInt64(number))
      }
      #expect(stand.upstream.received.count == 5)
      await outbox.close()
    }

    @Test("a lane of which the relay keeps no ledger is told, and its items stay on the device")
    func noLedger() async throws {
      try await stand.relay.start()
      let outbox = try await Outbox.open(settings())
      let id = try await outbox.enqueue(Self.requests[0], Options(lane: "notes"))
      try await eventually("fault of the lane") {
        await outbox.status()?.lanes["notes"]?.custodyFault == .noLedger ? true : nil
      }
      #expect(stand.upstream.received.count == 1)
      #expect(await outbox.item(id)?.isAtRelay == true)
      try await outbox.cancel(id)
      #expect(await outbox.words(of: [id]) == ["delivered 201"])
      await outbox.close()
    }
  }
}
