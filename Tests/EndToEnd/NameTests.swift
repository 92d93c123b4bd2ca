import Foundation
import Testing

extension EndToEnd {
  @Suite("Names that are not used any more")
  struct Names {
    private static let limits: [String: any Sendable] = [
      "limits": ["clientLanesMax": 100, "clientsMax": 2] as [String: any Sendable]
    ]
    /// Nothing that has ended is kept, and no event.
    private static let keepsNothing = limits.merging([
      "retention": ["deliveredSeconds": 0, "failedSeconds": 0] as [String: any Sendable],
      "events": ["keptSeconds": 0] as [String: any Sendable],
    ]) { given, _ in given }

    private func isFull(
      _ answer: WireResponse, _ limit: String, field: String?
    ) throws -> Bool {
      let problem = try answer.json()
      return answer.status == 429 && answer.problem == "too-many-names"
        && problem["limit"] as? String == limit && problem["field"] as? String == field
        && problem["fix"] != nil && (120...360).contains(Int(answer["Retry-After"] ?? "") ?? 0)
    }

    /// The names of a client's lanes.
    private func lanes(_ relay: Relay, of client: String = "device-1") async throws -> [String] {
      let answer = try await relay.device().get("/v1/lanes?client=\(client)").json()
      let lanes = try #require(answer["lanes"] as? [[String: Any]])
      return lanes.compactMap { $0["lane"] as? String }
    }

    @Test("a client that names more lanes than it may is told so wherever it names one")
    func refused() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream, more: Self.limits)
      let device = relay.device()
      let batch = try await device.post(batch: (0..<200).map { ["path": "/", "lane": "l\($0)"] })
      let results = try #require(try batch.json()["results"] as? [[String: Any]])
      #expect(
        results.map { $0["result"] as? String }
          == (0..<200).map { $0 < 100 ? "accepted" : "rejected" })
      let problem = try #require(results[199]["problem"] as? [String: Any])
      #expect(problem["limit"] as? String == "clientLanes" && problem["max"] as? Int == 100)
      let single = try await device.post(["path": "/", "lane": "new"])
      #expect(try isFull(single, "clientLanes", field: "/lane"))
      let relayed = try await device.relay("POST", "/", headers: ["Waystation-Lane": "new"])
      #expect(try isFull(relayed, "clientLanes", field: "Waystation-Lane"))
      let none = try await device.post(
        batch: ["a", "b"].map { ["path": "/", "lane": $0] })
      #expect(try isFull(none, "clientLanes", field: "/lane"))
      let paused = try await device.request("POST", "/v1/clients/device-1/lanes/new/pause")
      #expect(try isFull(paused, "clientLanes", field: nil))
      #expect(try await device.post(["path": "/", "lane": "l7"]).status == 202)
      #expect(try await relay.device("neighbour").post(["path": "/"]).status == 202)
      let third = try await relay.device("third").post(["path": "/"])
      #expect(try isFull(third, "clients", field: "/client"))
      let metrics = try await device.get("/metrics").text
      #expect(metrics.contains("waystation_known_lanes 101"))
      #expect(metrics.contains("waystation_known_clients 2"))
      #expect(metrics.contains(#"waystation_quota_refusals_total{limit="clientLanes"} 105"#))
    }

    @Test("lanes are forgotten once nothing of them is kept, but for those with sequence numbers")
    func forgotten() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream, more: Self.limits)
      let device = relay.device()
      let items: [[String: any Sendable]] = (0..<99).map { ["path": "/", "lane": "l\($0)"] }
      let numbered: [String: any Sendable] = ["path": "/n", "lane": "numbers", "sequence": 1]
      let batch = try await device.post(batch: items + [numbered])
      let results = try #require(try batch.json()["results"] as? [[String: Any]])
      let ids = results.compactMap { $0["id"] as? String }
      #expect(ids.count == 100)
      for id in ids { #expect(try await device.end(of: id)["state"] as? String == "delivered") }
      #expect(try await device.post(["path": "/", "lane": "new"]).status == 429)
      try await relay.kill()
      try relay.configure(
        upstreams: ["default": Relay.quick(upstream)], more: Self.keepsNothing)
      try await relay.start()
      try await eventually("forgetting") {
        try await lanes(relay) == ["numbers"] ? true : nil
      }
      // All of it is there to be used again, the same names and others; what is a repeat is known.
      let later = relay.device()
      let again = try await later.post(batch: items.suffix(50) + [numbered])
      let second = try #require(try again.json()["results"] as? [[String: Any]])
      #expect(
        second.map { $0["result"] as? String }
          == [String](repeating: "accepted", count: 50) + ["duplicate"])
      // What was delivered is forgotten at any moment; what waits is not.
      _ = try await later.request("POST", "/v1/upstreams/default/pause")
      for index in 0..<49 {
        #expect(try await later.post(["path": "/", "lane": "m\(index)"]).status == 202)
      }
      #expect(try await later.post(["path": "/", "lane": "one-more"]).status == 429)
      let next = try await later.post(["path": "/n", "lane": "numbers", "sequence": 2])
      #expect(next.status == 202)
      _ = try await later.request("POST", "/v1/upstreams/default/resume")
      _ = try await upstream.received(count: 200)
    }
  }
}
