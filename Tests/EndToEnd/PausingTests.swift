import Foundation
import Testing

extension EndToEnd {
  @Suite("Pausing", .serialized)
  struct Pausing {
    private let upstream: TestUpstream
    private let relay: Relay

    init() async throws {
      upstream = try TestUpstream()
      relay = try await Relay.started(upstream)
    }

    private var device: Device { relay.device() }

    /// Asks for something that has no body, and expects the answer 200.
    private func ask(_ target: String) async throws -> [String: Any] {
      let answer = try await device.request("POST", target)
      #expect(answer.status == 200, "\(target)")
      return try answer.json()
    }

    private func post(_ path: String, lane: String = "default") async throws -> String {
      let answer = try await device.post(["path": path, "lane": lane])
      return try #require(answer.json()["id"] as? String)
    }

    private var targets: [String] { upstream.received.map(\.target) }

    @Test("a paused lane takes envelopes and stands still over a restart, beside one that moves")
    func lane() async throws {
      let client = "/v1/clients/\(device.name)"
      #expect(try await ask("\(client)/lanes/slow/pause")["paused"] as? Bool == true)
      let paused = try await post("/paused", lane: "slow")
      let other = try await post("/other")
      #expect(try await device.end(of: other)["state"] as? String == "delivered")
      try await relay.kill()
      try await relay.start()
      let later = try await post("/later")
      #expect(try await device.end(of: later)["state"] as? String == "delivered")
      #expect(targets == ["/other", "/later"])
      let lanes = try await device.get(client).json()["lanes"] as? [[String: Any]]
      let slow = try #require(lanes?.first { $0["name"] as? String == "slow" })
      #expect(slow["paused"] as? Bool == true && slow["state"] as? String == "paused")
      #expect(try await ask("\(client)/lanes/slow/resume")["paused"] as? Bool == false)
      #expect(try await device.end(of: paused)["state"] as? String == "delivered")
    }

    @Test("a client or a lane may be paused ahead, and the answer says that none was known")
    func ahead() async throws {
      let client = "/v1/clients/newcomer"
      let lane = "\(client)/lanes/telemetri"
      #expect(try await ask("\(lane)/pause") as NSDictionary == ["paused": true, "known": false])
      #expect(try await ask("\(lane)/pause") as NSDictionary == ["paused": true, "known": true])
      let resumed = try await ask("\(client)/resume")
      #expect(resumed as NSDictionary == ["paused": false, "known": true])
      #expect(try await ask("/v1/clients/other/pause")["known"] as? Bool == false)
      #expect(try await ask("/v1/upstreams/default/pause") as NSDictionary == ["paused": true])
    }

    @Test("a paused client's lanes all stand still, and go on in order when it is resumed")
    func client() async throws {
      let client = "/v1/clients/\(device.name)"
      _ = try await ask("\(client)/pause")
      let first = try await post("/1")
      let second = try await post("/2")
      let photo = try await post("/photo", lane: "photos")
      #expect(try await device.get(client).json()["paused"] as? Bool == true)
      #expect(targets.isEmpty)
      _ = try await ask("\(client)/resume")
      for id in [first, second, photo] {
        #expect(try await device.end(of: id)["state"] as? String == "delivered")
      }
      #expect(targets.filter { $0 != "/photo" } == ["/1", "/2"])
    }

    @Test("nothing is sent to a paused upstream, and all that waited once it is resumed")
    func pausedUpstream() async throws {
      _ = try await ask("/v1/upstreams/default/pause")
      let id = try await post("/1")
      try await relay.kill()
      try await relay.start()
      let shown = try await device.get("/status").json()["upstreams"] as? [[String: Any]]
      #expect(shown?.first?["paused"] as? Bool == true)
      #expect(targets.isEmpty)
      _ = try await ask("/v1/upstreams/default/resume")
      #expect(try await device.end(of: id)["state"] as? String == "delivered")
    }

    @Test("a probe that is asked for finds an upstream that is back")
    func probe() async throws {
      #expect(try await ask("/v1/upstreams/default/probe")["reachable"] as? Bool == true)
      #expect(try await device.request("POST", "/v1/upstreams/none/probe").status == 404)
    }

    @Test("what a reachable upstream made wait is tried when somebody asks for it")
    func probeReachable() async throws {
      // The first three requests meet trouble, whenever their answers are made.
      let troubles = Monitor(3)
      let upstream = try TestUpstream { _ in
        .answer(
          troubles.change { left in
            defer { left -= 1 }
            return left > 0 ? 502 : 200
          })
      }
      let relay = try await Relay.started(upstream, upstreamMore: Relay.patient)
      let device = relay.device()
      for number in 0..<3 {
        _ = try await device.post(["path": "/\(number)", "lane": "l-\(number)"])
      }
      _ = try await upstream.received(count: 3)
      try await eventually("all are tried again") {
        let answer = try await device.request("POST", "/v1/upstreams/default/probe").json()
        #expect(answer["reachable"] as? Bool == true)
        return Set(upstream.received.dropFirst(3).map(\.target)).count == 3 ? true : nil
      }
    }
  }
}
