import Foundation
import Testing

extension EndToEnd {
  @Suite("Upstreams that limit their rate", .serialized, .ofNoStore)
  struct Pace {
    @Test(
      "an upstream that limits its rate takes everything, and refuses few after the first ones",
      .enabled(if: TestNginx.isThere, "nginx is not installed"))
    func limited() async throws {
      let server = try await LimitedServer(perSecond: 40, burst: 40)
      let relay = try Relay(upstreams: ["default": ["url": server.url, "maxConcurrent": 16]])
      try await relay.start()
      try await Self.post(240, to: relay)
      let statuses = try await server.statuses { $0.count { $0 == 202 } == 240 }
      let refused = statuses.count { $0 == 429 }
      #expect((1...80).contains(refused), "\(refused) were refused")
      #expect(try await Self.shown(of: relay)["requestsPerSecondLearned"] as? Bool == true)
      let list = try await relay.command("upstreams", "list")
      #expect(list.output.contains("/s at most (learned)"), "\(list.output)")
      let metrics = try await relay.device().get("/metrics").text
      #expect(metrics.contains(#"waystation_upstream_requests_per_second{upstream="default"} "#))
      try await server.stop()
    }

    @Test(
      "an upstream whose rate is configured refuses nothing",
      .enabled(if: TestNginx.isThere, "nginx is not installed"))
    func configured() async throws {
      let server = try await LimitedServer(perSecond: 40, burst: 5)
      let relay = try Relay(upstreams: [
        "default": ["url": server.url, "requestsPerSecondMax": 38, "burst": 2]
      ])
      try await relay.start()
      try await Self.post(100, to: relay)
      let statuses = try await server.statuses { $0.count == 100 }
      #expect(statuses.allSatisfy { $0 == 202 })
      let shown = try await Self.shown(of: relay)
      #expect(shown["requestsPerSecondNow"] as? Double == 38)
      #expect(shown["requestsPerSecondLearned"] as? Bool == false)
      let list = try await relay.command("upstreams", "list")
      #expect(list.output.contains("38.0/s at most") && !list.output.contains("learned"))
      let metrics = try await relay.device().get("/metrics").text
      #expect(metrics.contains(#"waystation_upstream_requests_per_second{upstream="default"} 38"#))
      try await server.stop()
    }

    @Test("a wait that one lane is asked for is shown, holds the others, and can be ended")
    func held() async throws {
      let upstream = try TestUpstream { request in
        let wait = WireField(name: "Retry-After", value: "3000")
        guard request.target == "/first" else { return .answer(200) }
        let type = WireField(name: "Content-Type", value: "text/plain")
        return .answer(429, fields: [wait, type], body: Array("slow down\nplease".utf8))
      }
      let relay = try Relay(upstreams: ["default": Relay.quick(upstream)])
      try await relay.start()
      let (device, other) = (relay.device("a"), relay.device("b"))
      _ = try await device.post(["path": "/first", "method": "GET"])
      let view = try await eventually("the wait is shown") {
        let answer = try await device.get("/v1/upstreams").json()
        let upstreams = answer["upstreams"] as? [[String: Any]]
        return upstreams?.first { $0["heldUntil"] != nil }
      }
      #expect(view["reachable"] as? Bool == true)
      #expect(view["heldReason"] as? String == "the upstream answered 429 “slow down”")
      let list = try await Waystation.run(
        "upstreams", "list", "--server", "http://127.0.0.1:\(relay.port)")
      #expect(
        list.output.contains("wants a wait, goes on in")
          && list.output.contains("the upstream answered 429 “slow down”"), "\(list.output)")
      try await relay.log(holds: "upstream wants fewer requests")
      let metrics = try await device.get("/metrics").text
      #expect(metrics.contains(#"waystation_upstream_held{upstream="default"} 1"#))
      let posted = try await other.post(["path": "/second", "method": "GET"])
      let id = try #require(posted.json()["id"] as? String)
      #expect(try await other.get("/v1/envelopes/\(id)").json()["state"] as? String == "queued")
      #expect(upstream.received.map(\.target) == ["/first"])
      #expect(try await device.request("POST", "/v1/upstreams/default/probe").status == 200)
      #expect(try await other.end(of: id)["state"] as? String == "delivered")
    }

