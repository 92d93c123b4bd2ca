import Foundation
import Testing

extension EndToEnd {
  @Suite("Lanes by configuration", .serialized)
  struct Lanes {
    private let upstream: TestUpstream
    private let relay: Relay

    private static let lanes: [String: any Sendable] = [
      "live": ["order": "latest"] as [String: any Sendable],
      "fleeting-*": ["order": "latest", "ttlSeconds": 1] as [String: any Sendable],
      "photos": ["startPaused": true],
    ]

    init() async throws {
      upstream = try TestUpstream()
      relay = try await Relay.started(
        upstream, more: ["lanes": Self.lanes, "clients": ["till-*": ["startPaused": true]]])
    }

    /// A device with a connection of its own, which no restart has cut.
    private var device: Device { relay.device() }
    private var targets: [String] { upstream.received.map(\.target) }

    private func post(
      _ path: String, lane: String, client: String = "device-1",
      _ more: [String: any Sendable] = [:]
    ) async throws -> String {
      let envelope: [String: any Sendable] = ["path": path, "lane": lane, "client": client]
      let answer = try await device.post(envelope.merging(more) { given, _ in given })
      return try #require(answer.json()["id"] as? String)
    }

    private func pause(_ target: String, _ word: String) async throws {
      #expect(try await device.request("POST", "\(target)/\(word)").status == 200)
    }

    private func restart() async throws {
      try await relay.kill()
      try await relay.start()
    }

    private func lane(_ name: String, of client: String) async throws -> [String: Any] {
      let lanes = try await device.get("/v1/clients/\(client)").json()["lanes"] as? [[String: Any]]
      return try #require(lanes?.first { $0["name"] as? String == name })
    }

    @Test("a lane of the order latest delivers the newest first, also what waited over a restart")
    func newestFirst() async throws {
      try await pause("/v1/upstreams/default", "pause")
      var ids: [String] = []
      for number in 1...4 { ids.append(try await post("/\(number)", lane: "live")) }
      let other = try await post("/strict/1", lane: "other")
      _ = try await post("/strict/2", lane: "other")
      try await restart()
      let fresh = try await device.post(["path": "/5", "lane": "live"]).json()
      #expect(fresh["position"] as? Int == 1)
      #expect(try await lane("live", of: "device-1")["order"] as? String == "latest")
      #expect(try await lane("other", of: "device-1")["order"] as? String == "strict")
      #expect(
        try await lane("live", of: "device-1")["head"] as? String == fresh["id"] as? String)
      try await pause("/v1/upstreams/default", "resume")
      for id in ids + [other] {
        #expect(try await device.end(of: id)["state"] as? String == "delivered")
      }
      try await upstream.received(count: 7)
      #expect(targets.filter { !$0.hasPrefix("/strict") } == ["/5", "/4", "/3", "/2", "/1"])
      #expect(targets.filter { $0.hasPrefix("/strict") } == ["/strict/1", "/strict/2"])
    }

    @Test("new envelopes wait as long as the upstream has asked the lane to, also over a restart")
    func patience() async throws {
      // For longer than the restart takes.
      let seconds = StoreEngine.hasFiles ? 3 : 8
      upstream.behave { request in
        request.target == "/1"
          ? .answer(429, fields: [WireField(name: "Retry-After", value: "\(seconds)")])
          : .answer(200)
      }
      let begin = Date()
      _ = try await post("/1", lane: "live")
      try await upstream.received(count: 1)
      try await eventually("a lane that waits") {
        try await lane("live", of: "device-1")["state"] as? String == "waiting" ? true : nil
      }
      for number in 2...5 { _ = try await post("/\(number)", lane: "live") }
      try await restart()
      let newest = try await post("/6", lane: "live")
      #expect(try await device.end(of: newest)["state"] as? String == "delivered")
      #expect(Date().timeIntervalSince(begin) >= Double(seconds))
      #expect(targets.prefix(2) == ["/1", "/6"])
    }

    @Test("an envelope that blocks such a lane goes on blocking it whatever comes, until resolved")
    func blocked() async throws {
      upstream.behave { $0.target == "/bad" ? .answer(422) : .answer(200) }
      let bad = try await post("/bad", lane: "live", ["onFailure": "block"])
      #expect(try await device.end(of: bad)["state"] as? String == "blocked")
      let behind = try await post("/good", lane: "live")
      try await restart()
      _ = try await post("/better", lane: "live")
      #expect(try await lane("live", of: "device-1")["head"] as? String == bad)
      #expect(targets == ["/bad"])
      let answer = try await device.request(
        "POST", "/v1/envelopes/\(bad)/resolve", headers: ["Content-Type": "application/json"],
        body: Device.json(["action": "discard"]))
      #expect(answer.status == 200)
      #expect(try await device.end(of: behind)["state"] as? String == "delivered")
      #expect(targets == ["/bad", "/better", "/good"])
    }

