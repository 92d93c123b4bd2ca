import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("Audit", .serialized)
  struct Audit {
    private func entries(
      _ relay: Relay, _ query: String = ""
    ) async throws -> (entries: [[String: Any]], next: String?) {
      let answer = try await relay.reading.get("/v1/audit\(query)")
      #expect(answer.status == 200, "\(answer)")
      let json = try answer.json()
      return (try #require(json["entries"] as? [[String: Any]]), json["next"] as? String)
    }

    private func ask(
      _ device: Device, _ method: String, _ target: String, _ body: [String: any Sendable]? = nil
    ) async throws -> Int {
      let fields = body == nil ? [:] : ["Content-Type": "application/json"]
      return try await device.request(
        method, target, headers: fields, body: try body.map { try Device.json($0) }
      ).status
    }

    @Test("each act stands there with who, what and what came of it, also after kill -9")
    func acts() async throws {
      let upstream = try TestUpstream { _ in .answer(422) }
      let relay = try await Relay.guarded(upstream)
      let (id, token) = try await relay.token(["client": "till-1", "label": "spare"])
      let device = relay.device("till-1", token: token)
      let held = try await device.request(
        "POST", "/v1/envelopes", headers: ["Content-Type": "application/json"],
        body: try Device.json(["path": "/x", "hold": true] as [String: any Sendable]))
      let envelope = try #require(try held.json()["id"] as? String)
      let target = "/v1/envelopes/\(envelope)"
      let steps: [(String, String, [String: any Sendable]?, Int)] = [
        ("PATCH", target, ["tag": "t", "headers": ["X-Secret": "s3cret"]], 200),
        ("POST", "\(target)/resolve", ["action": "discard"], 409),
        ("DELETE", target, nil, 200),
        ("POST", "/v1/clients/a%2Fb/lanes/x%20y/pause", nil, 422),
        ("POST", "/v1/clients/a%2Fb/lanes/x/pause", nil, 200),
        ("POST", "/v1/upstreams/default/probe", nil, 200),
        ("DELETE", "/v1/clients/till-1/envelopes", nil, 200),
        ("DELETE", "/v1/clients/till-1/envelopes?tag=t&lane=a", nil, 200),
      ]
      for (method, target, body, status) in steps {
        #expect(try await ask(relay.steering, method, target, body) == status, "\(target)")
      }
      try await relay.kill()
      try await relay.start()
      let found = try await entries(relay).entries.reversed()
      let lines = found.map { entry in
        ["action", "subject", "result", "detail"].map { entry[$0] as? String ?? "-" }
          .joined(separator: " ")
      }
      #expect(
        lines == [
          "create-token tokens done \(id) for the client till-1",
          "edit envelopes/\(envelope) done headers, tag",
          "resolve envelopes/\(envelope) refused discard",
          "cancel envelopes/\(envelope) done -",
          "pause clients/a%2Fb/lanes/x%20y refused -",
          "pause clients/a%2Fb/lanes/x done -",
          "probe upstreams/default done -",
          "cancel clients/till-1 done 0 cancelled",
          "cancel clients/till-1 done 0 cancelled of lane a of tag t",
        ])
      #expect(found.allSatisfy { $0["who"] as? String == "steering" })
      #expect(found.allSatisfy { $0["role"] as? String == "steer" && $0["at"] is String })
      let statuses = found.compactMap { $0["status"] as? Int }
      #expect(statuses == [201, 200, 409, 200] + steps[3...].map { $0.3 })
      let text = try await relay.reading.get("/v1/audit").text
      #expect(!text.contains("s3cret") && !text.contains(token))
    }

    @Test("what cannot be written down is not done", .ofFiles)
    func unwritten() async throws {
      let upstream = try TestUpstream()
      let away: [String: any Sendable] = ["url": "http://127.0.0.1:9", "connectTimeoutMs": 1000]
      let reachability: [String: any Sendable] = [
        "firstProbeDelayMs": 3_600_000, "maxProbeDelayMs": 3_600_000,
      ]
      let relay = try Relay(
        upstreams: [
          "default": Relay.quick(upstream),
          "away": away.merging(["reachability": reachability]) { $1 }
            .merging(["retry": ["firstDelayMs": 10, "maxDelayMs": 20]]) { $1 },
        ], more: Credentials.configuration)
      let shim = try DiskShim(watching: relay.folder.path)
      relay.setEnvironment(shim.environment(isRecorded: false))
      try await relay.start()
      let device = relay.device("truck-7", token: Credentials.derived("truck-7"))
      try await device.post(["path": "/", "upstream": "away"]).require(202)
      func nextProbe() async throws -> Date? {
        let status = try await relay.reading.get("/status").json()
        let upstreams = status["upstreams"] as? [[String: Any]]
        let upstream = upstreams?.first { $0["name"] as? String == "away" }
        guard let text = upstream?["nextProbeAt"] as? String else { return nil }
        return try Date(
          text, strategy: .iso8601.year().month().day().time(includingFractionalSeconds: true))
      }
      // A time is told of two clocks, which may differ by a millisecond; a probe moves it by more.
      func isSame(_ one: Date?, _ other: Date) -> Bool {
        one.map { abs($0.timeIntervalSince(other)) < 0.005 } ?? false
      }
      let due = try await eventually("the upstream is away") { try await nextProbe() }
      shim.fail(.unsyncedChanges, with: EIO)
      // Of an act that changes nothing on disk: that it was not done is not the disk's doing.
      let refused = try await relay.steering.request("POST", "/v1/upstreams/away/probe")
      #expect(refused.status == 503 && refused.problem == "store-unavailable", "\(refused)")
      #expect(isSame(try await nextProbe(), due))
      shim.heal()
      try await eventually("the store is well") {
        try await relay.steering.request("POST", "/v1/upstreams/away/probe").status == 200
          ? true : nil
      }
      try await eventually("it was probed") {
        try await nextProbe().map { !isSame($0, due) } == true ? true : nil
      }
      // One entry for each that was done, and none for what was not.
      let results = try await entries(relay).entries.map { $0["result"] as? String }
      #expect(results == ["done"])
    }

    @Test("it goes page by page, and by subject")
    func pages() async throws {
      let relay = try await Relay.guarded(try TestUpstream())
      for name in ["a", "b", "a", "c", "a"] {
        #expect(try await ask(relay.steering, "POST", "/v1/clients/\(name)/pause") == 200)
      }
      let own = try await entries(relay, "?subject=clients/a").entries
      #expect(own.count == 3 && own.allSatisfy { $0["subject"] as? String == "clients/a" })
      var ids: [Int] = []
      var query = "?limit=2"
      while true {
        let page = try await entries(relay, query)
        ids += page.entries.compactMap { ($0["id"] as? String).flatMap { Int($0) } }
        guard let next = page.next else { break }
        query = "?limit=2&after=\(next)"
      }
      #expect(ids == [5, 4, 3, 2, 1])
      for query in ["?after=x", "?limit=0", "?subject=", "?who=me", "?after=1&after=2"] {
        #expect(try await relay.reading.get("/v1/audit\(query)").status == 422, "\(query)")
      }
    }

    @Test("what a client does to its own, a look, and who may not ask leave no entry")
    func left() async throws {
      let relay = try await Relay.guarded(try TestUpstream())
      let token = Credentials.derived("truck-7")
      let device = relay.device("truck-7", token: token)
      let held = try await device.post(["path": "/x", "hold": true])
      let id = try #require(try held.json()["id"] as? String)
      #expect(try await ask(device, "DELETE", "/v1/envelopes/\(id)") == 200)
      #expect(try await ask(relay.reading, "POST", "/v1/clients/a/pause") == 403)
      #expect(try await ask(relay.device(), "POST", "/v1/clients/a/pause") == 401)
      #expect(try await relay.reading.get("/v1/envelopes/\(id)").status == 200)
      #expect(try await entries(relay).entries.isEmpty)
      #expect(try await device.get("/v1/audit").status == 403)
    }

    @Test("where no credential is configured it was somebody, and an old entry goes for a new one")
    func open() async throws {
      let relay = try await Relay.started(
        try TestUpstream(), more: ["audit": ["entriesMax": 2] as [String: any Sendable]])
      for name in ["a", "b", "c"] {
        #expect(try await ask(relay.device(), "POST", "/v1/clients/\(name)/pause") == 200)
      }
      let answer = try await relay.device().get("/v1/audit").json()
      let entries = try #require(answer["entries"] as? [[String: Any]])
      #expect(entries.map { $0["subject"] as? String } == ["clients/c", "clients/b"])
      #expect(entries.allSatisfy { $0["who"] as? String == "anonymous" })
      #expect(entries.allSatisfy { $0["role"] as? String == "anonymous" })
    }
  }
}