    @Test("who ends a wait ends it for the envelope that was told of it as well")
    func endedForAll() async throws {
      let upstream = try TestUpstream { _ in
        .answer(429, fields: [WireField(name: "Retry-After", value: "3000")])
      }
      let relay = try Relay(upstreams: ["default": Relay.quick(upstream)])
      try await relay.start()
      let device = relay.device("a")
      let posted = try await device.post(["path": "/first", "method": "GET"]).json()
      let id = try #require(posted["id"] as? String)
      try await eventually("its own wait is shown") {
        let view = try await device.get("/v1/envelopes/\(id)").json()
        return view["attemptCount"] as? Int == 1 && view["nextAttemptAt"] != nil ? true : nil
      }
      upstream.behave { _ in .answer(200) }
      #expect(try await device.request("POST", "/v1/upstreams/default/probe").status == 200)
      #expect(try await device.end(of: id)["state"] as? String == "delivered")
    }

    @Test("a client that is refused for itself over and over does not hold up others again")
    func oneClient() async throws {
      let upstream = try TestUpstream { request in
        guard request.target == "/limited" else { return .answer(200) }
        return .answer(429, fields: [WireField(name: "Retry-After", value: "3000")])
      }
      let relay = try Relay(upstreams: ["default": Relay.quick(upstream)])
      try await relay.start()
      let (device, other) = (relay.device("a"), relay.device("b"))
      _ = try await device.post(["path": "/limited", "method": "GET"])
      try await eventually("it is refused") {
        try await Self.shown(of: relay)["heldUntil"] != nil ? true : nil
      }
      // Somebody ends the waits until it is found.
      for number in 0..<6 {
        let posted = try await other.post(["path": "/\(number)", "method": "GET"]).json()
        let id = try #require(posted["id"] as? String)
        try await eventually("what another sends is delivered") {
          _ = try await device.request("POST", "/v1/upstreams/default/probe")
          let view = try await other.get("/v1/envelopes/\(id)").json()
          return view["state"] as? String == "delivered" ? true : nil
        }
      }
      for number in 0..<60 {
        _ = try await device.post(["path": "/limited", "method": "GET", "lane": "l\(number)"])
      }
      try await eventually("all are refused, and hold only themselves") {
        upstream.received.count { $0.target == "/limited" } > 60 ? true : nil
      }
      let posted = try await other.post(["path": "/last", "method": "GET"]).json()
      let id = try #require(posted["id"] as? String)
      #expect(try await other.end(of: id)["state"] as? String == "delivered")
      #expect(try await Self.shown(of: relay)["heldUntil"] == nil)
    }

    /// The upstream as an operator sees it.
    private static func shown(of relay: Relay) async throws -> [String: Any] {
      let answer = try await relay.device().get("/v1/upstreams").json()
      return try #require((answer["upstreams"] as? [[String: Any]])?.first)
    }

    private static func post(_ count: Int, to relay: Relay) async throws {
      let batch = (0..<count).map { number -> [String: any Sendable] in
        ["client": "c-\(number)", "path": "/\(number)", "method": "GET"]
      }
      #expect(try await relay.device().post(batch: batch).status == 202)
    }
  }
}

/// nginx that takes so many requests a second, answers others with 429, and says when to come back.
private final class LimitedServer: Sendable {
  private let nginx: TestNginx
  var url: String { "http://127.0.0.1:\(nginx.port)" }

  init(perSecond: Int, burst: Int) async throws {
    nginx = try await TestNginx { folder, port in
      """
        log_format status "$status"; access_log \(folder)/access status;
        limit_req_zone $scheme zone=all:1m rate=\(perSecond)r/s;
        limit_req_status 429;
        server {
          listen 127.0.0.1:\(port);
          location / {
            limit_req zone=all burst=\(burst) nodelay;
            error_page 429 = @later;
            # Its limit does not count what is answered before that.
            try_files /none @taken;
          }
          location @taken { return 202; }
          location @later { add_header Retry-After 1 always; return 429; }
        }
      """
    }
  }

  /// What it answered, once that is as expected.
  func statuses(once isExpected: ([Int]) -> Bool) async throws -> [Int] {
    try await eventually("what nginx answered", seconds: 60) {
      let log = try String(contentsOfFile: nginx.folder.path + "/access", encoding: .utf8)
      let statuses = log.split(separator: "\n").compactMap { Int($0) }
      return isExpected(statuses) ? statuses : nil
    }
  }

  func stop() async throws { try await nginx.stop() }
}