    @Test("what was requeued in such a lane stands where its acceptance puts it")
    func requeued() async throws {
      upstream.behave { _ in .answer(422) }
      let old = try await post("/old", lane: "live")
      #expect(try await device.end(of: old)["state"] as? String == "failed")
      try await restart()
      upstream.behave { _ in .answer(200) }
      try await pause("/v1/upstreams/default", "pause")
      #expect(try await device.request("POST", "/v1/envelopes/\(old)/requeue").status == 200)
      _ = try await post("/new", lane: "live")
      try await pause("/v1/upstreams/default", "resume")
      #expect(try await device.end(of: old)["state"] as? String == "delivered")
      #expect(targets == ["/old", "/new", "/old"])
    }

    @Test("a lane's ttl ends what it has held too long, whatever the sender asked for")
    func ttl() async throws {
      try await pause("/v1/upstreams/default", "pause")
      let late = "2999-01-01T00:00:00Z"
      let id = try await post("/1", lane: "fleeting-1", ["expiresAt": late])
      let kept = try await post("/2", lane: "other", ["expiresAt": late])
      try await restart()
      #expect(try await device.end(of: id)["state"] as? String == "expired")
      let patch = try await device.request(
        "PATCH", "/v1/envelopes/\(kept)", headers: ["Content-Type": "application/json"],
        body: Device.json(["expiresAt": "2998-01-01T00:00:00Z"]))
      #expect(try patch.json()["expiresAt"] as? String == "2998-01-01T00:00:00.000Z")
      #expect(try patch.json()["state"] as? String == "queued")
    }

    @Test("a sequence number in such a lane is refused with what to do instead")
    func sequence() async throws {
      let answer = try await device.post(["path": "/1", "lane": "live", "sequence": 1])
      #expect(answer.status == 422)
      #expect(try answer.json()["field"] as? String == "/sequence")
      #expect(try answer.json()["fix"] as? String != nil)
      let relayed = try await device.request(
        "POST", "/v1/relay/default/1",
        headers: [
          "Waystation-Client": "device-1", "Waystation-Lane": "live", "Waystation-Sequence": "1",
          "Content-Length": "0",
        ])
      #expect(relayed.status == 422)
      #expect(try relayed.json()["field"] as? String == "Waystation-Sequence")
    }

    @Test("a client that starts paused stands until it is resumed, which lasts over restarts")
    func pausedClient() async throws {
      let first = try await post("/1", lane: "default", client: "till-7")
      let other = try await post("/other", lane: "default")
      #expect(try await device.end(of: other)["state"] as? String == "delivered")
      try await restart()
      let second = try await post("/2", lane: "more", client: "till-7")
      #expect(try await device.get("/v1/clients/till-7").json()["paused"] as? Bool == true)
      #expect(targets == ["/other"])
      try await pause("/v1/clients/till-7", "resume")
      for id in [first, second] {
        #expect(try await device.end(of: id)["state"] as? String == "delivered")
      }
      try await restart()
      let third = try await post("/3", lane: "third", client: "till-7")
      #expect(try await device.end(of: third)["state"] as? String == "delivered")
      // Somebody may resume one that has sent nothing yet.
      try await pause("/v1/clients/till-8", "resume")
      let eighth = try await post("/8", lane: "default", client: "till-8")
      #expect(try await device.end(of: eighth)["state"] as? String == "delivered")
    }

    @Test("a lane that starts paused stands beside the client's others, over a restart")
    func pausedLane() async throws {
      let photo = try await post("/photo", lane: "photos")
      try await restart()
      let other = try await post("/other", lane: "default")
      #expect(try await device.end(of: other)["state"] as? String == "delivered")
      let shown = try await lane("photos", of: "device-1")
      #expect(shown["paused"] as? Bool == true && shown["state"] as? String == "paused")
      #expect(targets == ["/other"])
      try await pause("/v1/clients/device-1/lanes/photos", "resume")
      #expect(try await device.end(of: photo)["state"] as? String == "delivered")
    }

    @Test("an upstream that is to start paused is paused once, though it was known before")
    func pausedUpstream() async throws {
      try await relay.kill()
      let paused = Relay.quick(upstream, ["startPaused": true])
      try relay.configure(upstreams: ["default": paused])
      try await relay.start()
      let first = try await post("/1", lane: "default")
      try await restart()
      #expect(targets.isEmpty)
      try await pause("/v1/upstreams/default", "resume")
      #expect(try await device.end(of: first)["state"] as? String == "delivered")
      try await restart()
      let second = try await post("/2", lane: "default")
      #expect(try await device.end(of: second)["state"] as? String == "delivered")
    }
  }
}
