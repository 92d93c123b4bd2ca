import Foundation
import Testing

extension EndToEnd {
  @Suite("History", .serialized)
  struct History {
    /// What the charts show.
    private struct Shown {
      var stepSeconds: Int
      var from: String
      var points: [[String: Any]]

      /// What was accepted, delivered and failed in all.
      var sums: [Int] {
        ["accepted", "delivered", "failed"].map { name in
          points.reduce(0) { $0 + ($1[name] as? Int ?? 0) }
        }
      }
    }

    private func shown(_ relay: Relay, _ query: String = "") async throws -> Shown {
      let answer = try await relay.device().get("/v1/history\(query)")
      #expect(answer.status == 200, "\(answer)")
      let json = try answer.json()
      return Shown(
        stepSeconds: try #require(json["stepSeconds"] as? Int),
        from: try #require(json["from"] as? String),
        points: try #require(json["points"] as? [[String: Any]]))
    }

    /// Waits until so many are of minutes that are over, and on disk.
    private func onDisk(_ relay: Relay, _ sums: [Int]) async throws {
      let lines = { relay.log.components(separatedBy: "the history was written").count }
      var before = 0
      try await eventually("the minute is over", seconds: 90) {
        let count = lines()
        if try await shown(relay).sums == sums { return true }
        before = count
        return nil
      }
      try await eventually("it is written") { lines() > before ? true : nil }
    }

    @Test("a minute's figures are there after SIGTERM and kill -9, by upstream and for all")
    func survives() async throws {
      let upstream = try TestUpstream { request in
        .answer(request.target.hasPrefix("/refuse") ? 422 : 200)
      }
      let clock = try FakeClock()
      let quick = Relay.quick(upstream)
      let relay = try Relay(
        upstreams: ["default": quick, "other": quick], more: ["log": ["level": "debug"]],
        environment: clock.environment)
      // The minute is over soon.
      let second = Int(Date().timeIntervalSince1970) % 60
      try clock.set(ahead: (112 - second) % 60)
      try await relay.start()
      for number in 0..<10 { _ = try await relay.device().post(["path": "/\(number)"]) }
      _ = try await upstream.received("the first", seconds: 10) { $0.count == 10 }
      relay.signal(SIGTERM)
      #expect(try await relay.ending() == .exit(0))
      try await relay.start()
      let more =
        (0..<10).map { ["path": "/more/\($0)"] }
        + (0..<3).map { ["path": "/refuse/\($0)", "upstream": "other"] }
      _ = try await relay.device().post(batch: more)
      for number in 0..<4 {
        _ = try await relay.device().post(["path": "/h\(number)", "hold": true])
      }
      _ = try await upstream.received("the second", seconds: 10) { $0.count == 23 }
      try await onDisk(relay, [27, 20, 3])
      // Of the running minute.
      _ = try await relay.device().post(["path": "/lost", "lane": "late"])
      _ = try await upstream.received("the last", seconds: 10) { $0.count == 24 }
      try await relay.kill()
      try await relay.start()
      let all = try await shown(relay)
      #expect(all.stepSeconds == 60 && all.points.count == 60)
      #expect(all.from == all.points.first?["at"] as? String)
      #expect(all.sums == [27, 20, 3])
      #expect(all.points.last?["waiting"] as? Int == 4)
      let busy = try #require(all.points.last { $0["delivered"] as? Int ?? 0 > 0 })
      let half = try #require(busy["p50Ms"] as? Int)
      #expect(half >= 1 && half <= busy["p99Ms"] as? Int ?? 0)
      let other = try await shown(relay, "?span=hour&upstream=other")
      #expect(other.sums == [3, 0, 3])
      #expect(other.points.allSatisfy { $0["p50Ms"] == nil })
      let day = try await shown(relay, "?span=day")
      #expect(day.stepSeconds == 300 && day.points.count == 288)
    }

    @Test("operators may look at it, clients may not, and what it does not know it says")
    func access() async throws {
      let relay = try await Relay.guarded(try TestUpstream())
      for query in ["", "?span=hour", "?span=day&upstream=default"] {
        #expect(try await relay.reading.get("/v1/history\(query)").status == 200)
      }
      let device = relay.device("truck-7", token: Credentials.derived("truck-7"))
      #expect(try await device.get("/v1/history").status == 403)
      #expect(try await relay.device().get("/v1/history").status == 401)
      for query in ["?span=week", "?upstream=none", "?limit=3", "?span=hour&span=day"] {
        #expect(try await relay.reading.get("/v1/history\(query)").status == 422, "\(query)")
      }
    }
  }
}
