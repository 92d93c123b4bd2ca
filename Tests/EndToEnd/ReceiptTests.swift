import Foundation
import Testing

extension EndToEnd {
  /// Receipts of the real relay, which a program of its own verifies: `examples/receipt.py`.
  @Suite("Receipts", .serialized)
  struct Receipts {
    private let upstream: TestUpstream
    private let relay: Relay
    private let folder: TemporaryFolder
    private static let issuer = "https://relay.example"
    private static let wanted = ["Prefer": "receipt"]

    init() throws {
      upstream = try TestUpstream()
      folder = try TemporaryFolder()
      relay = try Relay(
        upstreams: ["default": Relay.quick(upstream)],
        more: ["receipts": ["issuer": Self.issuer, "keys": folder.path + "/keys"]])
    }

    /// An envelope as it is posted, and as `receipt.py` wants it.
    private struct Item {
      var number: Int
      var lane = "sales"
      var body = "one"

      var posted: [String: any Sendable] {
        [
          "lane": lane, "sequence": number, "key": "k-\(lane)-\(number)",
          "path": "/sales?n=\(number)",
        ]
        .merging(["body": body]) { given, _ in given }
      }

      var line: [String: any Sendable] {
        var line = posted
        line["body"] = nil
        line["bodyBase64"] = Data(body.utf8).base64EncodedString()
        line["headers"] = ["Content-Type": "text/plain; charset=utf-8"]
        return line
      }
    }

    private func verify(
      _ receipt: Any?, _ items: [Item], trusting kid: String? = nil
    ) async throws -> (isGood: Bool, words: String) {
      let receipt = try #require(receipt as? [String: Any])
      try folder.write("receipt", String(decoding: Device.json(receipt), as: UTF8.self))
      let lines = try items.map { String(decoding: try Device.json($0.line), as: UTF8.self) }
      try folder.write("items", lines.joined(separator: "\n"))
      let keys = "http://127.0.0.1:\(relay.port)/.well-known/waystation/keys"
      let process = try ChildProcess(
        "python3",
        [
          ShellDocument.repository + "/examples/receipt.py", folder.path + "/receipt", keys,
          folder.path + "/items",
        ] + (kid.map { [$0] } ?? []))
      let ending = try await process.ending()
      #expect([.exit(0), .exit(1)].contains(ending), "\(process.errors)")
      return (ending == .exit(0), process.output + process.errors)
    }

    private func expect(_ receipt: Any?, proves items: [Item]) async throws {
      let verdict = try await verify(receipt, items)
      #expect(verdict.isGood, "\(verdict.words)")
    }

