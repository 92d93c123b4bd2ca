import Foundation
import Testing

extension EndToEnd {
  @Suite("What devices are told", .serialized)
  struct DeviceHints {
    private typealias Body = [String: any Sendable]

    @Test(
      "a batch that was taken in part says when to send the rest, in the item and in the answer")
    func partialBatch() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(
        upstream, more: ["limits": ["clientWaitingEnvelopesMax": 2] as Body])
      let device = relay.device("truck-7")
      _ = try await device.request("POST", "/v1/upstreams/default/pause")
      let answer = try await device.post(batch: (1...4).map { ["path": "/\($0)"] })
      #expect(answer.status == 202, "\(answer)")
      let results = try #require(try answer.json()["results"] as? [[String: Any]])
      let problems = results.compactMap { $0["problem"] as? [String: Any] }
      let seconds = problems.compactMap { $0["retryAfterSeconds"] as? Int }
      #expect(seconds.count == 2 && problems.count == 2, "\(results)")
      #expect(answer["Retry-After"] == seconds.max().map(String.init))
      // Alone it is told in the same two places.
      let alone = try await device.post(["path": "/5"])
      #expect(alone.status == 429)
      #expect(
        try alone.json()["retryAfterSeconds"] as? Int == alone["Retry-After"].flatMap { Int($0) })
      // What was refused for good says no time, and nothing else needs one.
      let good = try await device.post(batch: [["path": "no slash"]])
      #expect(good["Retry-After"] == nil)
    }

    @Test("a part of a content is refused before it is stored, unless its upstream takes parts")
    func parts() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(
        upstream,
        more: [
          "upstreams": [
            "default": ["url": upstream.url] as Body,
            "parts": ["url": upstream.url, "takesContentRange": true] as Body,
          ] as Body
        ])
      let device = relay.device("truck-7")
      let range = "bytes 0-4/10"
      let refused = try await device.request(
        "PUT", "/v1/relay/default/photo",
        headers: ["Waystation-Client": "truck-7", "Content-Range": range], body: Array("parts".utf8)
      )
      #expect(refused.status == 400 && refused.problem == "partial-content", "\(refused)")
      #expect(try refused.json()["field"] as? String == "Content-Range")
      let posted = try await device.post([
        "path": "/photo", "headers": ["content-range": range] as Body, "body": "parts",
      ])
      #expect(posted.status == 400 && posted.problem == "partial-content", "\(posted)")
      let held = try await device.post([
        "path": "/photo", "lane": "held", "hold": true, "body": "parts",
      ])
      let id = try #require(try held.json()["id"] as? String)
      let patched = try await device.request(
        "PATCH", "/v1/envelopes/\(id)", headers: ["Content-Type": "application/merge-patch+json"],
        body: Device.json(["headers": ["Content-Range": range] as Body] as Body))
      #expect(patched.status == 400 && patched.problem == "partial-content", "\(patched)")
      let taken = try await device.request(
        "PUT", "/v1/relay/parts/photo",
        headers: ["Waystation-Client": "truck-7", "Content-Range": range], body: Array("parts".utf8)
      )
      #expect(taken.status == 202, "\(taken)")
      let received = try await upstream.received(count: 1)
      #expect(received.map { $0["Content-Range"] } == [range])
    }

    @Test("a check-in says how large a body may be")
    func bodyBytesMax() async throws {
      let relay = try await Relay.started(
        try TestUpstream(), more: ["limits": ["bodyBytesMax": 54_321] as Body])
      let answer = try await relay.device().request(
        "POST", "/v1/checkin", headers: ["Content-Type": "application/json"],
        body: Device.json(["client": "truck-7"] as Body))
      let maySend = try #require(try answer.json()["maySend"] as? [String: Any], "\(answer)")
      #expect(maySend["bodyBytesMax"] as? Int == 54_321)
    }
  }
}
