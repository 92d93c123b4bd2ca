import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("Being told of what needs somebody", .serialized)
  struct Notifying {
    private typealias Body = [String: any Sendable]

    private static let key = "whsec_" + Data(repeating: 5, count: 32).base64EncodedString()

    /// A relay that tells a receiver, which signs what it sends there.
    private func relay(
      _ upstream: TestUpstream, telling receiver: TestUpstream,
      path: String = "/hooks/relay?room=7", onFailure: String = "skip"
    ) async throws -> Relay {
      try await Relay.started(
        upstream, upstreamMore: ["onFailure": "block"],
        more: [
          "upstreams": [
            "default": ["url": upstream.url, "onFailure": "block"] as Body,
            "alarm": [
              "url": receiver.url, "signing": ["keys": [Self.key]] as Body, "onFailure": onFailure,
            ] as Body,
          ] as Body,
          "name": "cell-1", "notify": ["upstream": "alarm", "path": path] as Body,
        ])
    }

    private func message(_ request: WireRequest) throws -> [String: Any] {
      try #require(
        try JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any])
    }

    private func kinds(_ message: [String: Any], _ part: String) -> [String] {
      (message[part] as? [[String: Any]] ?? []).compactMap { $0["kind"] as? String }
    }

    /// Waits until a look has found needs of these kinds.
    private func seen(_ relay: Relay, _ isIt: ([String]) -> Bool) async throws {
      try await eventually("a list of needs") {
        let status = try await relay.device().get("/status").json()
        return isIt(kinds(status, "needs")) ? true : nil
      }
    }

    @Test(
      "each change of the list reaches a receiver, signed and in order, over an outage of its own")
    func changes() async throws {
      let upstream = try TestUpstream { _ in .answer(422) }
      let receiver = try TestUpstream()
      let relay = try await relay(upstream, telling: receiver)
      let first = try await receiver.received(count: 1)[0]
      #expect(first.method == "POST" && first.target == "/hooks/relay?room=7")
      #expect(first["Waystation-Client"] == "waystation")
      #expect(first["Content-Type"] == "application/json" && first["webhook-signature"] != nil)
      let started = try message(first)
      #expect(started["relay"] as? String == "cell-1")
      #expect((started["text"] as? String)?.hasPrefix("cell-1: ") == true)
      #expect(try await relay.device().get("/status").json()["name"] as? String == "cell-1")
      #expect(started["type"] as? String == "started" && kinds(started, "needs").isEmpty)
      try await eventually("the first message is delivered") {
        let list = try await relay.device().get("/v1/envelopes?client=waystation&state=delivered")
        return (try list.json()["envelopes"] as? [Any])?.count == 1 ? true : nil
      }
      receiver.stop()
      let device = relay.device("truck-7")
      let id = try #require(try await device.post(["path": "/a"]).json()["id"] as? String)
      // Two changes while nobody is there: it began, and it is over.
      try await seen(relay) { $0 == ["lanes-blocked"] }
      try await eventually("the message is stored") {
        let list = try await relay.device().get("/v1/envelopes?client=waystation&lane=needs").json()
        return (list["envelopes"] as? [Any])?.count == 2 ? true : nil
      }
      upstream.behave { _ in .answer(200) }
      _ = try await device.request(
        "POST", "/v1/envelopes/\(id)/resolve", headers: ["Content-Type": "application/json"],
        body: Device.json(["action": "retry"]))
      try await seen(relay) { !$0.contains("lanes-blocked") }
      try receiver.start()
      _ = try await device.request("POST", "/v1/upstreams/alarm/probe")
      let told = try await receiver.received(count: 3).dropFirst().map { try message($0) }
      #expect(kinds(told[0], "began") == ["lanes-blocked"])
      #expect(told[0]["text"] as? String == "cell-1: one lane stands: default answered 422")
      #expect(kinds(told[0], "needs") == ["lanes-blocked"] && kinds(told[0], "ended").isEmpty)
      #expect(kinds(told[1], "ended") == ["lanes-blocked"] && kinds(told[1], "needs").isEmpty)
      // What was about the receiver itself was never told.
      #expect(told.allSatisfy { !"\($0)".contains("upstream-unreachable") })
    }

    /// The needs of a kind, as `/status` lists them.
    private func needs(of relay: Relay, _ kind: String) async throws -> [[String: Any]] {
      let status = try await relay.device().get("/status").json()
      return (status["needs"] as? [[String: Any]] ?? []).filter { $0["kind"] as? String == kind }
    }

    /// Does what a need says that can be done.
    private func act(_ name: String, on need: [String: Any], _ relay: Relay) async throws {
      let acts = try #require(need["acts"] as? [[String: Any]])
      let act = try #require(acts.first { $0["name"] as? String == name }, "\(acts)")
      let begun = try await relay.device().request(
        "POST", try #require(act["path"] as? String), headers: ["Content-Type": "application/json"],
        body: try JSONSerialization.data(withJSONObject: try #require(act["body"])).map { $0 })
      #expect(begun.status == 202, "\(begun)")
    }

    @Test(
      "one refused message is a need about its receiver, until one is taken",
      arguments: ["skip", "block"])
    func refused(policy: String) async throws {
      let upstream = try TestUpstream()
      let receiver = try TestUpstream { _ in
        .answer(404, body: Array(#"{"detail":"no such hook"}"#.utf8))
      }
      let relay = try await relay(upstream, telling: receiver, onFailure: policy)
      let need = try await eventually("the need") {
        try await needs(of: relay, "notify-refused").first
      }
      let title = "nobody is told what needs somebody: alarm answered 404 “no such hook”"
      #expect(need["title"] as? String == title && need["upstream"] as? String == "alarm")
      let listed = try await relay.device().get("/v1/envelopes?client=waystation").json()
      let message = try #require((listed["envelopes"] as? [[String: Any]])?.first)
      #expect(message["onFailure"] as? String == policy)
      #expect(message["state"] as? String == (policy == "skip" ? "failed" : "blocked"))
      let ready = try await relay.device().get("/readyz").json()
      #expect(ready["warnings"] as? [String] == [title])
      let metrics = try await relay.device().get("/metrics").text
      #expect(metrics.contains(#"waystation_needs{kind="notify-refused",severity="critical"} 1"#))
      let status = try await relay.command("status", "--fail-if-trouble")
      #expect(status.ending == .exit(5) && status.output.contains(" UTC: " + title), "\(status)")
      #expect(status.output.contains("--client waystation --lane needs"), "\(status)")
      // A lane that stands is known to stand after a restart as well.
      try await relay.kill()
      try await relay.start()
      let again = try await eventually("the need after a restart") {
        try await needs(of: relay, "notify-refused").first
      }
      receiver.behave { _ in .answer(200) }
      try await act(policy == "skip" ? "requeue-all" : "retry-all", on: again, relay)
      try await eventually("nothing is refused any more") {
        try await needs(of: relay, "notify-refused").isEmpty ? true : nil
      }
      let told = try await receiver.received("all messages") { $0.count >= 3 }
      #expect(told.allSatisfy { !$0.message.text.contains("notify-refused") })
    }

    @Test("a reload that adds a receiver, or names another one, does not say that it was a start")
    func configured() async throws {
      let upstream = try TestUpstream { _ in .answer(422) }
      let (first, second) = (try TestUpstream(), try TestUpstream())
      let upstreams: [String: Body] = [
        "default": ["url": upstream.url, "onFailure": "block"], "a": ["url": first.url],
        "b": ["url": second.url],
      ]
      let relay = try Relay(upstreams: upstreams)
      try await relay.start()
      _ = try await relay.device("truck-7").post(["path": "/a"])
      try await seen(relay) { $0 == ["lanes-blocked"] }
      for (name, receiver) in [("a", first), ("b", second)] {
        try relay.configure(
          upstreams: upstreams, more: ["notify": ["upstream": name] as Body])
        relay.signal(SIGHUP)
        let request = try await receiver.received(count: 1)[0]
        let told = try message(request)
        #expect(told["type"] as? String == "configured")
        #expect(kinds(told, "needs") == ["lanes-blocked"])
        let text = try #require(told["text"] as? String)
        #expect(
          text.hasPrefix("what needs somebody is told here from now on; one thing needs you: "))
      }
      #expect(first.received.count == 1)
    }

    @Test("a message that was refused at a wrong path is not in the way of the right one")
    func corrected() async throws {
      let upstream = try TestUpstream { _ in .answer(422) }
      let receiver = try TestUpstream { .answer($0.target == "/right" ? 200 : 404) }
      let relay = try await relay(upstream, telling: receiver, onFailure: "block")
      _ = try await receiver.received(count: 1)
      // A device of that name keeps what it has, whatever lane it is in.
      let own = try await relay.device("waystation").post([
        "path": "/own", "lane": "needs", "hold": true,
      ])
      let id = try #require(try own.json()["id"] as? String)
      _ = try await relay.device("truck-7").post(["path": "/a"])
      try await seen(relay) { $0.contains("notify-refused") && $0.contains("lanes-blocked") }
      try relay.configure(
        upstreams: [
          "default": ["url": upstream.url, "onFailure": "block"],
          "alarm": ["url": receiver.url, "onFailure": "block"],
        ], more: ["notify": ["upstream": "alarm", "path": "/right"] as Body])
      relay.signal(SIGHUP)
      try await seen(relay) { !$0.contains("notify-refused") }
      #expect(
        try await relay.device("waystation").get("/v1/envelopes/\(id)").json()["state"] as? String
          == "held")
      _ = try await relay.device("waystation").request("DELETE", "/v1/envelopes/\(id)")
      let told = try await receiver.received("the list at the right path") {
        $0.last?.target == "/right"
      }
      #expect(told.filter { $0.target == "/right" }.count == 1)
      let last = try #require(told.last)
      #expect(try message(last)["type"] as? String == "configured")
      #expect(last["Waystation-Needs"] == nil)
      #expect(try kinds(message(last), "needs") == ["lanes-blocked"])
      let taken = try await relay.device().get("/v1/envelopes?client=waystation&state=cancelled")
      #expect(taken.text.contains("another receiver is told of needs by now"), "\(taken)")
    }

    @Test("nobody has messages sent by asking: one comes in five seconds, the last with the list")
    func asked() async throws {
      let upstream = try TestUpstream { _ in .answer(422) }
      let receiver = try TestUpstream()
      let relay = try await relay(upstream, telling: receiver)
      _ = try await receiver.received(count: 1)
      let device = relay.device("truck-7")
      for _ in 0..<10 {
        let id = try #require(try await device.post(["path": "/a"]).json()["id"] as? String)
        try await seen(relay) { $0.contains("lanes-blocked") }
        _ = try await device.request("DELETE", "/v1/envelopes/\(id)")
        try await seen(relay) { !$0.contains("lanes-blocked") }
      }
      _ = try await device.post(["path": "/a"])
      try await seen(relay) { $0 == ["upstream-failing", "lanes-blocked"] }
      let told = try await receiver.received("the list as it stays") { received in
        let needs = try? received.last.map { kinds(try message($0), "needs") }
        return needs == ["upstream-failing", "lanes-blocked"]
      }
      let times = try told.map { request in
        let at = try message(request)["at"] as? String
        return try #require(ISO8601DateFormatter.withFractions.date(from: at ?? ""))
      }
      for (earlier, later) in zip(times, times.dropFirst()) {
        #expect(later.timeIntervalSince(earlier) > 4.5, "\(times)")
      }
    }

    @Test(
      "after a restart the whole list is told again")
    func restart() async throws {
      let upstream = try TestUpstream { _ in .answer(422) }
      let receiver = try TestUpstream()
      let relay = try await relay(upstream, telling: receiver)
      _ = try await receiver.received(count: 1)
      _ = try await relay.device().post(["path": "/a"])
      try await seen(relay) { $0 == ["lanes-blocked"] }
      _ = try await receiver.received(count: 2)
      try await relay.kill()
      try await relay.start()
      // What was on its way at the kill may come twice.
      let all = try await receiver.received("a second start") { received in
        received.filter { (try? message($0)["type"] as? String) == "started" }.count == 2
      }
      let last = try message(try #require(all.last))
      #expect(kinds(last, "needs") == ["lanes-blocked"])
      let text = try #require(last["text"] as? String)
      #expect(
        text.hasPrefix("cell-1: the relay was started; one thing needs you: one lane stands: "))
    }
  }
}

extension ISO8601DateFormatter {
  /// Reads times with fractions of a second.
  fileprivate static var withFractions: ISO8601DateFormatter {
    let formatter = ISO8601DateFormatter()
    formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
    return formatter
  }
}
