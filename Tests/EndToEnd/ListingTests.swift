import Foundation
import Testing

extension EndToEnd {
  @Suite("Listing", .serialized)
  struct Listing {
    private let upstream: TestUpstream
    private let relay: Relay

    init() async throws {
      upstream = try TestUpstream()
      relay = try await Relay.started(upstream)
    }

    /// A device with a connection of its own, which no restart has cut.
    private var device: Device { relay.device() }

    private func post(_ envelope: [String: any Sendable]) async throws -> String {
      try #require(try await device.post(envelope).json()["id"] as? String)
    }

    /// One page: the ids, and where it goes on.
    private func page(_ query: String) async throws -> (ids: [String], next: String?) {
      let answer = try await device.get("/v1/envelopes?\(query)")
      #expect(answer.status == 200, "\(answer.text)")
      let json = try answer.json()
      let envelopes = try #require(json["envelopes"] as? [[String: Any]])
      return (envelopes.compactMap { $0["id"] as? String }, json["next"] as? String)
    }

    /// The ids of all pages.
    private func all(_ query: String) async throws -> [String] {
      var ids: [String] = []
      var page = try await page(query)
      ids += page.ids
      while let next = page.next {
        page = try await self.page("\(query)&cursor=\(next)")
        ids += page.ids
      }
      return ids
    }

    private func ask(_ body: [String: any Sendable]) async throws -> WireResponse {
      try await device.request(
        "POST", "/v1/envelopes/query", headers: ["Content-Type": "application/json"],
        body: Device.json(body))
    }

    @Test("a list goes out whole to a peer that has ended its side of the connection")
    func halfClosed() async throws {
      let batch = (0..<50).map { ["path": "/\($0)", "hold": true] as [String: any Sendable] }
      #expect(try await device.post(batch: batch).status == 202)
      let question = Array("GET /v1/envelopes HTTP/1.1\r\nHost: relay\r\n\r\n".utf8)
      for _ in 0..<30 {
        let answer = try await onThread { [relay] in
          let connection = try Connection(port: relay.port)
          try connection.write(question)
          connection.endOutput()
          return try connection.readResponse(to: "GET")
        }
        let envelopes = try #require(try answer.json()["envelopes"] as? [[String: Any]])
        #expect(envelopes.count == 50)
      }
    }