    private func payload(_ receipt: Any?) throws -> [String: Any] {
      let jws = try #require((receipt as? [String: Any])?["jws"] as? String)
      var text = String(jws.split(separator: ".")[1]).replacingOccurrences(of: "-", with: "+")
        .replacingOccurrences(of: "_", with: "/")
      text += String(repeating: "=", count: (4 - text.count % 4) % 4)
      let data = try #require(Data(base64Encoded: text))
      return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    @Test("each post is answered with one that verifies, over kills, and so is each repeat")
    func posts() async throws {
      try await relay.start()
      var groups: [Int] = []
      for number in 1...4 {
        let device = relay.device("till-1")
        let item = Item(number: number, body: "n\(number)")
        let answer = try await device.post(item.posted, headers: Self.wanted)
        #expect(answer.status == 202 && answer["Preference-Applied"] == "receipt")
        let receipt = try answer.json()["receipt"]
        try await expect(receipt, proves: (1...number).map { Item(number: $0, body: "n\($0)") })
        let said = try payload(receipt)
        #expect(said["iss"] as? String == Self.issuer)
        groups.append(try #require(said["group"] as? Int))
        if number == 2 {
          try await relay.kill()
          try await relay.start()
        }
      }
      #expect(groups == [1, 2, 3, 4])
      let again = try await relay.device("till-1").post(
        Item(number: 2, body: "n2").posted, headers: Self.wanted)
      #expect(try again.json()["result"] as? String == "duplicate")
      try await expect(
        try again.json()["receipt"], proves: (1...4).map { Item(number: $0, body: "n\($0)") })
    }

    @Test("groups, what they cover and their signatures are counted")
    func counted() async throws {
      try await relay.start()
      let device = relay.device("till-1")
      for number in 1...2 {
        _ = try await device.post(Item(number: number).posted, headers: Self.wanted)
      }
      _ = try await device.post(["path": "/x"])
      let lines = try await device.get("/metrics").text.split(separator: "\n")
      for (name, count) in [
        ("receipt_groups_total", 2), ("receipted_envelopes_total", 2), ("kept_receipt_groups", 2),
        ("receipt_signature_duration_seconds_count", 2),
      ] {
        #expect(lines.contains("waystation_\(name) \(count)"), "\(name)")
      }
      // The same receipt once more takes no signature.
      _ = try await device.get("/v1/clients/till-1/lanes/sales/receipt").json()
      let later = try await device.get("/metrics").text
      #expect(later.contains("waystation_receipt_signature_duration_seconds_count 2\n"))
    }

    @Test("what was changed, left out or put in another order is noticed")
    func tampered() async throws {
      try await relay.start()
      let device = relay.device("till-1")
      let items = (1...3).map { Item(number: $0, body: "n\($0)") }
      _ = try await device.post(batch: items.map(\.posted))
      let answer = try await device.get("/v1/clients/till-1/lanes/sales/receipt")
      let receipt = try answer.json()
      try await expect(receipt, proves: items)
      var changed = items
      changed[1].body = "n4"
      var swapped = items
      (swapped[0].body, swapped[1].body) = (items[1].body, items[0].body)
      for wrong in [changed, swapped, Array(items[..<2]), [items[0], items[2]]] {
        let verdict = try await verify(receipt, wrong)
        #expect(!verdict.isGood && verdict.words.contains("what was sent is not what"))
      }
      for (member, value) in [("last", 2), ("first", 2), ("leaf", 1), ("begin", 0)]
        as [(String, Any)]
      {
        #expect(try await verify(receipt.merging([member: value]) { $1 }, items).isGood == false)
      }
      let jws = try #require(receipt["jws"] as? String)
      let parts = jws.split(separator: ".")
      let forged = "\(parts[0]).\(parts[1]).\(parts[2].reversed())"
      #expect(try await verify(receipt.merging(["jws": forged]) { $1 }, items).isGood == false)
      #expect(try await verify(receipt, items, trusting: "nobody").isGood == false)
    }

    @Test("batches, syncs, check-ins and requests that are envelopes themselves have them, too")
    func everywhere() async throws {
      try await relay.start()
      let device = relay.device("till-1")
      let lanes = ["sales", "stock"].map { Item(number: 1, lane: $0) }
      let batch = try await device.post(batch: lanes.map(\.posted), headers: Self.wanted)
      let receipts = try #require(try batch.json()["receipts"] as? [[String: Any]])
      #expect(receipts.map { $0["lane"] as? String } == ["sales", "stock"])
      for (receipt, item) in zip(receipts, lanes) { try await expect(receipt, proves: [item]) }
      #expect(try payload(receipts[0])["group"] as? Int == payload(receipts[1])["group"] as? Int)

      var fields = ["Prefer": "wait=5, receipt", "Waystation-Lane": "sales"]
      fields["Waystation-Sequence"] = "2"
      fields["Idempotency-Key"] = "k-sales-2"
      fields["Content-Type"] = "text/plain; charset=utf-8"
      let relayed = try await device.relay(
        "POST", "/sales?n=2", headers: fields, body: Array("one".utf8))
      #expect(relayed.status == 200)
      let asked = try await device.request(
        "POST", "/v1/checkin",
        headers: Self.wanted.merging(["Content-Type": "application/json"]) { $1 },
        body: Array(#"{"client":"till-1","lanes":[{"lane":"sales"}]}"#.utf8))
      #expect(asked["Preference-Applied"] == "receipt", "\(asked)")
      let told = try #require(try asked.json()["receipts"] as? [[String: Any]])
      try await expect(told.first, proves: [1, 2].map { Item(number: $0) })

      let lines =
        [#"{"client":"till-1","lanes":[{"lane":"stock"}]}"#]
        + [String(decoding: try Device.json(Item(number: 3).posted), as: UTF8.self)]
      let sync = try await device.request(
        "POST", "/v1/sync",
        headers: Self.wanted.merging(["Content-Type": "application/x-ndjson"]) { $1 },
        body: Array(lines.joined(separator: "\n").utf8))
      let both = try #require(try sync.json()["receipts"] as? [[String: Any]], "\(sync)")
      #expect(both.map { $0["lane"] as? String } == ["sales", "stock"])
      try await expect(both.first, proves: [1, 2, 3].map { Item(number: $0) })
    }

    @Test("large bodies and uploads are covered whole")
    func large() async throws {
      try await relay.start()
      let device = relay.device("till-1")
      let body = String(repeating: "0123456789abcdef", count: 20_000)
      func fields(_ number: Int) -> [String: String] {
        [
          "Prefer": "receipt", "Waystation-Lane": "sales", "Waystation-Sequence": "\(number)",
          "Idempotency-Key": "k-sales-\(number)", "Content-Type": "text/plain; charset=utf-8",
        ]
      }
      let whole = try await device.relay(
        "POST", "/sales?n=1", headers: fields(1), body: Array(body.utf8))
      try await expect(try whole.json()["receipt"], proves: [Item(number: 1, body: body)])
      let begun = try await device.relay(
        "POST", "/sales?n=2", headers: fields(2).merging(["Upload-Complete": "?0"]) { $1 },
        body: Array(body.utf8.prefix(1000)))
      let location = try #require(begun["Location"], "\(begun)")
      let ended = try await device.request(
        "PATCH", location,
        headers: [
          "Content-Type": "application/partial-upload", "Upload-Offset": "1000",
          "Upload-Complete": "?1", "Prefer": "receipt",
        ], body: Array(body.utf8.dropFirst(1000)))
      #expect(ended.status == 202, "\(ended)")
      try await expect(
        try ended.json()["receipt"], proves: [1, 2].map { Item(number: $0, body: body) })
    }

    @Test("a lane without numbers has none, and neither has a relay that makes none")
    func none() async throws {
      try await relay.start()
      let device = relay.device("till-1")
      let answer = try await device.post(["path": "/x", "lane": "free"], headers: Self.wanted)
      #expect(try answer.status == 202 && answer.json()["receipt"] == nil)
      #expect(answer["Preference-Applied"] == nil)
      let asked = try await device.get("/v1/clients/till-1/lanes/free/receipt")
      #expect(asked.status == 404 && asked.problem == "not-found")
      let other = try await Relay.started(upstream)
      let plain = try await other.device("till-1").post(
        Item(number: 1).posted, headers: Self.wanted)
      #expect(try plain.status == 202 && plain.json()["receipt"] == nil)
      let path = "/v1/clients/till-1/lanes/sales/receipt"
      #expect(try await other.device("till-1").get(path).status == 404)
    }

    @Test("an answer has a receipt only if that speaks for what was posted")
    func covering() async throws {
      try await relay.start()
      let device = relay.device("till-1")
      _ = try await device.post(Item(number: 1).posted)
      let parked = try await device.post(Item(number: 3).posted, headers: Self.wanted)
      #expect(try parked.json()["receipt"] == nil && parked["Preference-Applied"] == nil)
      let free = try await device.post(["path": "/x", "lane": "sales"], headers: Self.wanted)
      #expect(try free.json()["receipt"] == nil)
      let filled = try await device.post(Item(number: 2).posted, headers: Self.wanted)
      try await expect(try filled.json()["receipt"], proves: (1...3).map { Item(number: $0) })
      let late = try await device.post(Item(number: 3).posted, headers: Self.wanted)
      #expect(try late.json()["receipt"] != nil)
    }

    @Test("many lanes in one answer take no more memory than an answer may")
    func manyLanes() async throws {
      try await relay.start()
      let device = relay.device("till-1")
      let items = (0..<300).map { Item(number: 1, lane: "lane-\($0)") }
      let batch = try await device.post(batch: items.map(\.posted), headers: Self.wanted)
      #expect(try (batch.json()["receipts"] as? [Any])?.count == 32)
      let last = try await device.get("/v1/clients/till-1/lanes/lane-299/receipt")
      try await expect(try last.json(), proves: [items[299]])
    }

    @Test("after a rotation they are signed by the new key, which the old one vouches for")
    func rotated() async throws {
      try await relay.start()
      let device = relay.device("till-1")
      _ = try await device.post(Item(number: 1).posted)
      let rotation = try ChildProcess(
        Waystation.path, ["keys", "rotate", "--config", relay.folder.path + "/config.json"])
      #expect(try await rotation.ending() == .exit(0), "\(rotation.errors)")
      relay.signal(SIGHUP)
      try await relay.log(holds: "keys for receipts taken up")
      let answer = try await device.post(Item(number: 2).posted, headers: Self.wanted)
      let receipt = try answer.json()["receipt"]
      try await expect(receipt, proves: [1, 2].map { Item(number: $0) })
    }

    @Test("the commands of docs/receipts.md give a receipt, and verify it")
    func documented() async throws {
      try await relay.start()
      let document = try ShellDocument("docs/receipts.md")
      let blocks = document.blocks(under: "Ask for one") + document.blocks(under: "Verify one")
      #expect(blocks.count == 2)
      let script = blocks.joined(separator: "\n")
        .replacingOccurrences(of: "127.0.0.1:8080", with: "127.0.0.1:\(relay.port)")
        .replacingOccurrences(of: "examples/", with: "\(ShellDocument.repository)/examples/")
      let process = try ChildProcess(
        "bash", ["-euc", "cd '\(folder.path)'\n\(script)"])
      #expect(try await process.ending() == .exit(0), "\(process.output)\(process.errors)")
      #expect(process.output.contains("has 1 to 1 of till-1/sales"), "\(process.output)")
    }
  }
}
