import Foundation
import Testing

extension EndToEnd {
  @Suite("A client's own", .serialized)
  struct Own {
    @Test("a client is listed, told and counted its own alone")
    func lists() async throws {
      let relay = try await Relay.guarded(try TestUpstream())
      let (a, b) = (
        relay.device("a", token: try await relay.token(["client": "a"]).text),
        relay.device("b", token: try await relay.token(["client": "b"]).text)
      )
      for number in 1...3 { _ = try await a.post(["path": "/\(number)", "hold": true]) }
      let own = try await b.request(
        "POST", "/v1/envelopes", headers: ["Content-Type": "application/json"],
        body: Array(#"{"path": "/mine", "hold": true}"#.utf8))
      let id = try #require(try own.json()["id"] as? String)
      for target in ["/v1/envelopes", "/v1/envelopes?client=b", "/v1/envelopes?state=held"] {
        let list = try #require(try await b.get(target).json()["envelopes"] as? [[String: Any]])
        #expect(list.compactMap { $0["id"] as? String } == [id], "\(target)")
      }
      // Another's cursor leads nowhere.
      let page = try await a.get("/v1/envelopes?limit=1").json()
      let cursor = try #require(page["next"] as? String)
      #expect(try await b.get("/v1/envelopes?limit=1&cursor=\(cursor)").status == 422)
      let mixed = try await b.request(
        "POST", "/v1/envelopes/query", headers: ["Content-Type": "application/json"],
        body: Device.json(["ids": [id]]))
      #expect(mixed.text.contains(#""found":true"#))
      let check = try await b.request(
        "POST", "/v1/checkin", headers: ["Content-Type": "application/json"],
        body: Array("{}".utf8))
      #expect(try check.status == 200 && check.json()["client"] as? String == "b")
    }

    @Test("of a batch what names another client is refused, and the rest is taken")
    func batches() async throws {
      let relay = try await Relay.guarded(try TestUpstream())
      let b = relay.device("b", token: try await relay.token(["client": "b"]).text)
      let answer = try await b.request(
        "POST", "/v1/envelopes", headers: ["Content-Type": "application/json"],
        body: Array(#"[{"path": "/1"}, {"path": "/2", "client": "a"}, {"path": "/3"}]"#.utf8))
      #expect(answer.status == 202)
      let results = try #require(try answer.json()["results"] as? [[String: Any]])
      #expect(results.map { $0["result"] as? String } == ["accepted", "rejected", "accepted"])
      let problem = results[1]["problem"] as? [String: Any]
      #expect(problem?["type"] as? String == "urn:waystation:problem:forbidden")
      #expect(problem?["status"] as? Int == 403)
    }

    @Test("keys, numbers, coalescing and references reach no other client's envelopes")
    func names() async throws {
      let upstream = try TestUpstream { request in
        request.target == "/secret"
          ? .answer(200, body: Array(#"{"x":"theirs"}"#.utf8)) : .answer(200)
      }
      let relay = try await Relay.guarded(upstream)
      let (a, b) = (
        relay.device("a", token: try await relay.token(["client": "a"]).text),
        relay.device("b", token: try await relay.token(["client": "b"]).text)
      )
      let secret = try await a.post(["path": "/secret", "key": "k", "sequence": 1])
      _ = try await a.end(of: try #require(try secret.json()["id"] as? String))
      _ = try await a.post(["path": "/old", "coalesce": "c", "hold": true, "lane": "l"])
      let sameKey = try await b.post(["path": "/mine", "key": "k", "sequence": 1, "lane": "n"])
      #expect(try sameKey.status == 202 && sameKey.json()["result"] as? String == "accepted")
      let same = try await b.post(["path": "/new", "coalesce": "c", "hold": true, "lane": "l"])
      #expect(try same.json()["result"] as? String == "accepted")
      let referring = try await b.post(
        ["path": "/use/{{response:k2#/x}}", "references": true, "lane": "r"])
      let id = try #require(try referring.json()["id"] as? String)
      _ = try await a.post(["path": "/secret", "key": "k2"])
      let end = try await b.end(of: id)
      #expect(end["state"] as? String == "failed")
      #expect(!upstream.received.contains { $0.target.contains("theirs") })
    }

    @Test("a client hears of its own alone, also from where another's stream left off")
    func events() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.guarded(upstream)
      let tokens = (
        try await relay.token(["client": "a"]).text, try await relay.token(["client": "b"]).text
      )
      let theirs = try await Listener(relay, token: tokens.0)
      let listener = try await Listener(relay, token: tokens.1)
      let snapshot = try await listener.first("snapshot").json()
      #expect(snapshot["status"] == nil && snapshot["client"] != nil)
      try await theirs.first("snapshot")
      let a = relay.device("a", token: tokens.0)
      _ = try await a.post(["path": "/1"])
      try await theirs.first("delivered")
      let lastID = try #require(theirs.lastID)
      _ = try await a.post(["path": "/2"])
      _ = try await relay.steering.request("POST", "/v1/upstreams/default/pause")
      _ = try await relay.steering.request("POST", "/v1/upstreams/default/resume")
      let resumed = try await Listener(relay, lastID: lastID, token: tokens.1)
      _ = try await relay.device("b", token: tokens.1).post(["path": "/mine"])
      for heard in [listener, resumed] {
        try await heard.first("delivered")
        #expect(heard.changes.allSatisfy { $0["client"] == "b" }, "\(heard.changes)")
      }
      #expect(upstream.received.count == 3)
    }
  }
}
