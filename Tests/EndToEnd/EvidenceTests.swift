import Foundation
import Testing

extension EndToEnd {
  /// Evidence lanes of the real relay: what they refuse, what the upstream is told, the ledger.
  @Suite("Evidence lanes", .serialized)
  struct Evidence {
    private let upstream: TestUpstream
    private let relay: Relay
    private let folder: TemporaryFolder
    private let settings: [String: any Sendable]

    init() throws {
      upstream = try TestUpstream()
      folder = try TemporaryFolder()
      settings = [
        "receipts": ["issuer": "https://relay.example", "keys": folder.path + "/keys"],
        "lanes": ["sales*": ["evidence": true]],
        "retention": ["deliveredSeconds": 0],
      ]
      relay = try Relay(upstreams: ["default": Relay.quick(upstream)], more: settings)
    }

    private func sale(_ number: Int, body: String? = nil) -> [String: any Sendable] {
      [
        "lane": "sales", "sequence": number, "key": "k-\(number)", "path": "/sales?n=\(number)",
        "body": body ?? "sale \(number)",
      ]
    }

    /// The lines of a ledger's page.
    private func ledger(
      _ query: String = "", lane: String = "sales"
    ) async throws -> [[String: Any]] {
      let answer = try await relay.device("till-1").get(
        "/v1/clients/till-1/lanes/\(lane)/ledger\(query)")
      #expect(answer.status == 200 && answer["Content-Type"] == "application/x-ndjson", "\(answer)")
      return try answer.body.split(separator: 0x0A).map {
        try #require(try JSONSerialization.jsonObject(with: Data($0)) as? [String: Any])
      }
    }

    /// Waits until a ledger's entries are in these states.
    private func ledger(shows states: [String]) async throws -> [[String: Any]] {
      try await eventually("the ledger shows \(states)") {
        let lines = try await ledger()
        return lines.dropLast().map { $0["state"] as? String } == states ? lines : nil
      }
    }

