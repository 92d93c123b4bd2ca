import Foundation
import Testing

extension EndToEnd {
  @Suite("Asking", .serialized)
  struct Asking {
    private let upstream: TestUpstream
    private let relay: Relay
    private let device: Device

    init() async throws {
      upstream = try TestUpstream()
      relay = try await Relay.started(upstream)
      device = relay.device()
    }

    @Test("an envelope shows where it is, and every attempt")
    func envelope() async throws {
      let upstream = upstream
      upstream.behave { _ in upstream.received.count < 2 ? .answer(503) : .answer(201) }
      let posted = try await device.post([
        "key": "k", "path": "/p?q", "method": "PUT", "lane": "l", "sequence": 1, "tag": "t",
        "body": "secret", "headers": ["Authorization": "secret"] as [String: any Sendable],
        "expiresAt": "2999-01-01T01:00:00+01:00",
      ])
      let id = try #require(posted.json()["id"] as? String)
      let answer = try await device.get("/v1/envelopes/\(id)?wait=20")
      #expect(answer.status == 200)
      #expect(!answer.text.contains("secret"))
      let envelope = try answer.json()
      #expect(envelope["id"] as? String == id)
      #expect(envelope["client"] as? String == "device-1")
      #expect(envelope["key"] as? String == "k")
      #expect(envelope["upstream"] as? String == "default")
      #expect(envelope["method"] as? String == "PUT")
      #expect(envelope["path"] as? String == "/p?q")
      #expect(envelope["lane"] as? String == "l")
      #expect(envelope["sequence"] as? Int == 1)
      #expect(envelope["tag"] as? String == "t")
      #expect(envelope["hold"] as? Bool == false)
      #expect(envelope["state"] as? String == "delivered")
      #expect(envelope["position"] == nil)
      #expect(envelope["onFailure"] as? String == "skip")
      #expect(envelope["expiresAt"] as? String == "2999-01-01T00:00:00.000Z")
      #expect(envelope["endedAt"] is String)
      #expect(envelope["attemptCount"] as? Int == 2)
      #expect(envelope["responseStatus"] as? Int == 201)
      #expect(envelope["bodyBytes"] as? Int == 6)
      let attempts = try #require(envelope["attempts"] as? [[String: Any]])
      #expect(attempts.map { $0["number"] as? Int } == [1, 2])
      #expect(attempts.map { $0["outcome"] as? String } == ["unreachable", "delivered"])
      #expect(attempts.map { $0["status"] as? Int } == [503, 201])
    }

    @Test("the upstream's answer can be fetched, and is told apart from the relay's own")
    func response() async throws {
      upstream.behave { _ in
        .answer(
          404,
          fields: [
            WireField(name: "Content-Type", value: "text/html"),
            WireField(name: "Set-Cookie", value: "a=b"), WireField(name: "X-Mine", value: "1"),
          ], body: Array("gone".utf8))
      }
      let posted = try await device.post(["path": "/"])
      let id = try #require(posted.json()["id"] as? String)
      #expect(try await device.end(of: id)["state"] as? String == "failed")
      let answer = try await device.get("/v1/envelopes/\(id)/response")
      #expect(answer.status == 200)
      #expect(answer.text == "gone")
      #expect(answer["Waystation-Upstream-Status"] == "404")
      #expect(answer["Waystation-Response-Truncated"] == nil)
      #expect(answer["Content-Type"] == "text/html")
      #expect(answer["X-Mine"] == "1")
      #expect(answer["Set-Cookie"] == nil)
      #expect(answer["X-Content-Type-Options"] == "nosniff")
    }

    @Test("an answer that is too long is cut, and says so")
    func truncated() async throws {
      let body = [UInt8](repeating: 65, count: 200_000)
      upstream.behave { _ in .answer(200, body: body) }
      let posted = try await device.post(["path": "/"])
      let id = try #require(posted.json()["id"] as? String)
      #expect(try await device.end(of: id)["state"] as? String == "delivered")
      let answer = try await device.get("/v1/envelopes/\(id)/response")
      #expect(answer["Waystation-Response-Truncated"] == "true")
      #expect(answer.body == Array(body[..<(64 * 1024)]))
    }

    @Test("before the upstream has answered there is no response")
    func noResponseYet() async throws {
      upstream.behave { _ in .never }
      let posted = try await device.post(["path": "/"])
      let id = try #require(posted.json()["id"] as? String)
      let answer = try await device.get("/v1/envelopes/\(id)/response")
      #expect(answer.status == 404)
      #expect(answer.problem == "no-response-yet")
    }

