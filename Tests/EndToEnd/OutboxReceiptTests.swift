import Foundation
import Testing
import WaystationOutbox
import WaystationOutboxCurl

extension EndToEnd {
  /// The device's library and the real relay: whether both have the same bytes in mind.
  @Suite("Receipts for the outbox", .serialized, .ofFiles)
  struct OutboxReceipts {
    private let stand: OutboxStand

    init() throws {
      stand = try OutboxStand(
        { _ in .answer(503) }, more: ["receipts": ["issuer": "https://relay.example"]])
    }

    private func settings() -> Settings {
      var settings = stand.settings(custody: .receipt)
      settings.verifier = OpenSSLReceiptVerifier()
      settings.sending.uploadBytes = 100_000
      settings.sending.partBytes = 150_000
      return settings
    }

    /// One of each kind of bodies and header fields.
    private static let requests: [Request] = {
      let large = (0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      return [
        Request("POST", "/json?n=1", .json(#"{"celsius": 4.2}"#)),
        Request(
          "PUT", "/text", .bytes(Array("grüße".utf8), type: "text/plain"), upstream: "default"),
        Request("POST", "/none"),
        Request("DELETE", "/none/7", headers: [("X-Note", "a"), ("Accept", "text/html")]),
        Request("POST", "/binary", .bytes([0, 255, 1], type: "x/y; q=\"1\"")),
        Request("PATCH", "/file", .bytes(Array(large.prefix(70_000)), type: "image/jpeg")),
        Request("PUT", "/upload", .bytes(large, type: "image/jpeg")),
        Request("POST", "/after", .json("[]"), headers: [("content-TYPE", " application/x+json ")]),
      ]
    }()

    /// Waits until the relay has signed for a number.
    private func receipt(_ outbox: Outbox, of number: UInt64) async throws -> Receipt {
      try await eventually("receipt of \(number)") {
        let status = await outbox.status()?.lanes[.default]
        if let fault = status?.custodyFault { Issue.record("\(fault)") }
        guard let receipt = await outbox.receipts(.default).first, receipt.last >= number else {
          return nil
        }
        return receipt
      }
    }

    private func line(_ item: Item, _ request: Request) throws -> String {
      var line: [String: any Sendable] = [
        "sequence": Int(item.sequence ?? 0), "key": item.key, "path": request.path,
        "method": request.method,
      ]
      var headers: [String: String] = ["Idempotency-Key": item.key]
      if case .bytes(let bytes, let type) = request.body {
        line["bodyBase64"] = Data(bytes).base64EncodedString()
        let given = request.headers.first { $0.0 == "content-TYPE" }?.1
        headers["Content-Type"] = given?.trimmingCharacters(in: .whitespaces) ?? type
      }
      line["headers"] = headers
      return String(decoding: try Device.json(line), as: UTF8.self)
    }

    @Test("all kinds of requests are let go of, and the receipt proves them to receipt.py")
    func proves() async throws {
      try await stand.relay.start()
      let outbox = try await Outbox.open(settings())
      var lines: [String] = []
      var ids: [Item.ID] = []
      for request in Self.requests { ids.append(try await outbox.enqueue(request)) }
      let receipt = try await receipt(outbox, of: UInt64(ids.count))
      #expect(receipt.begin == 1 && receipt.checkedFrom == 1)
      let status = try #require(await outbox.status())
      #expect(status.bytes < 3000 && status.waiting == ids.count)
      for (id, request) in zip(ids, Self.requests) {
        lines.append(try line(try #require(await outbox.item(id)), request))
      }
      let folder = stand.folder
      try folder.write("receipt", receipt.json)
      try folder.write("items", lines.joined(separator: "\n"))
      let process = try ChildProcess(
        "python3",
        [
          ShellDocument.repository + "/examples/receipt.py", folder.path + "/receipt",
          "http://127.0.0.1:\(stand.relay.port)/.well-known/waystation/keys",
          folder.path + "/items",
        ])
      #expect(try await process.ending() == .exit(0), "\(process.errors)")
      await outbox.close()
    }

    @Test("a relay that came back from an older copy of its data is behind its own receipt")
    func behind() async throws {
      try await stand.relay.start()
      let outbox = try await Outbox.open(settings())
      let events = outbox.events()
      try await outbox.enqueue(Self.requests[0])
      _ = try await receipt(outbox, of: 1)
      try await stand.relay.kill()
      let data = stand.relay.folder.path + "/data"
      try FileManager.default.copyItem(atPath: data, toPath: data + ".copy")
      try await stand.relay.start()
      try await outbox.enqueue(Self.requests[1])
      _ = try await receipt(outbox, of: 2)
      try await stand.relay.kill()
      try FileManager.default.removeItem(atPath: data)
      try FileManager.default.moveItem(atPath: data + ".copy", toPath: data)
      try await stand.relay.start()
      var fault: CustodyFault?
      for await event in events {
        if case .custodyBroken(.default, let told) = event { fault = told }
        if fault != nil { break }
      }
      #expect(fault == .relayBehind(receipted: 2, relay: 1))
      await outbox.close()
    }

    @Test("a relay that is killed and signs with a new key is believed on")
    func rotated() async throws {
      try await stand.relay.start()
      let outbox = try await Outbox.open(settings())
      try await outbox.enqueue(Self.requests[0])
      _ = try await receipt(outbox, of: 1)
      try await stand.relay.kill()
      let rotation = try ChildProcess(
        Waystation.path, ["keys", "rotate", "--config", stand.relay.folder.path + "/config.json"])
      #expect(try await rotation.ending() == .exit(0), "\(rotation.errors)")
      try await stand.relay.start()
      try await outbox.enqueue(Self.requests[1])
      let receipt = try await receipt(outbox, of: 2)
      #expect(receipt.begin == 1 && receipt.checkedFrom == 1)
      await outbox.close()
    }
  }
}