    @Test("the upstream is told where each request stands, and the ledger says the same")
    func told() async throws {
      try await relay.start()
      let device = relay.device("till-1")
      for number in [2, 1, 3] { #expect(try await device.post(sale(number)).status == 202) }
      let requests = try await upstream.received(count: 3)
      let lines = try await ledger(shows: ["delivered", "delivered", "delivered"])
      for (number, (request, line)) in zip(1..., zip(requests, lines)) {
        #expect(request["Waystation-Lane"] == "sales")
        #expect(request["Waystation-Sequence"] == "\(number)")
        #expect(request["Waystation-Key"] == "k-\(number)")
        #expect(request["Waystation-Item-Digest"] == line["digest"] as? String)
        #expect(request["Waystation-Link"] == line["link"] as? String)
        #expect(line["status"] as? Int == 200 && line["endedAt"] is Int)
      }
      let receipt = try await device.get("/v1/clients/till-1/lanes/sales/receipt").json()
      #expect(lines[2]["link"] as? String == receipt["link"] as? String)
      let end = lines[3]
      #expect(end["first"] as? Int == 1 && end["last"] as? Int == 3 && end["jws"] is String)
    }

    @Test("the ledger remembers endings, over kills, when their envelopes are long forgotten")
    func remembered() async throws {
      upstream.behave { $0.target.contains("n=2") ? .answer(422) : .answer(200) }
      try await relay.start()
      let device = relay.device("till-1")
      for number in 1...3 { _ = try await device.post(sale(number)) }
      let before = try await ledger(shows: ["delivered", "failed", "delivered"])
      try await eventually("the envelope is forgotten") {
        try await device.get("/v1/clients/till-1/envelopes/k-1").status == 404 ? true : nil
      }
      try await relay.kill()
      try await relay.start()
      let after = try await ledger()
      #expect(before[1]["status"] as? Int == 422)
      #expect(NSArray(array: before.dropLast()).isEqual(to: after.dropLast()))
    }

    @Test("a page speaks for the numbers that it has, and the next one goes on behind it")
    func pages() async throws {
      try await relay.start()
      let device = relay.device("till-1")
      _ = try await device.post(batch: (1...5).map { sale($0) })
      let first = try await ledger("?limit=2")
      #expect(first.dropLast().map { $0["sequence"] as? Int } == [1, 2])
      #expect(first[2]["first"] as? Int == 1 && first[2]["last"] as? Int == 2)
      let next = try await ledger("?first=3&last=4")
      #expect(next.dropLast().map { $0["sequence"] as? Int } == [3, 4])
      let none = try await ledger("?first=6")
      #expect(none.count == 1 && none[0]["first"] as? Int == 6 && none[0]["last"] as? Int == 5)
      for query in ["?first=0", "?first=3&last=2", "?last=x", "?first=1&first=2", "?from=1"] {
        let answer = try await device.get("/v1/clients/till-1/lanes/sales/ledger\(query)")
        #expect(answer.status == 422, "\(query) \(answer)")
      }
      let other = try await device.get("/v1/clients/till-1/lanes/free/ledger")
      #expect(other.status == 404 && other.problem == "not-found")
    }

    @Test("the commands of docs/receipts.md fetch the whole ledger")
    func documented() async throws {
      try await relay.start()
      _ = try await relay.device("till-1").post(batch: (1...5).map { sale($0) })
      let blocks = try ShellDocument("docs/receipts.md").blocks(under: "The ledger")
      #expect(blocks.count == 2)
      let script = blocks.joined(separator: "\n")
        .replacingOccurrences(of: "127.0.0.1:8080", with: "127.0.0.1:\(relay.port)")
        .replacingOccurrences(of: "limit=200", with: "limit=2")
      let process = try ChildProcess("bash", ["-euc", "cd '\(folder.path)'\n\(script)"])
      #expect(try await process.ending() == .exit(0), "\(process.output)\(process.errors)")
      let lines = try String(contentsOfFile: folder.path + "/ledger.ndjson", encoding: .utf8)
        .split(separator: "\n")
      // Three pages with numbers, and one without.
      #expect(lines.count == 5 + 4, "\(lines)")
    }

    @Test("the commands of docs/receipts.md audit a lane, in the order in which they stand there")
    func documentedAudit() async throws {
      upstream.behave { _ in .answer(200) }
      try await relay.start()
      _ = try await relay.device("till-1").post(batch: (1...3).map { sale($0) })
      _ = try await ledger(shows: ["delivered", "delivered", "delivered"])
      let record = try await upstream.received(count: 3).map { try $0.recorded() }
      try folder.write("requests.ndjson", record.joined(separator: "\n"))
      let document = try ShellDocument("docs/receipts.md")
      let blocks = document.blocks(under: "Audit a lane")
      #expect(blocks.count == 3)
      let page = try #require(document.blocks(under: "The ledger").last)
      let script = [blocks[0], page, blocks[1], blocks[2]].joined(separator: "\n")
        .replacingOccurrences(of: "127.0.0.1:8080", with: "127.0.0.1:\(relay.port)")
        .replacingOccurrences(of: "waystation audit-lane", with: "'\(Waystation.path)' audit-lane")
      let process = try ChildProcess("bash", ["-euc", "cd '\(folder.path)'\n\(script)"])
      #expect(try await process.ending() == .exit(0), "\(process.output)\(process.errors)")
      #expect(process.output.hasPrefix("holds: till-1/sales, numbers 1 to 3"), "\(process.output)")
    }

    @Test("a lane holds over a new ring, by what was fetched since")
    func newRing() async throws {
      upstream.behave { _ in .answer(200) }
      try await relay.start()
      _ = try await relay.device("till-1").post(batch: (1...3).map { sale($0) })
      _ = try await ledger(shows: ["delivered", "delivered", "delivered"])
      let lane = "/v1/clients/till-1/lanes/sales"
      let before = try await relay.device("till-1").get("\(lane)/receipt").body
      relay.signal(SIGTERM)
      #expect(try await relay.ending() == .exit(0))
      try FileManager.default.removeItem(atPath: folder.path + "/keys")
      try await relay.start()
      let device = relay.device("till-1")
      _ = try await device.post(batch: (4...5).map { sale($0) })
      _ = try await ledger(shows: Array(repeating: "delivered", count: 5))
      let record = try await upstream.received(count: 5).map { try $0.recorded() }
      try folder.write("requests.json", record.joined(separator: "\n"))
      for (name, path) in [
        ("receipts", "\(lane)/receipt"), ("keys", "/.well-known/waystation/keys"),
        ("ledger", "\(lane)/ledger"),
      ] {
        try folder.write(
          "\(name).json", String(decoding: try await device.get(path).body, as: UTF8.self))
      }
      try folder.write("old.json", String(decoding: before, as: UTF8.self))
      func audit(_ receipts: String) async throws -> ChildProcess {
        let files = ["keys", "ledger", "requests"].flatMap {
          ["--\($0)", "\(folder.path)/\($0).json"]
        }
        let audit = try ChildProcess(
          Waystation.path, ["audit-lane", "--receipts", "\(folder.path)/\(receipts).json"] + files)
        _ = try await audit.ending()
        return audit
      }
      let whole = try await audit("receipts")
      #expect(whole.output.hasPrefix("holds: till-1/sales, numbers 1 to 5"), "\(whole.output)")
      let old = try await audit("old")
      #expect(old.output.hasPrefix("does not hold: receipt 1: it is signed by"), "\(old.output)")
    }

    @Test("what had failed and was put back in line holds, by pages from before and after")
    func putBack() async throws {
      upstream.behave { _ in .answer(422) }
      try await relay.start()
      let device = relay.device("till-1")
      _ = try await device.post(sale(1))
      _ = try await ledger(shows: ["failed"])
      let lane = "/v1/clients/till-1/lanes/sales"
      let before = try await device.get("\(lane)/ledger").body
      upstream.behave { _ in .answer(200) }
      let requeued = try await device.request("POST", "/v1/clients/till-1/envelopes/k-1/requeue")
      #expect(requeued.status == 200, "\(requeued)")
      _ = try await ledger(shows: ["delivered"])
      let after = try await device.get("\(lane)/ledger").body
      let record = try await upstream.received(count: 2).map { try $0.recorded() }
      let files = [
        "ledger": String(decoding: after + before, as: UTF8.self),
        "receipts": String(decoding: try await device.get("\(lane)/receipt").body, as: UTF8.self),
        "keys": String(
          decoding: try await device.get("/.well-known/waystation/keys").body, as: UTF8.self),
        "requests": record.joined(separator: "\n"),
      ]
      for (name, text) in files { try folder.write("\(name).json", text) }
      let audit = try ChildProcess(
        Waystation.path,
        ["audit-lane"] + files.keys.flatMap { ["--\($0)", "\(folder.path)/\($0).json"] })
      #expect(try await audit.ending() == .exit(0), "\(audit.output)\(audit.errors)")
      #expect(audit.output.contains("delivered 1,") && audit.output.contains("requests: 1"))
    }

    @Test("what no receipt could cover is refused, with the field and the fix")
    func refused() async throws {
      try await relay.start()
      let device = relay.device("till-1")
      let posts: [(String, [String: (any Sendable)?], String)] = [
        ("missing-field", ["sequence": nil], "/sequence"), ("missing-field", ["key": nil], "/key"),
        ("invalid-field", ["references": true], "/references"),
        ("invalid-field", ["coalesce": "c"], "/coalesce"),
      ]
      for (kind, change, field) in posts {
        var post = sale(1)
        for (name, value) in change { post[name] = value }
        let answer = try await device.post(post)
        #expect(answer.status == 422 && answer.problem == kind, "\(answer)")
        #expect(try answer.json()["field"] as? String == field && answer.json()["fix"] is String)
      }
      let relayed = try await device.relay(
        "POST", "/sales", headers: ["Waystation-Lane": "sales"], body: Array("x".utf8))
      #expect(try relayed.json()["field"] as? String == "Waystation-Sequence", "\(relayed)")
      let void = try await device.post(["lane": "sales", "sequence": 1, "void": true])
      #expect(void.status == 202, "\(void)")
    }

    /// What a check-in tells of ends.
    private func endings() async throws -> [[String: Any]] {
      let answer = try await relay.device("till-1").request(
        "POST", "/v1/checkin", headers: ["Content-Type": "application/json"],
        body: Device.json(["client": "till-1"]))
      return try #require(try answer.json()["ended"] as? [[String: Any]])
    }

    @Test("what is forgotten of a lane has its end in the ledger, and a check-in tells it")
    func forgotten() async throws {
      try await relay.start()
      let device = relay.device("till-1")
      let held: [String: any Sendable] = ["hold": true]
      for number in 1...2 {
        _ = try await device.post(sale(number).merging(held) { given, _ in given })
      }
      _ = try await device.post(["path": "/x", "lane": "free", "hold": true])
      #expect(try await endings().isEmpty)
      let answer = try await device.request(
        "DELETE", "/v1/clients/till-1/envelopes?lane=sales")
      #expect(answer.text == #"{"cancelled":2}"#)
      _ = try await ledger(shows: ["cancelled", "cancelled"])
      let told = try await endings()
      #expect(told.map { $0["key"] as? String } == ["k-1", "k-2"])
      #expect(told.allSatisfy { $0["state"] as? String == "cancelled" })
      #expect(try await device.get("/v1/clients/till-1").json()["waiting"] as? Int == 1)
      let next = try await device.post(sale(3))
      #expect(next.status == 202)
      _ = try await ledger(shows: ["cancelled", "cancelled", "delivered"])
    }

    @Test("what came stays as it is: only orders to the relay can be corrected")
    func corrected() async throws {
      try await relay.start()
      let device = relay.device("till-1")
      let posted = try await device.post(sale(1).merging(["hold": true]) { $1 })
      let id = try #require(try posted.json()["id"] as? String)
      func patch(_ change: [String: any Sendable]) async throws -> WireResponse {
        try await device.request(
          "PATCH", "/v1/envelopes/\(id)", headers: ["Content-Type": "application/merge-patch+json"],
          body: Device.json(change))
      }
      for name in ["body", "path", "method"] {
        let answer = try await patch([name: name == "path" ? "/x" : "PUT"])
        #expect(answer.status == 422 && answer.problem == "invalid-field", "\(answer)")
        #expect(try answer.json()["field"] as? String == "/\(name)")
      }
      #expect(try await patch(["headers": ["X-A": "b"]]).status == 422)
      #expect(try await patch(["tag": "t", "hold": false]).status == 200)
      let request = try await upstream.received(count: 1)[0]
      #expect(request.body == Array("sale 1".utf8))
    }

    @Test("a batch upstream gets each number of an evidence lane in a request of its own")
    func alone() async throws {
      let batch: [String: any Sendable] = ["format": "json", "path": "/ingest"]
      try relay.configure(
        upstreams: ["default": Relay.quick(upstream).merging(["batch": batch]) { $1 }],
        more: settings)
      upstream.behave { _ in .answer(200) }
      try await relay.start()
      _ = try await relay.device("till-1").post(batch: (1...3).map { sale($0) })
      let requests = try await upstream.received(count: 3)
      #expect(requests.map { $0["Waystation-Sequence"] } == ["1", "2", "3"])
    }

    @Test("operators are shown which lanes are evidence lanes, and who signs with which key")
    func shown() async throws {
      try await relay.start()
      let device = relay.device("till-1")
      _ = try await device.post(batch: [sale(1), ["path": "/x", "lane": "free"]])
      let keys = try await device.get("/.well-known/waystation/keys").json()
      let kid = try #require((keys["keys"] as? [[String: Any]])?.last?["kid"] as? String)
      let receipts = try await device.get("/status").json()["receipts"] as? [String: String]
      #expect(receipts == ["issuer": "https://relay.example", "kid": kid])
      for (path, name) in [("/v1/lanes", "lane"), ("/v1/clients/till-1", "name")] {
        let lanes = try #require(try await device.get(path).json()["lanes"] as? [[String: Any]])
        let marked = lanes.filter { $0["evidence"] as? Bool == true }
        #expect(lanes.count == 2 && marked.map { $0[name] as? String } == ["sales"], "\(path)")
      }
      let listed = try await relay.command("lanes", "list")
      #expect(listed.output.contains(", evidence "), "\(listed)")
      let status = try await relay.command("status")
      #expect(status.output.contains("https://relay.example, key \(kid)"), "\(status)")
      let other = try await Relay.started(upstream)
      #expect(try await other.device().get("/status").json()["receipts"] == nil)
    }

    @Test("a client may not see another one's ledger, and no device can pretend to be in one")
    func others() async throws {
      try await relay.start()
      let free: [String: any Sendable] = [
        "path": "/x", "lane": "free",
        "headers": ["Waystation-Link": "forged", "Waystation-Sequence": "9"],
      ]
      let answer = try await relay.device("till-1").post(free)
      if answer.status == 202 {
        let request = try await upstream.received(count: 1)[0]
        #expect(request["Waystation-Link"] == nil && request["Waystation-Sequence"] == nil)
      } else {
        #expect(answer.status == 422)
      }
    }
  }
}
