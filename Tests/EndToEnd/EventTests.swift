import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("Events", .serialized)
  struct Events {
    private func id(_ answer: WireResponse) throws -> String {
      try #require(answer.json()["id"] as? String)
    }

    @Test("a listener is told how things stand, and then of each change as it happens")
    func told() async throws {
      let upstream = try TestUpstream { $0.target == "/no" ? .answer(422) : .answer(201) }
      let relay = try await Relay.started(upstream)
      let device = relay.device()
      let listener = try await Listener(relay)
      let snapshot = try await listener.first("snapshot")
      let status = try snapshot.json()["status"] as? [String: Any]
      #expect(status?["state"] as? String == "running")
      #expect(snapshot.id != nil)

      let good = try id(try await device.post(["path": "/yes", "lane": "photos"]))
      let delivered = try await listener.first("delivered")
      let json = try delivered.json()
      #expect(json["id"] as? String == good && json["client"] as? String == "device-1")
      #expect(json["lane"] as? String == "photos" && json["upstream"] as? String == "default")
      #expect(json["state"] as? String == "delivered" && json["at"] is String)
      #expect(json["attempt"] as? Int == 1 && json["status"] as? Int == 201)

      let bad = try id(try await device.post(["path": "/no", "onFailure": "block"]))
      let blocked = try await listener.first("blocked")
      #expect(blocked["id"] == bad && blocked["reason"] != nil)
      _ = try await device.request("DELETE", "/v1/envelopes/\(bad)")
      let cancelled = try await listener.first("cancelled")
      #expect(cancelled["state"] == "cancelled")
      _ = try await device.request("POST", "/v1/envelopes/\(bad)/requeue")
      try await listener.first("requeued")
      let held = try id(try await device.post(["path": "/", "lane": "h", "hold": true]))
      let accepted = try await listener.events("a held one") { events in
        events.contains { $0["state"] == "held" }
      }
      #expect(accepted.last { $0.name == "accepted" }?["id"] == held)
      _ = try await device.request("POST", "/v1/envelopes/\(held)/run")
      try await listener.first("released")
      #expect(listener.changes.first?.name == "accepted")
    }

    @Test(
      "over kill -9 a listener that comes back has seen every event once, and in order",
      .timeLimit(.minutes(2)))
    func everyEventOnce() async throws {
      let count = Monitor(0)
      // Every fifth attempt fails, so that there are retries among the events.
      let upstream = try TestUpstream { _ in
        count.change {
          $0 += 1
          return $0 % 5 == 0
        } ? .answer(503) : .answer(200)
      }
      let relay = try await Relay.started(upstream)
      var listener = try await Listener(relay)
      let start = try #require(try await listener.first("snapshot").id)
      var lastID = start
      var seen: [Listener.Event] = []
      var posted: Set<String> = []
      for round in 0..<4 {
        for index in 0..<40 {
          let answer = try await relay.device("device-\(index % 3)").post([
            "path": "/\(round)/\(index)"
          ])
          posted.insert(try id(answer))
        }
        try await relay.kill()
        try await listener.over()
        seen += listener.events
        lastID = listener.lastID ?? lastID
        try await relay.start()
        listener = try await Listener(relay, lastID: lastID)
      }
      let all = posted
      let before = seen
      try await listener.events("the end of each envelope", seconds: 40) { later in
        Set((before + later).filter { $0.name == "delivered" }.compactMap { $0["id"] }) == all
      }
      seen += listener.events
      let last = try #require(listener.lastID)

      let whole = try await Listener(relay, "?after=\(start)")
      let log = try await whole.events("the whole log") { $0.contains { $0.id == last } }
      #expect(!seen.dropFirst().contains { $0.name == "snapshot" || $0.name == "forgotten" })
      let changes = seen.dropFirst().filter { $0.name != "progress" }
      #expect(changes == log.filter { $0.name != "progress" })
      #expect(log.filter { $0.name == "started" }.count == 4)
      try checkLives(of: posted, in: log)
    }

    /// Each envelope is accepted once, then maybe tried some times, then delivered once.
    private func checkLives(of posted: Set<String>, in log: [Listener.Event]) throws {
      var names: [String: [String]] = [:]
      for event in log {
        if let id = event["id"] { names[id, default: []].append(event.name) }
      }
      #expect(Set(names.keys) == posted)
      for (id, names) in names {
        #expect(names.first == "accepted" && names.last == "delivered", "\(id): \(names)")
        #expect(names.dropFirst().dropLast().allSatisfy { $0 == "attempted" }, "\(id): \(names)")
      }
    }

    @Test("what is accepted while a listener is shown how things stand is shown there, or told")
    func nothingBetween() async throws {
      let relay = try await Relay.started(try TestUpstream())
      let isOver = Monitor(false)
      let device = relay.device("busy")
      @Sendable func post() async throws -> Int {
        var count = 0
        while !isOver.read({ $0 }) {
          let answer = try await device.post(["path": "/", "hold": true])
          #expect(answer.status == 202)
          count += 1
        }
        return count
      }
      async let posted = post()
      var listeners: [Listener] = []
      for _ in 0..<40 {
        let listener = try await Listener(relay, "?client=busy")
        try await listener.first("snapshot")
        listeners.append(listener)
      }
      isOver.change { $0 = true }
      let count = try await posted
      _ = try await device.request("POST", "/v1/clients/busy/pause")
      for listener in listeners {
        // Whatever it is to be told of lies before this.
        try await listener.first("paused")
        let snapshot = try await listener.first("snapshot").json()
        let shown = try #require((snapshot["client"] as? [String: Any])?["waiting"] as? Int)
        let told = listener.events.count { $0.name == "accepted" }
        #expect(shown + told >= count, "\(shown) shown and \(told) told of \(count)")
        listener.close()
      }
    }

    @Test("a filter lets pass what it names, and the snapshot is of that")
    func filters() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      let one = relay.device("one")
      let held = try id(try await one.post(["path": "/", "lane": "a", "hold": true]))
      let listeners = [
        try await Listener(relay, "?client=one"), try await Listener(relay, "?client=one&lane=b"),
        try await Listener(relay, "?envelope=\(held)"),
        try await Listener(relay, "?upstream=default"),
        try await Listener(relay, "?client=three"),
      ]
      var snapshots: [[String: Any]] = []
      for listener in listeners { snapshots.append(try await listener.first("snapshot").json()) }
      #expect((snapshots[0]["client"] as? [String: Any])?["waiting"] as? Int == 1)
      #expect((snapshots[2]["envelope"] as? [String: Any])?["state"] as? String == "held")
      #expect((snapshots[3]["upstream"] as? [String: Any])?["name"] as? String == "default")
      #expect((snapshots[4]["client"] as? [String: Any])?["client"] as? String == "three")

      _ = try await one.post(["path": "/", "lane": "b"])
      _ = try await relay.device("two").post(["path": "/", "lane": "b"])
      _ = try await one.request("POST", "/v1/clients/one/pause")
      _ = try await one.request("POST", "/v1/upstreams/default/pause")
      _ = try await relay.device("three").post(["path": "/"])
      _ = try await one.request("DELETE", "/v1/envelopes/\(held)")
      // Whatever each of them is to see lies before these.
      try await listeners[0].first("cancelled")
      try await listeners[1].first("delivered")
      try await listeners[2].first("cancelled")
      try await listeners[3].first("cancelled")
      try await listeners[4].first("accepted")
      // What was accepted a moment before the snapshot may be told once more behind it.
      func names(_ index: Int) -> [String] {
        listeners[index].changes.filter { $0.name != "accepted" || !$0.data.contains(held) }
          .map(\.name).sorted()
      }
      #expect(names(0) == ["accepted", "cancelled", "delivered", "paused"])
      #expect(names(1) == ["accepted", "delivered"])
      #expect(names(2) == ["cancelled"])
      let accepted = [String](repeating: "accepted", count: 3)
      #expect(names(3) == accepted + ["cancelled", "delivered", "delivered", "paused"])
      #expect(names(4) == ["accepted"])
    }

    @Test("pauses and an upstream's outage are told, also to whoever was away for a restart")
    func pausesAndOutage() async throws {
      let upstream = try TestUpstream()
      let reachability: [String: any Sendable] = ["firstProbeDelayMs": 20, "maxProbeDelayMs": 100]
      let relay = try await Relay.started(upstream, upstreamMore: ["reachability": reachability])
      let device = relay.device()
      let listener = try await Listener(relay)
      let start = try #require(try await listener.first("snapshot").id)
      upstream.stop()
      _ = try await device.post(["path": "/"])
      let away = try await listener.first("unreachable")
      #expect(away["upstream"] == "default" && away["reason"] != nil)
      try upstream.start()
      try await listener.first("reachable")
      _ = try await device.request("POST", "/v1/clients/\(device.name)/lanes/slow/pause")
      let paused = try await listener.first("paused")
      #expect(paused["client"] == device.name && paused["lane"] == "slow")
      try await relay.kill()
      try await relay.start()
      _ = try await relay.device().request(
        "POST", "/v1/clients/\(device.name)/lanes/slow/resume")
      let back = try await Listener(relay, lastID: start)
      try await back.first("resumed")
      #expect(
        Set(back.events.map(\.name)).isSuperset(of: [
          "unreachable", "reachable", "paused", "started", "resumed",
        ]))
    }

    @Test("whoever was away for longer than events are kept is told so, and how things stand")
    func forgotten() async throws {
      let upstream = try TestUpstream()
      let events: [String: any Sendable] = ["keptSeconds": 0]
      let relay = try await Relay.started(upstream, more: ["events": events])
      let listener = try await Listener(relay)
      let start = try #require(try await listener.first("snapshot").id)
      _ = try await relay.device().post(["path": "/"])
      try await listener.first("delivered")
      try await relay.kill()
      try await relay.start()
      let found = try await eventually("a log that was cut off") {
        let back = try await Listener(relay, lastID: start)
        let first = try await back.events("anything") { $0.count >= 2 }
        return first[0].name == "forgotten" ? first : nil
      }
      #expect(found[0]["lastSeen"] == start && found[0]["keptFrom"] != nil && found[0].id == nil)
      #expect(found[1].name == "snapshot")
      let foreign = try await Listener(relay, lastID: "00000000-1-0")
      #expect(try await foreign.events("anything") { $0.count >= 2 }.first?.name == "forgotten")
    }

    @Test(
      "what cannot be listened to is answered with a problem",
      arguments: [
        ("?envelope=nonsense", 404, "unknown-envelope"),
        ("?envelope=0199a3c2-5e10-7a41-8000-00004a41c0de", 404, "unknown-envelope"),
        ("?upstream=none", 422, "unknown-upstream"), ("?client=", 422, "invalid-field"),
        ("?lane=a%20b", 422, "invalid-field"), ("?cleint=a", 422, "unknown-field"),
        ("?client=a&client=b", 422, "invalid-field"), ("?after=12", 422, "invalid-field"),
      ])
    func refused(_ query: String, _ status: Int, _ problem: String) async throws {
      let relay = try await Relay.started(try TestUpstream())
      let answer = try await relay.device().get("/v1/events\(query)")
      #expect(answer.status == status && answer.problem == problem, "\(answer)")
      let bad = try await relay.device().get("/v1/events", headers: ["Last-Event-ID": "x"])
      #expect(bad.status == 422)
      #expect(try bad.json()["field"] as? String == "Last-Event-ID")
      let head = try await relay.device().request("HEAD", "/v1/events")
      #expect(head.status == 200 && head["Content-Type"] == "text/event-stream")
    }
  }
}
