import Foundation
import Glibc
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
      let first = try await story(ids[0], relay, upTo: "envelope was delivered").map(\.event)
      #expect(first == delivered)
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

    @Test("each line names client, lane and upstream, and says nothing twice")
    func places() async throws {
      let upstream = try TestUpstream { request in
        request.target == "/good" ? .answer(200) : .answer(422)
      }
      let closed = try TestUpstream()
      closed.stop()
      let relay = try Relay(
        upstreams: ["default": Relay.quick(upstream), "closed": Relay.quick(closed)],
        more: ["log": ["level": "debug"]])
      try await relay.start()
      let device = relay.device()
      let failed = try await post(["path": "/bad", "lane": "a"], by: device)
      let blocked = try await post(["path": "/bad", "lane": "b", "onFailure": "block"], by: device)
      for path in ["/1", "/2"] {
        _ = try await post(
          ["path": path, "lane": "c", "hold": true, "coalesce": "x"], by: device)
      }
      let soon = ISO8601DateFormatter().string(from: Date(timeIntervalSinceNow: 2))
      let expired = try await post(
        ["path": "/bad", "lane": "d", "upstream": "closed", "expiresAt": soon], by: device)
      for id in [failed, expired] {
        _ = try await story(id, relay, upTo: "envelope ended undelivered")
      }
      _ = try await story(blocked, relay, upTo: "lane is blocked")
      let lines = try relay.log.split(separator: "\n").filter { $0.hasPrefix("{") }.map {
        try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
      }
      let lanes = [failed: "a", blocked: "b", expired: "d"]
      for line in lines {
        guard let id = line["envelope"] as? String else { continue }
        #expect(line["client"] as? String == "device-1", "\(line)")
        #expect(line["lane"] as? String == lanes[id] ?? "c", "\(line)")
        #expect(line["upstream"] as? String == (id == expired ? "closed" : "default"), "\(line)")
        let error = line["error"] as? String
        let reason = line["reason"] as? String ?? ""
        #expect(error.map { !reason.contains($0) } ?? true, "\(line)")
      }
      for event in ["envelope got a later post's content", "envelope is attempted"] {
        #expect(lines.contains { $0["event"] as? String == event })
      }
      let tried = lines.first { $0["event"] as? String == "envelope is to be tried again" }
      #expect(
        tried?["error"] as? String
          == "no connection to 127.0.0.1:\(closed.port) could be made: connection refused")
      #expect(!relay.log.contains(#"":"""#), "what there is not is left out")
    }

    /// Posts an envelope, and returns its id.
    private func post(
      _ envelope: [String: any Sendable], by device: Device
    ) async throws -> String {
      try #require(try await device.post(envelope).json()["id"] as? String)
    }

    /// Does something to an envelope.
    private func act(
      _ method: String, _ target: String, _ body: String? = nil, by device: Device
    ) async throws {
      let type = method == "PATCH" ? "application/merge-patch+json" : "application/json"
      let answer = try await device.request(
        method, target, headers: body == nil ? [:] : ["Content-Type": type],
        body: Array((body ?? "").utf8))
      try answer.require(200)
    }

    @Test("what people do to an envelope stands in its story where it was done")
    func steered() async throws {
      let upstream = try TestUpstream { $0.target == "/good" ? .answer(200) : .answer(422) }
      let relay = try await Relay.started(upstream, more: ["log": ["level": "debug"]])
      let device = relay.device()
      let blocked = try await post(["path": "/bad", "onFailure": "block"], by: device)
      _ = try await story(blocked, relay, upTo: "lane is blocked")
      try await act("POST", "/v1/envelopes/\(blocked)/resolve", #"{"action": "retry"}"#, by: device)
      _ = try await eventually("the second block") {
        try story(blocked, relay).count { $0.event == "lane is blocked" } == 2 ? true : nil
      }
      try await act("PATCH", "/v1/envelopes/\(blocked)", #"{"path": "/good"}"#, by: device)
      try await act("POST", "/v1/envelopes/\(blocked)/resolve", #"{"action": "retry"}"#, by: device)
      let failed = try await post(["path": "/bad", "lane": "b"], by: device)
      _ = try await story(failed, relay, upTo: "envelope ended undelivered")
      try await act("PATCH", "/v1/envelopes/\(failed)", #"{"path": "/good"}"#, by: device)
      try await act("POST", "/v1/envelopes/\(failed)/requeue", by: device)
      let given = try await post(["path": "/bad", "lane": "c"], by: device)
      _ = try await story(given, relay, upTo: "envelope ended undelivered")
      try await act("DELETE", "/v1/envelopes/\(given)", by: device)
      let held = try await post(["path": "/good", "lane": "d", "hold": true], by: device)
      try await act("POST", "/v1/envelopes/\(held)/run", by: device)

      let attempted = "envelope is attempted"
      #expect(
        try await story(blocked, relay, upTo: "envelope was delivered").map(\.event)
          == [
            "envelope was accepted", attempted, "lane is blocked", "envelope was run", attempted,
            "lane is blocked", "envelope was corrected", "envelope was run", attempted,
            "envelope was delivered",
          ])
      #expect(
        try await story(failed, relay, upTo: "envelope was delivered").map(\.event)
          == [
            "envelope was accepted", attempted, "envelope ended undelivered",
            "envelope was corrected", "envelope was put back in line", attempted,
            "envelope was delivered",
          ])
      #expect(
        try await story(given, relay, upTo: "envelope ended").map(\.event)
          == [
            "envelope was accepted", attempted, "envelope ended undelivered", "envelope ended",
          ])
      #expect(
        try await story(held, relay, upTo: "envelope was delivered").map(\.event)
          == ["envelope was accepted", "envelope was run", attempted, "envelope was delivered"])
      let left = try await post(["path": "/good", "lane": "e", "hold": true], by: device)
      try await act("DELETE", "/v1/clients/device-1/envelopes", by: device)
      #expect(
        try await story(left, relay, upTo: "envelope ended").map(\.event)
          == ["envelope was accepted", "envelope ended"])
    }

    @Test("so it does however an envelope came, and over a kill")
    func everyWay() async throws {
      let isUp = Monitor(false)
      let upstream = try TestUpstream { _ in isUp.read { $0 } ? .answer(200) : .cut }
      let relay = try await Relay.started(
        upstream, upstreamMore: ["retry": Self.quick], more: ["log": ["level": "debug"]])
      let device = relay.device()
      let batch =
        try await device.post(batch: [
          ["path": "/1", "lane": "a"], ["path": "/2", "lane": "b"],
        ]).json()["results"] as? [[String: Any]]
      var ids = try #require(batch).compactMap { $0["id"] as? String }
      let relayed = try await device.relay(
        "PUT", "/3", headers: ["Waystation-Lane": "c"], body: Array("x".utf8))
      ids.append(try #require(relayed["Waystation-Id"]))
      let held: [String: any Sendable] = ["lane": "d", "hold": true, "coalesce": "k", "path": "/4"]
      ids.append(try #require(try await device.post(held).json()["id"] as? String))
      #expect(try await device.post(held).json()["id"] as? String == ids[3])
      #expect(
        try await story(ids[3], relay, upTo: "envelope got a later post's content").map(\.event)
          == ["envelope was accepted", "envelope got a later post's content"])
      let deadline = Date(timeIntervalSinceNow: 1).ISO8601Format()
      let soon = try #require(
        try await device.post(["path": "/5", "lane": "e", "hold": true, "expiresAt": deadline])
          .json()["id"] as? String)
      for id in ids[..<3] {
        let told = try await eventually("an attempt of \(id) in the log") {
          let told = try story(id, relay).map(\.event)
          return told.contains("envelope is to be tried again") ? told : nil
        }
        #expect(told.first == "envelope was accepted")
      }
      let expired = try await story(soon, relay, upTo: "envelope ended undelivered")
      #expect(expired.map(\.level) == ["debug", "warning"])
      try await relay.kill()
      isUp.change { $0 = true }
      try await relay.start()
      for id in ids[..<3] {
        let told = try await story(id, relay, upTo: "envelope was delivered").map(\.event)
        #expect(told.suffix(2) == ["envelope is attempted", "envelope was delivered"])
      }
      relay.signal(SIGTERM)
      try await relay.ending()
      #expect(!relay.log.contains("in the store"), "a number that only the store knows")
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
