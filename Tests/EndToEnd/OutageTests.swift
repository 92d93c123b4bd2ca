import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("An upstream that is away", .serialized)
  struct Outage {
    private let reachability: [String: any Sendable] = [
      "firstProbeDelayMs": 20, "maxProbeDelayMs": 200,
    ]

    @Test("nothing is lost, the order holds, and it goes on by itself")
    func awayAndBack() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream, upstreamMore: ["reachability": reachability])
      let device = relay.device()
      let lanes = ["a", "b", "c"]
      try await post(0..<5, lanes, device)
      try await eventually("the first fifteen stored as delivered") {
        let shown = try await Self.upstream(device)
        return shown["waiting"] as? Int == 0 ? true : nil
      }

      upstream.stop()
      try await post(5..<25, lanes, device)
      let away = try await eventually("an unreachable upstream in the status") {
        let shown = try await Self.upstream(device)
        return shown["reachable"] as? Bool == false ? shown : nil
      }
      #expect(away["waiting"] as? Int == 60)
      #expect(away["lastError"] is String)
      #expect(away["since"] is String)

      try upstream.start()
      let received = try await upstream.received(count: 75)
      for lane in lanes {
        let own = received.map(\.target).filter { $0.hasPrefix("/\(lane)/") }
        #expect(own == (0..<25).map { "/\(lane)/\($0)" })
      }
      try await eventually("a reachable upstream with nothing waiting") {
        let shown = try await Self.upstream(device)
        return shown["reachable"] as? Bool == true && shown["waiting"] as? Int == 0 ? true : nil
      }
    }

    @Test("an outage that outlasts the relay's own restart costs nothing")
    func restartDuringOutage() async throws {
      let upstream = try TestUpstream()
      upstream.stop()
      let relay = try await Relay.started(upstream, upstreamMore: ["reachability": reachability])
      try await post(0..<10, ["a"], relay.device())
      try await relay.kill()
      try await relay.start()
      try await post(10..<20, ["a"], relay.device())
      try upstream.start()
      let received = try await upstream.received(count: 20)
      #expect(received.map(\.target) == (0..<20).map { "/a/\($0)" })
    }

    @Test("Retry-After is honoured")
    func retryAfter() async throws {
      let upstream = try TestUpstream()
      upstream.behave { _ in
        upstream.received.count == 1
          ? .answer(503, fields: [WireField(name: "Retry-After", value: "2")]) : .answer(200)
      }
      let relay = try await Relay.started(upstream)
      let device = relay.device()
      let posted = try await device.post(["path": "/"])
      let id = try #require(posted.json()["id"] as? String)
      try await upstream.received(count: 1)
      let began = Date()
      #expect(try await device.end(of: id)["state"] as? String == "delivered")
      #expect(Date().timeIntervalSince(began) > 1.5)
    }

    @Test("past its deadline an envelope expires, and its lane goes on")
    func deadline() async throws {
      let upstream = try TestUpstream()
      upstream.behave { $0.target == "/late" ? .answer(503) : .answer(200) }
      let relay = try await Relay.started(upstream)
      let device = relay.device()
      let soon = Date(timeIntervalSinceNow: 1).ISO8601Format()
      let late = try await device.post(["path": "/late", "expiresAt": soon])
      let next = try await device.post(["path": "/next"])
      let id = try #require(late.json()["id"] as? String)
      let expired = try await device.end(of: id)
      #expect(expired["state"] as? String == "expired")
      #expect(expired["reason"] is String)
      let nextID = try #require(next.json()["id"] as? String)
      #expect(try await device.end(of: nextID)["state"] as? String == "delivered")
    }

    private func post(_ range: Range<Int>, _ lanes: [String], _ device: Device) async throws {
      for index in range {
        let answer = try await device.post(
          batch: lanes.map { ["path": "/\($0)/\(index)", "lane": $0] })
        #expect(answer.status == 202)
      }
    }

    private static func upstream(_ device: Device) async throws -> [String: Any] {
      let status = try await device.get("/status").json()
      return try #require((status["upstreams"] as? [[String: Any]])?.first)
    }
  }

  @Suite("Trouble stays where it is", .serialized)
  struct Trouble {
    @Test("a dead upstream and a poisoned lane slow nobody else down")
    func deadAndPoisoned() async throws {
      let healthy = try TestUpstream {
        $0.target.hasPrefix("/poison") ? .answer(400) : .answer(200)
      }
      let dead = try TestUpstream()
      dead.stop()
      let relay = try Relay(upstreams: [
        "default": Relay.quick(healthy), "dead": Relay.quick(dead),
      ])
      try await relay.start()
      let device = relay.device()
      for index in 0..<10 {
        _ = try await device.post(["path": "/dead/\(index)", "upstream": "dead", "lane": "dead"])
      }
      let poison = try await device.post([
        "path": "/poison", "lane": "poisoned", "onFailure": "block",
      ])
      let behind = try await device.post(["path": "/behind", "lane": "poisoned"])
      for index in 0..<20 { _ = try await device.post(["path": "/fine/\(index)"]) }
      let other = relay.device("device-2")
      for index in 0..<20 { _ = try await other.post(["path": "/other/\(index)"]) }

      let received = try await healthy.received(count: 41)
      #expect(
        received.map(\.target).filter { $0.hasPrefix("/fine") } == (0..<20).map { "/fine/\($0)" })
      #expect(
        received.map(\.target).filter { $0.hasPrefix("/other") } == (0..<20).map { "/other/\($0)" })
      #expect(!received.map(\.target).contains("/behind"))

      let id = try #require(poison.json()["id"] as? String)
      let blocked = try await device.end(of: id)
      #expect(blocked["state"] as? String == "blocked")
      #expect(blocked["responseStatus"] as? Int == 400)
      let waiting = try await device.get(
        "/v1/envelopes/\(try #require(behind.json()["id"] as? String))"
      ).json()
      #expect(waiting["state"] as? String == "queued")
      #expect(waiting["position"] as? Int == 2)
      let status = try await device.get("/status").json()
      #expect(status["blockedLaneCount"] as? Int == 1)
      let lanes = try #require(status["blockedLanes"] as? [[String: Any]])
      #expect(lanes.first?["lane"] as? String == "poisoned")
      #expect(lanes.first?["envelope"] as? String == id)
      let backlogs = try #require(status["backlogs"] as? [[String: Any]])
      #expect(backlogs.first?["waiting"] as? Int == 12)
    }

    @Test("under the policy skip a refused envelope fails, and its lane goes on")
    func skip() async throws {
      let upstream = try TestUpstream { $0.target == "/bad" ? .answer(400) : .answer(200) }
      let relay = try await Relay.started(upstream)
      let device = relay.device()
      let bad = try await device.post(["path": "/bad"])
      _ = try await device.post(["path": "/good"])
      #expect(try await upstream.received(count: 2).map(\.target) == ["/bad", "/good"])
      let failed = try await device.end(of: try #require(bad.json()["id"] as? String))
      #expect(failed["state"] as? String == "failed")
      #expect(failed["attemptCount"] as? Int == 1)
    }

    @Test("a slow upstream takes its own slots and no others")
    func slow() async throws {
      let slow = try TestUpstream { _ in .never }
      let healthy = try TestUpstream()
      let relay = try Relay(upstreams: [
        "default": Relay.quick(healthy), "slow": Relay.quick(slow, ["maxConcurrent": 2]),
      ])
      try await relay.start()
      let device = relay.device()
      for index in 0..<8 {
        _ = try await device.post([
          "path": "/\(index)", "upstream": "slow", "lane": "slow-\(index)",
        ])
      }
      try await slow.received(count: 2)
      let posted = try await device.relay("GET", "/quick", headers: ["Prefer": "wait=20"])
      #expect(posted.status == 200)
      #expect(slow.received.count == 2)
    }

    @Test("a client with many waiting does not hold up one with a single envelope")
    func fairness() async throws {
      let gate = Monitor(false)
      let upstream = try TestUpstream { _ in
        _ = gate.block(seconds: 30) { $0 ? true : nil }
        return .answer(200)
      }
      let relay = try await Relay.started(upstream, upstreamMore: ["maxConcurrent": 1])
      let flood = relay.device("flood")
      for start in 0..<4 {
        _ = try await flood.post(
          batch: (0..<100).map { ["path": "/flood", "lane": "\(start)-\($0)"] })
      }
      _ = try await relay.device("single").post(["path": "/single"])
      gate.change { $0 = true }
      let received = try await upstream.received("the single one") { requests in
        requests.contains { $0.target == "/single" }
      }
      let place = received.firstIndex { $0.target == "/single" } ?? received.count
      #expect(place < 10, "it came as number \(place + 1)")
    }
  }
}
