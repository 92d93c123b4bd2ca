import Foundation
import Testing

extension EndToEnd {
  @Suite("Why an envelope waits", .serialized)
  struct Hindrances {
    private func post(
      _ device: Device, _ more: [String: any Sendable] = [:]
    ) async throws -> String {
      let posted = try await device.post(["path": "/a"].merging(more) { $1 })
      return try #require(try posted.json()["id"] as? String)
    }

    /// Waits until an envelope waits for something.
    private func wait(_ device: Device, _ id: String, for cause: String) async throws {
      try await eventually("it waits for \(cause)") {
        let view = try await device.get("/v1/envelopes/\(id)").json()
        return view["waitsFor"] as? String == cause ? true : nil
      }
    }

    @Test("a pause of the upstream, the lane or the client is told, and who heads the lane")
    func paused() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      let device = relay.device("truck-7")
      for (target, cause, words) in [
        ("/v1/upstreams/default", "upstream-paused", "its upstream is paused"),
        ("/v1/clients/truck-7/lanes/default", "lane-paused", "its lane is paused"),
        ("/v1/clients/truck-7", "client-paused", "its client is paused"),
      ] {
        #expect(try await device.request("POST", "\(target)/pause").status == 200)
        let (first, second) = (try await post(device), try await post(device))
        let head = try await device.get("/v1/envelopes/\(first)").json()
        #expect(head["waitsFor"] as? String == cause && head["waitsBehind"] == nil)
        let next = try await device.get("/v1/envelopes/\(second)").json()
        #expect(next["waitsFor"] as? String == cause)
        #expect(next["waitsBehind"] as? String == first)
        let list = try await device.get("/v1/envelopes?state=queued").json()["envelopes"]
        let rows = try #require(list as? [[String: Any]])
        #expect(rows.map { $0["waitsFor"] as? String } == [cause, cause])
        #expect(rows.map { $0["waitsBehind"] as? String } == [nil, first])
        let shown = try await relay.command("envelopes", "show", second)
        #expect(
          shown.output.contains("\(words); behind \(first), which heads its lane"),
          "\(shown.output)")
        #expect(try await device.request("POST", "\(target)/resume").status == 200)
        let end = try await device.end(of: second)
        #expect(end["state"] as? String == "delivered" && end["waitsFor"] == nil)
      }
    }

    @Test(
      "an envelope for another upstream waits for the head of its lane, and what that waits for")
    func earlier() async throws {
      let (first, second) = (try TestUpstream(), try TestUpstream())
      let relay = try Relay(upstreams: [
        "a": Relay.quick(first, ["startPaused": true]), "b": Relay.quick(second),
      ])
      try await relay.start()
      let device = relay.device()
      let head = try await post(device, ["upstream": "a"])
      let next = try await post(device, ["upstream": "b"])
      let view = try await device.get("/v1/envelopes/\(next)").json()
      #expect(view["waitsFor"] as? String == "earlier")
      #expect(view["waitsBehind"] as? String == head)
      try await wait(device, head, for: "upstream-paused")
      #expect(second.received.isEmpty)
      #expect(try await device.request("POST", "/v1/upstreams/a/resume").status == 200)
      #expect(try await device.end(of: next)["state"] as? String == "delivered")
    }

    @Test(
      "an upstream that is away, has asked for a wait, or is gone from the configuration is told")
    func trouble() async throws {
      let upstream = try TestUpstream { _ in
        .answer(429, fields: [WireField(name: "Retry-After", value: "3000")])
      }
      let port = try ReservedPort.kept()
      let relay = try Relay(upstreams: [
        "slow": Relay.quick(upstream), "away": ["url": "http://127.0.0.1:\(port)"],
      ])
      try await relay.start()
      let device = relay.device()
      let slow = try await post(device, ["upstream": "slow", "lane": "slow"])
      try await wait(device, slow, for: "upstream-held")
      let away = try await post(device, ["upstream": "away", "lane": "away"])
      try await wait(device, away, for: "upstream-unreachable")
      let shown = try await relay.command("envelopes", "show", away)
      #expect(shown.output.contains("its upstream cannot be reached"), "\(shown.output)")
      try relay.configure(upstreams: ["slow": Relay.quick(upstream)])
      relay.signal(1)
      try await wait(device, away, for: "upstream-not-configured")
      let list = try await device.get("/v1/envelopes").json()["envelopes"] as? [[String: Any]]
      #expect(
        list?.map { $0["waitsFor"] as? String } == ["upstream-held", "upstream-not-configured"])
    }
  }
}
