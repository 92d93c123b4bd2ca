import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("A machine's clock that is set", .serialized)
  struct Clock {
    private static let retry: [String: any Sendable] = [
      "firstDelayMs": 10, "maxDelayMs": 100, "factor": 2,
    ]
    private static let reachability: [String: any Sendable] = [
      "firstProbeDelayMs": 10, "maxProbeDelayMs": 100,
    ]
    private static let ahead = "the clock was set ahead, which does not count yet"
    private static let counts = "the clock was set ahead, and counts now"

    private func relay(
      _ upstream: TestUpstream, _ clock: FakeClock, _ more: [String: any Sendable] = [:]
    ) throws -> Relay {
      let upstreams: [String: [String: any Sendable]] = [
        "default": [
          "url": upstream.url, "retry": Self.retry, "reachability": Self.reachability,
          "retryAfterMaxSeconds": 1,
        ]
      ]
      return try Relay(upstreams: upstreams, more: more, environment: clock.environment)
    }

    /// Waits until the relay has seen what the clock shows.
    private func seen(_ line: String, _ relay: Relay) async throws {
      let device = relay.device("onlooker")
      try await eventually("\"\(line)\" in the log") {
        _ = try await device.get("/healthz")
        _ = try await device.get("/status")
        return relay.log.contains(line) ? true : nil
      }
    }

    @Test("steps of days and years under load cost no order, no envelope and no rest")
    func underLoad() async throws {
      let upstream = try TestUpstream { request in
        // Every fifth first attempt is told to come again.
        request["Waystation-Attempt"] == "1" && request.target.hasSuffix("5")
          ? .answer(503, fields: [WireField(name: "Retry-After", value: "0")]) : .answer(200)
      }
      let clock = try FakeClock()
      let relay = try relay(upstream, clock, ["events": ["heartbeatSeconds": 1]])
      try await relay.start()
      let steps = [
        FakeClock.day, 0, 10 * FakeClock.year, -FakeClock.day, -2 * FakeClock.day, 0,
        -Int(Date().timeIntervalSince1970), 0, FakeClock.year, -3600, 90, 0,
      ]
      let lanes = ["a", "b", "c", "d"]
      var ids: [String] = []
      for (round, step) in steps.enumerated() {
        try clock.set(ahead: step)
        for part in 0..<5 {
          let answer = try await relay.device().post(
            batch: lanes.map { ["path": "/\($0)/\(round * 5 + part)", "lane": $0] })
          let results = try #require(answer.json()["results"] as? [[String: Any]])
          ids += results.compactMap { $0["id"] as? String }
        }
      }
      let count = steps.count * 5 * lanes.count
      #expect(Set(ids).count == count)
      let received = try await upstream.received("all of them", seconds: 30) {
        Set($0.map(\.target)).count == count
      }
      for lane in lanes {
        var firsts: [String] = []
        for target in received.map(\.target) where target.hasPrefix("/\(lane)/") {
          if firsts.last != target { firsts.append(target) }
        }
        #expect(firsts == (0..<(steps.count * 5)).map { "/\(lane)/\($0)" })
      }
      try await restsWithClockAstray(relay, clock)
      let view = try await relay.device().get("/v1/clients/device-1").json()
      #expect((view["states"] as? [String: Int])?["delivered"] == count)
      relay.signal(SIGTERM)
      #expect(try await relay.ending() == .exit(0))
    }

    /// Nothing turns in circles, wherever the clock stands.
    private func restsWithClockAstray(_ relay: Relay, _ clock: FakeClock) async throws {
      for step in [10 * FakeClock.year, -FakeClock.day, 0] {
        try clock.set(ahead: step)
        let listener = try await Listener(relay)
        try await listener.signs(count: 1)
        let before = try #require(ProcessFigures(of: relay.processNumber))
        try await listener.signs(count: 2)
        let after = try #require(ProcessFigures(of: relay.processNumber))
        #expect(after.processorSeconds - before.processorSeconds < 0.5)
        listener.close()
      }
    }

    @Test(
      "a step ahead that is taken back ends nothing, though the relay is killed meanwhile",
      .ofFiles)
    func takenBack() async throws {
      let upstream = try TestUpstream()
      let clock = try FakeClock()
      let relay = try relay(upstream, clock)
      try await relay.start()
      let delivered = try await relay.device().relay(
        "POST", "/early", headers: ["Prefer": "wait=20"])
      #expect(delivered.status == 200)
      upstream.stop()
      let posted = try await relay.device().post(["path": "/late"])
      let id = try #require(posted.json()["id"] as? String)

      for _ in 0..<2 {
        try clock.set(ahead: 10 * FakeClock.year)
        try await seen(Self.ahead, relay)
        try await relay.kill()
        try await relay.start()
        try await seen(Self.ahead, relay)
        let waiting = try await relay.device().get("/v1/envelopes/\(id)").json()
        #expect(["queued", "delivering"].contains(waiting["state"] as? String))
        try clock.set(ahead: 0)
        try await seen("the clock is back where it was", relay)
      }
      // Retention has had its round at each start, and has left what was delivered.
      let states = try await relay.device().get("/v1/clients/device-1").json()["states"]
      #expect((states as? [String: Int])?["delivered"] == 1)
      try upstream.start()
      #expect(try await relay.device().end(of: id)["state"] as? String == "delivered")
    }

    @Test("a step ahead that lasts counts, and deadlines go by it")
    func lasts() async throws {
      let upstream = try TestUpstream()
      upstream.stop()
      let clock = try FakeClock()
      let relay = try relay(upstream, clock, ["clock": ["settleSeconds": 1]])
      try await relay.start()
      let posted = try await relay.device().post(["path": "/late"])
      let id = try #require(posted.json()["id"] as? String)
      try clock.set(ahead: 8 * FakeClock.day)
      try await seen(Self.counts, relay)
      #expect(try await relay.device().end(of: id)["state"] as? String == "expired")
    }

    /// A time of day so many seconds from now by the right clock.
    private func time(inSeconds seconds: Double) -> String {
      ISO8601DateFormatter().string(from: Date(timeIntervalSinceNow: seconds))
    }

    @Test("a time that a sender asked for comes with the clock, though nobody looks at the relay")
    func notBeforeAhead() async throws {
      let upstream = try TestUpstream()
      let clock = try FakeClock()
      let relay = try relay(upstream, clock, ["clock": ["settleSeconds": 1]])
      try await relay.start()
      let posted = try await relay.device().post([
        "path": "/later", "notBefore": time(inSeconds: 3600),
      ])
      #expect(posted.status == 202)
      try clock.set(ahead: 7200)
      try await upstream.received(count: 1, seconds: 25)
      // The line may come a moment later.
      try await seen(Self.counts, relay)
    }

    @Test("and with a clock that is set back as much later, and not when it was to come")
    func notBeforeBack() async throws {
      let upstream = try TestUpstream()
      let clock = try FakeClock()
      try clock.set(ahead: 3600)
      let relay = try relay(upstream, clock, ["clock": ["settleSeconds": 1]])
      try await relay.start()
      let device = relay.device()
      let first = try await device.post([
        "path": "/first", "lane": "a", "notBefore": time(inSeconds: 3602),
      ])
      #expect(first.status == 202)
      try clock.set(ahead: 0)
      try await relay.log(holds: "the clock was set back")
      let second = try await device.post([
        "path": "/second", "lane": "b", "notBefore": time(inSeconds: 4),
      ])
      #expect(second.status == 202)
      // When the second one comes, the first one would have come as it stood at first.
      try await upstream.received(count: 1)
      #expect(upstream.received.map(\.target) == ["/second"])
      try clock.set(ahead: 3700)
      #expect(try await upstream.received(count: 2, seconds: 25).last?.target == "/first")
    }

    @Test(
      "a step ahead that counts makes what was delivered before it no older, over restarts too",
      .ofFiles)
    func keepsDelivered() async throws {
      let upstream = try TestUpstream()
      let clock = try FakeClock()
      let relay = try relay(
        upstream, clock,
        ["clock": ["settleSeconds": 1], "retention": ["failedSeconds": 1]])
      try await relay.start()
      let kept = try await relay.device().post(["path": "/kept", "key": "kept"])
      let keptID = try #require(kept.json()["id"] as? String)
      #expect(try await relay.device().end(of: keptID)["state"] as? String == "delivered")
      let brief = try await relay.device().post(["path": "/brief", "hold": true])
      let briefID = try #require(brief.json()["id"] as? String)
      let cancelled = try await relay.device().request("DELETE", "/v1/envelopes/\(briefID)")
      #expect(cancelled.status == 200)
      try clock.set(ahead: 60 * FakeClock.day)
      try await seen(Self.counts, relay)
      // Each start begins with a round of retention, which comes to the later one last.
      try await relay.kill()
      try clock.set(ahead: 120 * FakeClock.day)
      try await relay.start()
      try await eventually("what is kept for a second is forgotten") {
        try await relay.device().get("/v1/envelopes/\(briefID)").status == 404 ? true : nil
      }
      try await seen(Self.counts, relay)
      try await relay.kill()
      try await relay.start()
      #expect(try await relay.device().get("/v1/envelopes/\(keptID)").status == 200)
      let again = try await relay.device().post(["path": "/kept", "key": "kept"])
      #expect(try again.json()["id"] as? String == keptID)
    }

    @Test("what is accepted while a step ahead is doubted is not ended by it once it counts")
    func acceptedMeanwhile() async throws {
      let upstream = try TestUpstream()
      let clock = try FakeClock()
      let relay = try Relay(
        upstreams: [
          "default": [
            "url": upstream.url, "retry": Self.retry, "reachability": Self.reachability,
            "deadlineSeconds": 60,
          ]
        ],
        more: [
          "clock": ["settleSeconds": 2],
          "lanes": [
            "brief": ["ttlSeconds": 60], "patient": ["gapTimeoutSeconds": 60],
            "hasty": ["gapTimeoutSeconds": 1],
          ],
        ], environment: clock.environment)
      try await relay.start()
      upstream.stop()
      try await numbered(2, in: "patient", relay)
      try clock.set(ahead: 3600)
      try await seen(Self.ahead, relay)
      let device = relay.device()
      var ids: [String] = []
      for lane in ["default", "brief"] {
        let posted = try await device.post(["path": "/\(lane)", "lane": lane])
        ids.append(try #require(posted.json()["id"] as? String))
      }
      let relayed = try await device.relay("POST", "/relayed")
      ids.append(try #require(relayed.json()["id"] as? String))
      try await numbered(3, in: "patient", relay)
      try await seen(Self.counts, relay)

      // The one lane gives up what it waits for, and the other does not.
      try await numbered(2, in: "hasty", relay)
      try await eventually("a gap given up") {
        relay.log.contains("lane goes on without missing sequence numbers") ? true : nil
      }
      try await numbered(1, in: "patient", relay)
      try upstream.start()
      for id in ids {
        #expect(try await relay.device().end(of: id)["state"] as? String == "delivered")
      }
      let received = try await upstream.received("all of them", seconds: 10) { $0.count == 7 }
      #expect(
        received.map(\.target).filter { $0.hasPrefix("/patient") }
          == ["/patient/1", "/patient/2", "/patient/3"])
    }

    /// Posts an envelope that has a number, and a deadline that no step of an hour reaches.
    private func numbered(_ number: Int, in lane: String, _ relay: Relay) async throws {
      let posted = try await relay.device().post(
        [
          "path": "/\(lane)/\(number)", "lane": lane, "sequence": number,
          "expiresAt": "2999-01-01T00:00:00Z",
        ])
      #expect(posted.status == 202, "number \(number)")
    }

    @Test("a clock that was set back while the relay was down puts no retry off")
    func setBackOverRestart() async throws {
      let isBusy = Monitor(true)
      let upstream = try TestUpstream { _ in
        isBusy.read({ $0 })
          ? .answer(503, fields: [WireField(name: "Retry-After", value: "1")]) : .answer(200)
      }
      let clock = try FakeClock()
      try clock.set(ahead: FakeClock.year)
      let relay = try relay(upstream, clock)
      try await relay.start()
      let posted = try await relay.device().post(["path": "/again"])
      let id = try #require(posted.json()["id"] as? String)
      try await upstream.received(count: 1)
      try await eventually("the first attempt on record") {
        let envelope = try await relay.device().get("/v1/envelopes/\(id)").json()
        return envelope["attemptCount"] as? Int == 1 ? true : nil
      }
      try await relay.kill()
      isBusy.change { $0 = false }
      try clock.set(ahead: 0)
      try await relay.start()
      #expect(try await relay.device().end(of: id)["state"] as? String == "delivered")
    }

    @Test("what was accepted before the clock was ever set does not expire when it is")
    func startsIn1970() async throws {
      let upstream = try TestUpstream()
      upstream.stop()
      let clock = try FakeClock()
      try clock.setToEpoch()
      let relay = try relay(upstream, clock)
      try await relay.start()
      let id = try #require(
        try await relay.device().post(["path": "/first"]).json()["id"] as? String)
      let first = try await relay.device().get("/v1/envelopes/\(id)").json()
      #expect((first["expiresAt"] as? String)?.hasPrefix("9999-12-31T") == true)
      try clock.set(ahead: 0)
      try await seen(Self.counts, relay)
      _ = try await relay.device().post(["path": "/second"])
      try upstream.start()
      #expect(try await relay.device().end(of: id)["state"] as? String == "delivered")
      #expect(try await upstream.received(count: 2).map(\.target) == ["/first", "/second"])
    }
  }
}
