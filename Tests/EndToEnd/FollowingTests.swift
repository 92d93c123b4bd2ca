import Foundation
import Testing

extension EndToEnd {
  @Suite("Following an envelope")
  struct Following {
    private static let quick: [String: any Sendable] = [
      "firstDelayMs": 10, "maxDelayMs": 100, "factor": 2,
    ]

    /// What the log tells of an envelope, in order, at its level and above.
    private func story(_ id: String, _ relay: Relay) throws -> [(event: String, level: String)] {
      try relay.log.split(separator: "\n").filter { $0.contains(id) }.compactMap { line in
        let json = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        #expect(json?["envelope"] as? String == id)
        guard let event = json?["event"] as? String, let level = json?["level"] as? String
        else { return nil }
        return (event, level)
      }
    }

    private func story(
      _ id: String, _ relay: Relay, upTo last: String
    ) async throws -> [(event: String, level: String)] {
      try await eventually("\(last) in the log") {
        let story = try story(id, relay)
        return story.last?.event == last ? story : nil
      }
    }

    @Test("an envelope's id leads through the log from its acceptance to its end")
    func debugged() async throws {
      let upstream = try TestUpstream { request in
        switch request.target {
        case "/no": .answer(422)
        case "/again" where request["Waystation-Attempt"] == "1":
          .answer(503, fields: [WireField(name: "Retry-After", value: "0")])
        default: .answer(200)
        }
      }
      let relay = try await Relay.started(
        upstream, upstreamMore: ["retry": Self.quick], more: ["log": ["level": "debug"]])
      let device = relay.device()
      let ids = try await [
        device.post(["path": "/again"]), device.post(["path": "/no", "lane": "b"]),
        device.post(["path": "/kept", "lane": "c", "hold": true]),
        device.post(["path": "/2", "lane": "d", "sequence": 2]),
      ].map { try #require($0.json()["id"] as? String) }
      _ = try await device.request("DELETE", "/v1/envelopes/\(ids[2])")
      _ = try await device.post(["path": "/1", "lane": "d", "sequence": 1])
      let delivered = [
        "envelope was accepted", "envelope is attempted", "envelope is to be tried again",
        "envelope is attempted", "envelope was delivered",
      ]
      // An id that has to be looked up may come a moment after the attempt that follows.
      let first = try await story(ids[0], relay, upTo: "envelope was delivered").map(\.event)
      #expect(first.sorted() == delivered.sorted(), "\(first)")
      #expect(first.first == delivered.first)
      let failed = try await story(ids[1], relay, upTo: "envelope ended undelivered")
      #expect(failed.map(\.level) == ["debug", "debug", "warning"])
      #expect(
        try await story(ids[2], relay, upTo: "envelope ended").map(\.event)
          == ["envelope was accepted", "envelope ended"])
      #expect(
        try await story(ids[3], relay, upTo: "envelope was delivered").map(\.event)
          == [
            "envelope was accepted", "envelope stands in line", "envelope is attempted",
            "envelope was delivered",
          ])
    }

    @Test("at the usual level the log has the ids of what went wrong, and of nothing else")
    func usual() async throws {
      let upstream = try TestUpstream { $0.target == "/ok" ? .answer(200) : .answer(422) }
      let relay = try await Relay.started(upstream)
      let device = relay.device()
      let good = try #require(try await device.post(["path": "/ok"]).json()["id"] as? String)
      let blocked = try #require(
        try await device.post(["path": "/no", "onFailure": "block"]).json()["id"] as? String)
      let story = try await story(blocked, relay, upTo: "lane is blocked")
      #expect(story.map(\.level) == ["warning"])
      #expect(try self.story(good, relay).isEmpty)
    }
  }
}
