import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("Under load")
  struct Load {
    @Test("a connection past the limit gets 503, and its place once another has gone")
    func connections() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(
        upstream, more: ["limits": ["connectionsMax": 5] as [String: any Sendable]])
      var held: [Connection] = []
      for _ in 0..<5 { held.append(try Connection(port: relay.port)) }
      // Connections are taken in their order, so this one comes after all five.
      let full = try await relay.device().get("/healthz")
      #expect(full.status == 503 && full.problem == "overloaded")
      #expect((5...15).contains(Int(full["Retry-After"] ?? "") ?? 0))
      held[0].close()
      try await eventually("a place") {
        (try? await relay.device().get("/healthz"))?.status == 200 ? true : nil
      }
    }

    @Test("lanes that waited out an outage together come back one answer at a time")
    func ramp() async throws {
      let delayMs = 30
      let upstream = try TestUpstream()
      upstream.stop()
      let relay = try await Relay.started(
        upstream,
        upstreamMore: [
          "reachability": ["firstProbeDelayMs": 20, "maxProbeDelayMs": 200]
            as [String: any Sendable]
        ])
      let device = relay.device()
      let lanes = 300
      for first in stride(from: 0, to: lanes, by: 100) {
        let batch: [[String: any Sendable]] = (first..<first + 100).map {
          ["path": "/\($0)", "lane": "lane-\($0)"]
        }
        #expect(try await device.post(batch: batch).status == 202)
      }
      try await eventually("the upstream to be given up") {
        let status = try await device.get("/status").json()
        let upstreams = status["upstreams"] as? [[String: Any]]
        let first = upstreams?.first
        // Attempts that were begun before would reach it, too, if it came back just now.
        return first?["reachable"] as? Bool == false && first?["inFlight"] as? Int == 0 ? true : nil
      }
      let arrivals = Monitor<[Double]>([])
      upstream.behave { _ in
        arrivals.change { $0.append(Date().timeIntervalSinceReferenceDate) }
        return .answer(200, delayMs: delayMs)
      }
      try upstream.start()
      try await upstream.received(count: lanes)
      let times = arrivals.read { $0.sorted() }
      // In flight are at most one and as many more as have been answered; what has been answered by
      // a time is at most what arrived its delay before.
      for (index, time) in times.enumerated() {
        let answered = times.prefix { $0 + Double(delayMs) / 1000 <= time + 0.002 }.count
        #expect(
          index + 1 <= 1 + 2 * answered, "\(index + 1) had come when \(answered) could be answered")
      }
    }
  }
}
