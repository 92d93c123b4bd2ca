import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("What may have arrived", .serialized)
  struct Ambiguity {
    /// Asked by `GET /orders/{id}`; silent attempts are given up quickly.
    private static let verifying: [String: any Sendable] = [
      "ambiguous": "verify", "verify": ["path": "/orders/{id}"], "attemptTimeoutMs": 400,
      "connectTimeoutMs": 400,
    ]
    private static let blocking: [String: any Sendable] = [
      "ambiguous": "block", "attemptTimeoutMs": 400, "connectTimeoutMs": 400,
    ]

    private func post(_ relay: Relay, _ path: String = "/orders") async throws -> String {
      let answer = try await relay.device().post(["path": path, "body": ["total": 12]])
      return try #require(answer.json()["id"] as? String)
    }

    private func get(_ relay: Relay, _ id: String) async throws -> [String: Any] {
      try await relay.device().get("/v1/envelopes/\(id)").json()
    }

    private func outcomes(_ envelope: [String: Any]) -> [String] {
      let attempts = envelope["attempts"] as? [[String: Any]] ?? []
      return attempts.compactMap { $0["outcome"] as? String }
    }

    private func methods(_ upstream: TestUpstream) -> [String] { upstream.received.map(\.method) }

    @Test("killed while the upstream had it, the relay asks, and does not send it again")
    func killedInTheMiddle() async throws {
      let upstream = try TestUpstream { _ in .never }
      let relay = try await Relay.started(
        upstream,
        upstreamMore: Self.verifying.merging(["attemptTimeoutMs": 60_000]) { _, given in given })
      let id = try await post(relay)
      try await upstream.received(count: 1)
      try await relay.kill()

      upstream.behave { _ in .answer(200, body: Array("order 7".utf8)) }
      try await relay.start()
      let end = try await relay.device().end(of: id)
      #expect(end["state"] as? String == "delivered" && end["inDoubt"] == nil)
      #expect((end["reason"] as? String)?.contains("it had arrived") == true)
      let asked = upstream.received[1]
      #expect(methods(upstream) == ["POST", "GET"] && asked.target == "/orders/\(id)")
      #expect(asked["Idempotency-Key"] == nil && asked["Waystation-Attempt"] == nil)
      let answer = try await relay.device().get("/v1/envelopes/\(id)/response")
      #expect(answer.body == Array("order 7".utf8))
    }

    @Test("what it has not got is sent again, also when a kill comes between")
    func notArrived() async throws {
      let upstream = try TestUpstream { $0.method == "POST" ? .never : .answer(503) }
      let relay = try await Relay.started(upstream, upstreamMore: Self.verifying)
      let id = try await post(relay)
      try await upstream.received("a question") { $0.last?.method == "GET" }
      let waiting = try await get(relay, id)
      #expect(outcomes(waiting) == ["ambiguous"])
      try await relay.kill()

      let sent = upstream.received.filter { $0.method == "POST" }.count
      #expect(sent == 1)
      upstream.behave { $0.method == "POST" ? .answer(201) : .answer(404) }
      try await relay.start()
      let end = try await relay.device().end(of: id)
      #expect(end["state"] as? String == "delivered")
      #expect(outcomes(end) == ["ambiguous", "delivered"])
      #expect(Array(methods(upstream).suffix(2)) == ["GET", "POST"])
      let posts = upstream.received.filter { $0.method == "POST" }
      #expect(posts.count == 2 && posts[0]["Idempotency-Key"] == posts[1]["Idempotency-Key"])
    }

    @Test("what waits to be asked for says so, and cannot be corrected")
    func inDoubt() async throws {
      let upstream = try TestUpstream { $0.method == "POST" ? .never : .answer(503) }
      let relay = try await Relay.started(
        upstream, upstreamMore: Self.verifying.merging(Relay.patient) { _, given in given })
      let id = try await post(relay)
      try await upstream.received(count: 1)
      var envelope = try await get(relay, id)
      while envelope["reason"] == nil { envelope = try await get(relay, id) }
      #expect(envelope["inDoubt"] as? Bool == true)
      #expect((envelope["reason"] as? String)?.contains("may have arrived") == true)
      let refused = try await relay.device().request(
        "PATCH", "/v1/envelopes/\(id)", headers: ["Content-Type": "application/merge-patch+json"],
        body: Device.json(["tag": "x"]))
      #expect(refused.status == 409)
      #expect(try refused.json()["type"] as? String == "urn:waystation:problem:in-doubt")
      try await relay.kill()
      try await relay.start()
      #expect(try await get(relay, id)["inDoubt"] as? Bool == true)
      upstream.behave { _ in .answer(204) }
      #expect(
        try await relay.device().request("POST", "/v1/envelopes/\(id)/run").status == 200)
      #expect(try await relay.device().end(of: id)["state"] as? String == "delivered")
      #expect(upstream.received.filter { $0.method == "POST" }.count == 1)
    }

    @Test("a lane that is to block does, over a kill, until somebody resolves it")
    func blocks() async throws {
      let upstream = try TestUpstream { _ in .never }
      let relay = try await Relay.started(upstream, upstreamMore: Self.blocking)
      let first = try await post(relay, "/first")
      let second = try await post(relay, "/second")
      let blocked = try await relay.device().end(of: first)
      #expect(blocked["state"] as? String == "blocked" && outcomes(blocked) == ["ambiguous"])
      try await relay.kill()

      upstream.behave { _ in .answer(200) }
      try await relay.start()
      #expect(try await get(relay, first)["state"] as? String == "blocked")
      #expect(upstream.received.count == 1)
      let resolved = try await relay.device().request(
        "POST", "/v1/envelopes/\(first)/resolve", headers: ["Content-Type": "application/json"],
        body: Device.json(["action": "retry"]))
      #expect(resolved.status == 200)
      #expect(try await relay.device().end(of: second)["state"] as? String == "delivered")
      #expect(upstream.received.map(\.target) == ["/first", "/first", "/second"])
    }

    @Test("a kill in the middle of an attempt blocks such a lane as well")
    func blocksAfterKill() async throws {
      let upstream = try TestUpstream { _ in .never }
      let relay = try await Relay.started(
        upstream,
        upstreamMore: Self.blocking.merging(["attemptTimeoutMs": 60_000]) { _, given in given })
      let id = try await post(relay)
      try await upstream.received(count: 1)
      try await relay.kill()
      try await relay.start()
      let blocked = try await relay.device().end(of: id)
      #expect(blocked["state"] as? String == "blocked")
      #expect((blocked["reason"] as? String)?.contains("may have arrived") == true)
      #expect(upstream.received.count == 1)
    }

    @Test("an attempt that a drain breaks off is one more attempt that did not finish")
    func drained() async throws {
      let upstream = try TestUpstream { _ in .never }
      let relay = try await Relay.started(upstream, more: ["shutdownGraceSeconds": 1])
      let id = try await post(relay)
      try await upstream.received(count: 1)
      relay.signal(SIGTERM)
      #expect(try await relay.ending() == .exit(0))

      upstream.behave { _ in .answer(200) }
      try await relay.start()
      let end = try await relay.device().end(of: id)
      #expect(end["attemptCount"] as? Int == 2)
      #expect(outcomes(end) == ["ambiguous", "delivered"])
      let attempts = try #require(end["attempts"] as? [[String: Any]])
      #expect((attempts[0]["error"] as? String)?.contains("broke the attempt off") == true)
      #expect(upstream.received.map { $0["Waystation-Attempt"] } == ["1", "2"])
    }
  }

  @Suite("Silence and progress", .serialized)
  struct Silence {
    @Test("an upstream that falls silent is given up, though the attempt has no end of its own")
    func idleTimeout() async throws {
      let upstream = try TestUpstream { _ in .never }
      let relay = try await Relay.started(
        upstream,
        upstreamMore: ["attemptTimeoutMs": NSNull() as any Sendable, "idleTimeoutMs": 300])
      let answer = try await relay.device().post(["path": "/"])
      let id = try #require(answer.json()["id"] as? String)
      try await upstream.received(count: 1)
      upstream.behave { _ in .answer(200) }
      try await upstream.received(count: 2)
      let end = try await relay.device().end(of: id)
      #expect(end["state"] as? String == "delivered")
      let attempts = try #require(end["attempts"] as? [[String: Any]])
      #expect((attempts[0]["error"] as? String)?.contains("no byte moved for 300 ms") == true)
    }

    @Test("while it is delivered, an envelope shows how far that has come")
    func progress() async throws {
      let upstream = try TestUpstream { _ in .never }
      let relay = try await Relay.started(upstream)
      let body = String(repeating: "x", count: 5000)
      let answer = try await relay.device().post(["path": "/", "body": body])
      let id = try #require(answer.json()["id"] as? String)
      try await upstream.received(count: 1)
      let envelope = try await relay.device().get("/v1/envelopes/\(id)").json()
      #expect(envelope["state"] as? String == "delivering")
      let progress = try #require(envelope["progress"] as? [String: Any])
      #expect(progress["sentBytes"] as? Int == 5000 && progress["bodyBytes"] as? Int == 5000)
      #expect(progress["receivedBytes"] as? Int == 0 && progress["startedAt"] is String)
      upstream.behave { _ in .answer(200) }
      try await relay.kill()
      try await relay.start()
      let end = try await relay.device().end(of: id)
      #expect(end["state"] as? String == "delivered" && end["progress"] == nil)
    }
  }
}
