import Foundation
import Testing

extension EndToEnd {
  @Suite("Coalescing", .serialized)
  struct Coalescing {
    private let upstream: TestUpstream
    private let relay: Relay

    init() async throws {
      upstream = try TestUpstream()
      relay = try await Relay.started(upstream)
    }

    private var device: Device { relay.device() }

    private func post(_ text: String, _ more: [String: any Sendable] = [:]) async throws
      -> [String: Any]
    {
      let envelope: [String: any Sendable] = ["path": "/state", "coalesce": "state", "body": text]
      let answer = try await device.post(envelope.merging(more) { _, given in given })
      #expect(answer.status == 202)
      return try answer.json()
    }

    private func restart() async throws {
      try await relay.kill()
      try await relay.start()
    }

    private var bodies: [String] { upstream.received.map(\.message.text) }

    @Test("the latest content takes the waiting one's place and position, over a restart")
    func replaced() async throws {
      #expect(
        try await device.request("POST", "/v1/upstreams/default/pause").status == 200)
      let first = try await post("1", ["key": "k1"])
      #expect(first["result"] as? String == "accepted")
      let id = try #require(first["id"] as? String)
      let next = try await device.post(["path": "/next"]).json()
      try await restart()
      let second = try await post("2", ["key": "k2", "tag": "t"])
      #expect(second["result"] as? String == "coalesced" && second["id"] as? String == id)
      #expect(second["position"] as? Int == 1 && second["key"] as? String == "k2")
      try await restart()
      // What was posted is known again, and changes nothing.
      for key in ["k1", "k2"] {
        let again = try await post(
          key == "k1" ? "1" : "2", key == "k1" ? ["key": key] : ["key": key, "tag": "t"])
        #expect(again["result"] as? String == "duplicate" && again["id"] as? String == id)
        let found = try await device.get("/v1/clients/device-1/envelopes/\(key)").json()
        #expect(found["id"] as? String == id && found["coalesce"] as? String == "state")
      }
      let conflict = try await device.post([
        "path": "/state", "coalesce": "state", "body": "3", "key": "k1",
      ])
      #expect(conflict.problem == "key-conflict")
      #expect(
        try await device.request("POST", "/v1/upstreams/default/resume").status == 200)
      let last = try #require(next["id"] as? String)
      #expect(try await device.end(of: last)["state"] as? String == "delivered")
      #expect(try await device.end(of: id)["tag"] as? String == "t")
      #expect(upstream.received.map(\.target) == ["/state", "/next"] && bodies[0] == "2")
    }

    @Test("one more follows what is being delivered, and the upstream can tell them apart")
    func follows() async throws {
      upstream.behave { $0.message.text == "1" ? .never : .answer(200) }
      let first = try await post("1")
      try await upstream.received(count: 1)
      let second = try await post("2")
      #expect(second["result"] as? String == "accepted")
      #expect(second["id"] as? String != first["id"] as? String)
      let third = try await post("3")
      #expect(third["result"] as? String == "coalesced")
      #expect(third["id"] as? String == second["id"] as? String)
      // The attempt is cut off, and nobody knows whether the first content has arrived.
      upstream.behave { _ in .answer(503) }
      try await restart()
      let fourth = try await post("4")
      upstream.behave { _ in .answer(200) }
      let id = try #require(fourth["id"] as? String)
      #expect(try await device.end(of: id)["state"] as? String == "delivered")
      #expect(bodies.last == "4" && !bodies.contains("2"))
      let names = Dictionary(grouping: upstream.received) { $0["Idempotency-Key"] }
      for requests in names.values { #expect(Set(requests.map(\.message.text)).count == 1) }
    }

    @Test("a batch and the relay route coalesce as well, and a large body lets go of the old one")
    func otherWays() async throws {
      #expect(
        try await device.request("POST", "/v1/clients/device-1/pause").status == 200)
      let item: [String: any Sendable] = ["path": "/state", "coalesce": "state"]
      let batch = try await device.post(batch: [
        item.merging(["body": "1"]) { $1 }, ["path": "/x", "lane": "other"],
        item.merging(["body": "2"]) { $1 },
      ])
      let results = try #require(try batch.json()["results"] as? [[String: Any]])
      #expect(results.map { $0["result"] as? String } == ["accepted", "accepted", "coalesced"])
      #expect(results[0]["id"] as? String == results[2]["id"] as? String)
      for size in [400_000, 300_000] {
        let relayed = try await device.relay(
          "PUT", "/state",
          headers: ["Waystation-Coalesce": "state", "Idempotency-Key": "k\(size)"],
          body: [UInt8](repeating: 0x61, count: size))
        #expect(relayed.status == 202)
        #expect(try relayed.json()["result"] as? String == "coalesced")
      }
      try await restart()
      if StoreEngine.hasFiles {
        let folder = relay.folder.path + "/data/bodies"
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 1)
      }
      #expect(
        try await device.request("POST", "/v1/clients/device-1/resume").status == 200)
      let received = try await upstream.received(count: 2)
      let state = try #require(received.first { $0.target == "/state" })
      #expect(state.method == "PUT" && state.body.count == 300_000)
      #expect(state["Idempotency-Key"] == "k300000" && state["Waystation-Coalesce"] == nil)
    }

    @Test("of many posts while the relay is killed, the latest that was acknowledged arrives last")
    func latest() async throws {
      upstream.behave { _ in .answer(200, delayMs: 3) }
      var acknowledged = -1
      for round in 0..<4 {
        // The plug is pulled in the middle of posting.
        let relay = relay
        let killer = Task {
          try await upstream.received(count: round * 5 + 2)
          try await relay.kill()
        }
        var number = round * 1000
        while let answer = try? await device.post([
          "path": "/state", "coalesce": "state", "body": "\(number)", "key": "k\(number)",
        ]) {
          #expect(answer.status == 202)
          acknowledged = number
          number += 1
        }
        try await killer.value
        try await relay.start()
      }
      let found = try await device.get("/v1/clients/device-1/envelopes/k\(acknowledged)").json()
      let id = try #require(found["id"] as? String)
      #expect(try await device.end(of: id)["state"] as? String == "delivered")
      // A post that got no answer may have come after it.
      let last = try #require(bodies.last.flatMap { Int($0) })
      #expect(last == acknowledged || last == acknowledged + 1)
    }

    @Test("what counts its envelopes does not coalesce, and the name is there to stay")
    func refused() async throws {
      let both = try await device.post([
        "path": "/", "coalesce": "c", "sequence": 1,
      ])
      #expect(both.status == 422)
      #expect(both.problem == "invalid-field")
      #expect(try both.json()["field"] as? String == "/coalesce")
      let relayed = try await device.relay(
        "POST", "/x", headers: ["Waystation-Coalesce": "c", "Waystation-Sequence": "1"])
      #expect(relayed.status == 422)
      #expect(try relayed.json()["field"] as? String == "Waystation-Coalesce")
      let held = try #require(try await post("1", ["hold": true])["id"] as? String)
      let patch = try await device.request(
        "PATCH", "/v1/envelopes/\(held)", headers: ["Content-Type": "application/json"],
        body: Device.json(["coalesce": "other"]))
      #expect(patch.status == 422)
      #expect(try patch.json()["field"] as? String == "/coalesce")
    }
  }
}