    @Test("a client shows its lanes, and where it is to go on")
    func client() async throws {
      upstream.behave { $0.target == "/stuck" ? .never : .answer(200) }
      let done = try await device.post(["path": "/done", "lane": "a", "sequence": 1])
      _ = try await device.end(of: try #require(done.json()["id"] as? String))
      let stuck = try await device.post(["path": "/stuck", "lane": "a", "sequence": 2])
      _ = try await device.post(["path": "/behind", "lane": "a"])
      let held = try await device.post(["path": "/held", "lane": "h", "hold": true])
      #expect(try held.json()["state"] as? String == "held")
      _ = try await upstream.received(count: 2)

      let client = try await device.get("/v1/clients/device-1").json()
      #expect(client["client"] as? String == "device-1")
      #expect(client["waiting"] as? Int == 3)
      let states = try #require(client["states"] as? [String: Int])
      #expect(states["delivering"] == 1)
      #expect(states["queued"] == 1)
      #expect(states["held"] == 1)
      #expect(states["delivered"] == 1)
      let lanes = try #require(client["lanes"] as? [[String: Any]])
      #expect(lanes.map { $0["name"] as? String } == ["a", "h"])
      #expect(lanes.map { $0["state"] as? String } == ["delivering", "held"])
      #expect(lanes.map { $0["waiting"] as? Int } == [2, 1])
      #expect(lanes[0]["lastSequence"] as? Int == 2)
      #expect(lanes[0]["head"] as? String == (try stuck.json()["id"] as? String))
      #expect((lanes[0]["ended"] as? [String: Int])?["delivered"] == 1)
      let unknown = try await device.get("/v1/clients/nobody")
      #expect(unknown.status == 404)
      #expect(unknown.problem == "unknown-client")
      #expect((try unknown.json()["fix"] as? String)?.hasPrefix("Correct the name.") == true)
    }

    @Test("status shows the store, the upstreams, rates, blocked lanes and backlogs")
    func status() async throws {
      let posted = try await device.post(["path": "/"])
      _ = try await device.end(of: try #require(posted.json()["id"] as? String))
      let answer = try await device.get("/status")
      #expect(answer.status == 200)
      #expect(answer["Cache-Control"] == "no-store")
      let status = try answer.json()
      #expect(status["state"] as? String == "running")
      #expect(status["version"] is String)
      #expect(status["uptimeSeconds"] is Int)
      let store = try #require(status["store"] as? [String: Any])
      #expect((store["envelopes"] as? [String: Int])?["delivered"] == 1)
      #expect(store["trouble"] == nil)
      let upstreams = try #require(status["upstreams"] as? [[String: Any]])
      #expect(upstreams.map { $0["name"] as? String } == ["default"])
      #expect(upstreams[0]["reachable"] as? Bool == true)
      #expect(upstreams[0]["url"] as? String == upstream.url)
      #expect((status["rates"] as? [String: Any])?["windowSeconds"] as? Int == 60)
      #expect(status["blockedLaneCount"] as? Int == 0)
      #expect((status["backlogs"] as? [Any])?.isEmpty == true)
    }

    @Test("the upstreams are listed by themselves as status has them")
    func upstreams() async throws {
      let answer = try await device.get("/v1/upstreams")
      #expect(answer.status == 200 && answer["Cache-Control"] == "no-store")
      let listed = try #require(answer.json()["upstreams"] as? [[String: Any]])
      #expect(listed.map { $0["name"] as? String } == ["default"])
      #expect(listed[0]["paused"] as? Bool == false && listed[0]["waiting"] as? Int == 0)
      _ = try await device.request("POST", "/v1/upstreams/default/pause")
      _ = try await device.post(["path": "/"])
      let paused = try await device.get("/v1/upstreams").json()
      let status = try await device.get("/status").json()
      let shown = try #require((paused["upstreams"] as? [[String: Any]])?.first)
      #expect(shown["paused"] as? Bool == true && shown["waiting"] as? Int == 1)
      #expect(
        (paused["upstreams"] as? [NSDictionary]) == (status["upstreams"] as? [NSDictionary]))
      #expect(Set(paused.keys) == ["upstreams"])
    }

    @Test("health and readiness are answered")
    func health() async throws {
      let health = try await device.get("/healthz")
      #expect(health.status == 200)
      #expect(health.text == #"{"status":"ok"}"#)
      let ready = try await device.get("/readyz")
      #expect(ready.status == 200)
      #expect(ready.text == #"{"status":"ready"}"#)
    }

    @Test(
      "HEAD has the header of GET and no body",
      arguments: ["/status", "/metrics", "/healthz", "/readyz"])
    func head(target: String) async throws {
      let get = try await device.get(target)
      let head = try await device.request("HEAD", target)
      #expect(head.status == get.status)
      #expect(head["Content-Type"] == get["Content-Type"])
      #expect(head["Content-Length"] != nil)
      // Had a body come, the next answer on this connection would begin with it.
      #expect(try await device.get("/healthz").status == 200)
    }

    @Test("what does not exist is 404, and a method that a route has not is 405")
    func unknown() async throws {
      let nowhere = try await device.get("/v1/nowhere")
      #expect(nowhere.status == 404)
      #expect(nowhere.problem == "not-found")
      let method = try await device.request("DELETE", "/status")
      #expect(method.status == 405)
      #expect(method.problem == "method-not-allowed")
      #expect(method["Allow"]?.contains("GET") == true)
      for id in ["0199a3c2-5e10-7a41-8000-00004a41c0de", "no-id"] {
        let envelope = try await device.get("/v1/envelopes/\(id)")
        #expect(envelope.status == 404)
        #expect(envelope.problem == "unknown-envelope")
      }
      let posted = try await device.post(["path": "/"])
      let id = try #require(posted.json()["id"] as? String)
      for wait in ["soon", "-1", "61"] {
        let answer = try await device.get("/v1/envelopes/\(id)?wait=\(wait)")
        #expect(answer.status == 422)
        #expect(answer.problem == "invalid-field")
      }
    }

    @Test("what is no proper HTTP is refused, and the connection closed")
    func malformed() async throws {
      let cases = [
        "GET /healthz HTTP/1.1\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET /healthz HTTP/1.1\nHost: a\n\n",
        "POST /v1/envelopes HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost : a\r\n\r\n",
      ]
      for bytes in cases {
        let answer = try await relay.device().raw(Array(bytes.utf8))
        #expect(answer.status == 400, "\(bytes)")
        #expect(answer.problem == "malformed-request", "\(bytes)")
        #expect(answer["Connection"]?.lowercased() == "close", "\(bytes)")
      }
      #expect(try await device.get("/healthz").status == 200)
    }
  }
}
