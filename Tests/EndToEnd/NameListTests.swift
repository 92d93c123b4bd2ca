import Foundation
import Testing

extension EndToEnd {
  @Suite("Lists of clients and lanes", .serialized)
  struct NameLists {
    private func list(
      _ relay: Relay, _ name: String, _ query: String = ""
    ) async throws -> (rows: [[String: Any]], next: String?) {
      let answer = try await relay.device().get("/v1/\(name)\(query)")
      #expect(answer.status == 200, "\(answer)")
      let json = try answer.json()
      return (try #require(json[name] as? [[String: Any]]), json["next"] as? String)
    }

    /// Three clients: one with a blocked lane and one that is held, one paused, one with nothing.
    private func world() async throws -> (relay: Relay, blocked: String) {
      let upstream = try TestUpstream { $0.target == "/no" ? .answer(422) : .answer(200) }
      let relay = try await Relay.started(upstream)
      let (truck, van) = (relay.device("truck-1"), relay.device("van"))
      let refused = try await truck.post(["path": "/no", "onFailure": "block", "lane": "photos"])
      let id = try #require(try refused.json()["id"] as? String)
      #expect(try await truck.end(of: id)["state"] as? String == "blocked")
      for _ in 0..<2 { _ = try await truck.post(["path": "/later", "hold": true]) }
      let sent = try await van.post(["path": "/yes"])
      _ = try await van.end(of: try #require(try sent.json()["id"] as? String))
      for target in ["/v1/clients/truck-2/pause", "/v1/clients/truck-2/lanes/slow/pause"] {
        #expect(try await relay.device().request("POST", target).status == 200)
      }
      return (relay, id)
    }

    @Test("clients are found by how their names begin, with what waits and what stands")
    func clients() async throws {
      let (relay, _) = try await world()
      let trucks = try await list(relay, "clients", "?search=truck-").rows
      #expect(trucks.map { $0["client"] as? String } == ["truck-1", "truck-2"])
      #expect(trucks.map { $0["waiting"] as? Int } == [3, 0])
      #expect(trucks.map { $0["blocked"] as? Int } == [1, nil])
      #expect(trucks.map { $0["paused"] as? Bool } == [false, true])
      #expect(trucks[0]["oldestWaitingAt"] is String && trucks[1]["oldestWaitingAt"] == nil)
      var names: [String] = []
      var query = "?limit=1"
      while true {
        let page = try await list(relay, "clients", query)
        names += page.rows.compactMap { $0["client"] as? String }
        guard let next = page.next else { break }
        query = "?limit=1&after=\(next)"
      }
      #expect(names == ["truck-1", "truck-2", "van"])
      #expect(try await list(relay, "clients", "?search=x").rows.isEmpty)
    }

    @Test("lanes are found by how they stand, also after a restart")
    func lanes() async throws {
      let (relay, id) = try await world()
      for _ in 0..<2 {
        let blocked = try await list(relay, "lanes", "?state=blocked").rows
        #expect(blocked.map { $0["lane"] as? String } == ["photos"], "\(relay.log)")
        let head = try #require(blocked.first?["blocked"] as? [String: Any])
        #expect(head["envelope"] as? String == id && head["since"] is String)
        #expect((head["reason"] as? String)?.contains("422") == true)
        let own = try await list(relay, "lanes", "?state=blocked&client=truck-1").rows
        #expect(own.count == 1 && own[0]["blocked"] != nil)
        #expect(try await list(relay, "lanes", "?state=blocked&client=van").rows.isEmpty)
        let paused = try await list(relay, "lanes", "?state=paused").rows
        #expect(paused.map { $0["lane"] as? String } == ["slow"])
        let waiting = try await list(relay, "lanes", "?state=waiting").rows
        #expect(waiting.map { $0["lane"] as? String } == ["photos", "default"])
        #expect(waiting.map { $0["waiting"] as? Int } == [1, 2])
        #expect(try await list(relay, "lanes", "?client=van").rows.count == 1)
        try await relay.kill()
        try await relay.start()
      }
    }

    @Test("lanes come page by page, and a query that makes no sense is refused")
    func pages() async throws {
      let (relay, _) = try await world()
      for filter in ["", "&state=waiting", "&client=truck-1", "&client=truck-1&state=waiting"] {
        var count = 0
        var query = "?limit=1\(filter)"
        while true {
          let page = try await list(relay, "lanes", query)
          count += page.rows.count
          guard let next = page.next else { break }
          query = "?limit=1\(filter)&after=\(next)"
        }
        #expect(count == (filter.isEmpty ? 4 : 2), "\(filter)")
      }
      for target in [
        "/v1/lanes?state=held", "/v1/lanes?after=a", "/v1/lanes?client=", "/v1/lanes?lane=x",
        "/v1/clients?search=", "/v1/clients?search=%20", "/v1/clients?limit=201",
      ] {
        #expect(try await relay.device().get(target).status == 422, "\(target)")
      }
    }
  }
}