    @Test("paging goes on over a restart, without a gap and without a repeat")
    func restart() async throws {
      let results = try #require(
        try await device.post(
          batch: (0..<25).map { index in
            ["path": "/\(index)", "hold": true, "lane": "lane-\(index % 3)", "key": "k\(index)"]
          }
        ).json()["results"] as? [[String: Any]])
      let ids = results.compactMap { $0["id"] as? String }
      #expect(ids.count == 25)
      var found: [String] = []
      var next: String?
      repeat {
        let cursor = next.map { "&cursor=\($0)" } ?? ""
        let page = try await page("client=device-1&state=held&limit=10\(cursor)")
        found += page.ids
        next = page.next
        try await relay.kill()
        try await relay.start()
        if found.count == 10 {
          // What ends behind and before the place changes nothing else.
          for index in [3, 12] {
            _ = try await device.request("DELETE", "/v1/envelopes/\(ids[index])")
          }
        }
      } while next != nil
      #expect(found == ids.filter { $0 != ids[12] })
      #expect(try await all("state=cancelled&limit=1") == [ids[3], ids[12]])
      #expect(
        try await all("client=device-1&lane=lane-1&limit=2")
          == stride(from: 1, to: 25, by: 3).map { ids[$0] })
    }

    @Test("filters combine, and a summary shows all but the attempts")
    func filters() async throws {
      upstream.behave { $0.target == "/bad" ? .answer(422) : .answer(200) }
      let good = try await post(["path": "/good", "tag": "t"])
      let bad = try await post(["path": "/bad", "lane": "l", "sequence": 1, "body": "secret"])
      let held = try await post(["path": "/held", "hold": true, "tag": "t"])
      _ = try await device.end(of: good)
      _ = try await device.end(of: bad)
      #expect(try await all("") == [good, bad, held])
      #expect(try await all("tag=t") == [good, held])
      #expect(try await all("tag=t&state=held") == [held])
      #expect(try await all("state=failed&state=held") == [bad, held])
      #expect(try await all("state=failed,held&lane=l&upstream=default") == [bad])
      #expect(try await all("client=nobody").isEmpty)
      #expect(try await all("upstream=other").isEmpty)

      let answer = try await device.get("/v1/envelopes?lane=l")
      #expect(!answer.text.contains("secret"))
      let envelopes = try #require(answer.json()["envelopes"] as? [[String: Any]])
      let whole = try await device.get("/v1/envelopes/\(bad)").json()
      let names = Set(whole.keys).subtracting(["attempts"])
      #expect(Set(envelopes[0].keys).subtracting(["lastError"]) == names)
      for name in names { #expect("\(envelopes[0][name]!)" == "\(whole[name]!)", "\(name)") }
    }

    @Test("what is being delivered is listed as that")
    func delivering() async throws {
      upstream.behave { _ in .never }
      let head = try await post(["path": "/1"])
      let behind = try await post(["path": "/2"])
      _ = try await upstream.received(count: 1)
      #expect(try await all("state=delivering") == [head])
      #expect(try await all("state=queued") == [behind])
      #expect(try await all("state=queued,delivering") == [head, behind])
      let answer = try await ask(["ids": [head, behind]]).json()
      let results = try #require(answer["results"] as? [[String: Any]])
      #expect(results.map { $0["state"] as? String } == ["delivering", "queued"])
    }

    @Test("a failed attempt's error is shown")
    func lastError() async throws {
      upstream.stop()
      let id = try await post(["path": "/"])
      try await eventually("an attempt that failed") {
        let json = try await device.get("/v1/envelopes").json()
        let envelope = (json["envelopes"] as? [[String: Any]])?.first
        #expect(envelope?["id"] as? String == id)
        return (envelope?["lastError"] as? String)?.isEmpty == false ? true : nil
      }
    }

    @Test("what became of many is answered at once, over a restart")
    func query() async throws {
      upstream.behave { $0.target == "/bad" ? .answer(422) : .answer(201) }
      let good = try await post(["path": "/good", "key": "good"])
      let bad = try await post(["path": "/bad", "key": "bad"])
      let held = try await post(["path": "/held", "hold": true])
      _ = try await device.end(of: bad)
      let unknown = "0199a3c2-5e10-7a41-8000-00004a41c0de"
      for _ in 0..<2 {
        let answer = try await ask([
          "ids": [held, unknown, good], "client": "device-1", "keys": ["bad", "nothing"],
        ])
        #expect(answer.status == 200)
        let results = try #require(answer.json()["results"] as? [[String: Any]])
        try #require(results.count == 5)
        #expect(results.map { $0["found"] as? Bool } == [true, false, true, true, false])
        #expect(results.prefix(3).map { $0["id"] as? String } == [held, unknown, good])
        #expect(results[3]["key"] as? String == "bad" && results[3]["id"] as? String == bad)
        #expect(results[0]["state"] as? String == "held" && results[0]["endedAt"] == nil)
        #expect(results[2]["state"] as? String == "delivered")
        #expect(results[2]["responseStatus"] as? Int == 201)
        #expect(results[3]["state"] as? String == "failed" && results[3]["endedAt"] is String)
        #expect(results[3]["attemptCount"] as? Int == 1 && results[3]["reason"] is String)
        #expect(results[1].count == 2 && results[4].count == 2)
        try await relay.kill()
        try await relay.start()
      }
    }

    @Test("what cannot be listed or asked is refused in words")
    func refused() async throws {
      _ = try await post(["path": "/1", "hold": true])
      _ = try await post(["path": "/2", "hold": true])
      let next = try #require(try await page("state=held&limit=1").next)
      for (query, problem, field) in [
        ("clent=a", "unknown-field", "clent"), ("limit=201", "invalid-field", "limit"),
        ("state=waiting", "invalid-field", "state"), ("cursor=x", "invalid-field", "cursor"),
        ("state=queued&cursor=\(next)", "invalid-field", "cursor"),
      ] {
        let answer = try await device.get("/v1/envelopes?\(query)")
        #expect(answer.status == 422, "\(query)")
        #expect(answer.problem == problem, "\(query)")
        #expect(try answer.json()["field"] as? String == field, "\(query)")
      }
      let empty = try await ask([:])
      #expect(empty.status == 422)
      #expect(empty.problem == "missing-field")
      let type = try await device.request(
        "POST", "/v1/envelopes/query", headers: ["Content-Type": "text/plain"], body: [0x7B])
      #expect(type.status == 415)
      #expect(try await device.request("HEAD", "/v1/envelopes").status == 200)
    }
  }
}
