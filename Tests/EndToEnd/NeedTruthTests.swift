import Foundation
import Testing

// That the list tells what is so: no less, no more, and no longer.
extension EndToEnd.Needs {
  @Test("a gap is told of however much waits ahead of it, over a restart, until it is closed")
  func gaps() async throws {
    let upstream = try TestUpstream()
    let clock = try FakeClock()
    let relay = try Relay(
      upstreams: ["default": Relay.quick(upstream)], more: ["clock": ["settleSeconds": 0]],
      environment: clock.environment)
    try await relay.start()
    for _ in 0..<2 {
      let batch: [[String: any Sendable]] = (0..<800).map {
        ["path": "/a", "lane": "l-\($0 % 20)", "hold": true]
      }
      #expect(try await relay.device("crowd").post(batch: batch).status < 300)
    }
    let ahead: [String: any Sendable] = ["path": "/b", "lane": "n", "sequence": 2]
    #expect(try await relay.device().post(ahead).status == 202)
    #expect(try await needs(of: relay)["gaps-waiting"] == nil)
    try clock.set(ahead: 1000)
    for isRestarted in [false, true] {
      if isRestarted {
        try await relay.kill()
        try await relay.start()
      }
      let need = try await need("gaps-waiting", of: relay)
      #expect(need["count"] as? Int == 1)
      #expect(
        need["title"] as? String == "one lane waits for sequence numbers that do not come")
    }
    _ = try await relay.device().post(["path": "/b", "lane": "n", "sequence": 1])
    try await eventually("the need is over") {
      try await needs(of: relay)["gaps-waiting"] == nil ? true : nil
    }
  }
}
