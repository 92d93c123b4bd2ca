import Foundation
import Glibc
import Testing

// That the list tells what is so: no less, no more, and no longer.
extension EndToEnd.Needs {
  /// Answers what the first part of the path asks for.
  private static func asAsked(_ request: WireRequest) -> Behaviour {
    let status = request.target.split(separator: "/").first.flatMap { Int($0) } ?? 200
    return .answer(status, body: Array(#"{"detail": "as asked"}"#.utf8))
  }

  private func count(_ kind: String, of relay: Relay) async throws -> Int? {
    try await needs(of: relay)[kind]?["count"] as? Int
  }

  /// Posts so many that the upstream refuses, and waits until they are dead letters.
  private func fail(_ count: Int, _ relay: Relay) async throws -> [String] {
    let answer = try await relay.device().post(
      batch: (0..<count).map { ["path": "/422/\($0)", "lane": "l-\($0)"] })
    let results = try #require(answer.json()["results"] as? [[String: Any]])
    try await eventually("all of them failed") {
      try await self.count("dead-letters", of: relay) == count ? true : nil
    }
    return results.compactMap { $0["id"] as? String }
  }

  private func call(
    _ relay: Relay, _ method: String, _ path: String, _ body: [String: any Sendable]
  ) async throws {
    let answer = try await relay.device("operator").request(
      method, path, headers: ["Content-Type": "application/json"], body: Device.json(body))
    #expect(answer.status < 300, "\(answer)")
  }

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

  @Test("a lane that stands for another reason by now is told of with that one and its commands")
  func otherReason() async throws {
    let upstream = try TestUpstream { _ in
      .answer(422, body: Array(#"{"detail": "first words"}"#.utf8))
    }
    let relay = try await Relay.started(upstream, upstreamMore: ["onFailure": "block"])
    let post = try await relay.device().post(["path": "/a"])
    let id = try #require(post.json()["id"] as? String)
    #expect(
      try await need("lanes-blocked", of: relay)["title"] as? String
        == "one lane stands: default answered 422 “first words”")
    upstream.behave { _ in .answer(400, body: Array(#"{"detail": "second words"}"#.utf8)) }
    try await retry(id, relay, attempts: 2)
    let need = try await need("lanes-blocked", of: relay)
    #expect(need["title"] as? String == "one lane stands: default answered 400 “second words”")
    upstream.behave { _ in .answer(200) }
    let acts = try #require(need["acts"] as? [[String: Any]])
    let retryAll = try #require(acts.first { $0["name"] as? String == "retry-all" })
    let words = try #require(retryAll["command"] as? [String])
    #expect(words.contains("400"))
    // Once it is corrected so that it cannot even be sent, that is why it stands.
    let unfillable: [String: any Sendable] = ["path": "/{{response:none#/id}}", "references": true]
    try await call(relay, "PATCH", "/v1/envelopes/\(id)", unfillable)
    try await retry(id, relay, attempts: 3)
    let third = try await self.need("lanes-blocked", of: relay)
    #expect(third["status"] == nil, "\(third)")
    #expect((third["title"] as? String)?.contains("could not be filled") == true)
  }

  /// Has a blocked lane's head tried again, and waits until it blocks the lane anew.
  private func retry(_ id: String, _ relay: Relay, attempts: Int) async throws {
    try await call(relay, "POST", "/v1/envelopes/\(id)/resolve", ["action": "retry"])
    try await eventually("attempt \(attempts) is refused") {
      let envelope = try await relay.device("operator").get("/v1/envelopes/\(id)").json()
      let isBlocked = envelope["state"] as? String == "blocked"
      return isBlocked && envelope["attemptCount"] as? Int == attempts ? true : nil
    }
  }

  @Test("dead letters count until they are put back, sent elsewhere or deleted, and no others do")
  func deadLetters() async throws {
    let upstream = try TestUpstream(Self.asAsked)
    let other = try TestUpstream()
    let upstreams = ["default": Relay.quick(upstream), "other": Relay.quick(other)]
    let relay = try Relay(upstreams: upstreams)
    try await relay.start()
    let posts: [[String: any Sendable]] = (0..<8).map { ["path": "/200/\($0)", "hold": true] }
    let held = try await relay.device("keen").post(batch: posts)
    let results = try #require(held.json()["results"] as? [[String: Any]])
    for id in results.compactMap({ $0["id"] as? String }) {
      #expect(try await relay.device("keen").request("DELETE", "/v1/envelopes/\(id)").status == 200)
    }
    let failed = try await fail(8, relay)
    for id in results.compactMap({ $0["id"] as? String }) {
      try await call(relay, "POST", "/v1/envelopes/\(id)/requeue", [:])
    }
    #expect(try await count("dead-letters", of: relay) == 8)
    for id in failed {
      try await call(relay, "PATCH", "/v1/envelopes/\(id)", ["upstream": "other"])
    }
    let need = try await need("dead-letters", of: relay)
    #expect(need["upstream"] as? String == "other" && need["count"] as? Int == 8)
    for id in failed { try await call(relay, "POST", "/v1/envelopes/\(id)/requeue", [:]) }
    #expect(try await needs(of: relay)["dead-letters"] == nil)
    _ = try await fail(6, relay)
    try relay.configure(upstreams: upstreams, more: ["retention": ["failedSeconds": 0]])
    relay.signal(SIGHUP)
    try await eventually("they are deleted, and need nobody") {
      try await needs(of: relay)["dead-letters"] == nil ? true : nil
    }
  }

  @Test("a need that is not listed for lack of room is counted, and not told as over")
  func leftOut() async throws {
    let upstream = try TestUpstream(Self.asAsked)
    let alarm = try TestUpstream()
    let relay = try Relay(
      upstreams: [
        "default": Relay.quick(upstream, ["onFailure": "block"]), "alarm": Relay.quick(alarm),
      ], more: ["notify": ["upstream": "alarm"]])
    try await relay.start()
    func listed() async throws -> [[String: Any]] {
      let status = try await relay.device("operator").get("/status").json()
      let needs = try #require(status["needs"] as? [[String: Any]])
      return needs.filter { $0["kind"] as? String == "lanes-blocked" }
    }
    func post(_ statuses: [Int], of client: String) async throws {
      let batch = statuses.enumerated().map { place, status in
        ["path": "/\(status)", "lane": "\(status)-\(place)"]
      }
      #expect(try await relay.device(client).post(batch: batch).status < 300)
    }
    try await post(Array(430..<480), of: "one")
    try await eventually("each is listed") { try await listed().count == 50 ? true : nil }
    // Two lanes each, so these are larger groups.
    try await post((480..<483).flatMap { [$0, $0] }, of: "two")
    try await eventually("the list says how many there are besides") {
      let needs = try await listed()
      return needs.count == 50 && needs.last?["more"] as? Int == 3 ? true : nil
    }
    let metrics = try await relay.device("operator").get("/metrics").text
    #expect(metrics.contains(#"waystation_needs{kind="lanes-blocked",severity="warning"} 53"#))
    let status = try await relay.command("status")
    // An upstream that refuses everything is one as well.
    #expect(status.output.contains("54 things need you:"))
    #expect(status.output.contains("and 3 more of this kind"))
    #expect(!relay.log.contains("somebody is needed no more"))
    for request in alarm.received {
      let message = try #require(
        try JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any])
      #expect((message["ended"] as? [Any])?.isEmpty == true)
    }
  }

  @Test("what is never sent is no failure of the upstream's, and its reason is told once")
  func neverSent() async throws {
    let upstream = try TestUpstream()
    let relay = try await Relay.started(upstream)
    for number in 0..<20 {
      let post = try await relay.device().post(
        ["path": "/{{response:none-\(number)#/id}}", "references": true])
      #expect(post.status == 202)
    }
    let need = try await eventually("all of them") {
      let need = try await needs(of: relay)["dead-letters"]
      return need?["count"] as? Int == 20 ? need : nil
    }
    #expect(try await Array(needs(of: relay).keys) == ["dead-letters"])
    #expect(need["title"] as? String == "20 envelopes for default became dead letters")
    let cause = try #require(need["cause"] as? String)
    #expect(upstream.received.isEmpty)
    #expect(try await warnings(of: relay).isEmpty)
    let status = try await relay.command("status")
    #expect(status.output.components(separatedBy: cause).count == 2, "\(status.output)")
  }
}
