import Foundation
import Testing

// What follows from answers, and what is told of it.
extension EndToEnd.Batches {
  /// The lines of its log.
  private static func lines(_ relay: Relay) throws -> [[String: Any]] {
    try relay.log.split(separator: "\n").filter { $0.hasSuffix("}") }.compactMap { line in
      try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
    }
  }

  @Test("a refusal of the request as such is one of all, by one answer")
  func refusedAsSuch() async throws {
    let upstream = try TestUpstream { _ in .answer(405, body: Array("no such method".utf8)) }
    let relay = try await Self.relay(upstream)
    try await Self.post(relay, devices: 10, each: 1)
    try await Self.wait(relay, "failed", 10)
    #expect(upstream.received.count == 1)
    let list = try await relay.device().get("/v1/envelopes?client=d-3").json()
    let one = try #require((list["envelopes"] as? [[String: Any]])?.first)
    #expect(one["attemptCount"] as? Int == 1 && one["responseStatus"] as? Int == 405)
  }

  @Test("an upstream that takes no gzip gets the same uncompressed, until the next reload")
  func withoutGzip() async throws {
    let upstream = try TestUpstream { request in
      .answer(request["Content-Encoding"] == nil ? 200 : 415)
    }
    let relay = try await Self.relay(upstream, more: ["gzip": true])
    for round in 1...2 {
      try await Self.post(relay, devices: 4, each: 5)
      try await Self.wait(relay, "delivered", round * 20)
    }
    var codings = upstream.received.map { $0["Content-Encoding"] }
    #expect(codings.first == "gzip" && codings.last == .some(nil))
    #expect(codings.count { $0 != nil } == 1, "\(codings)")
    #expect(upstream.received[0]["Idempotency-Key"] == upstream.received[1]["Idempotency-Key"])
    try await relay.log(holds: "upstream takes no gzip")
    let list = try await relay.device().get("/v1/envelopes?client=d-3&limit=1").json()
    let one = try #require((list["envelopes"] as? [[String: Any]])?.first)
    #expect(one["attemptCount"] as? Int == 1)
    relay.signal(SIGHUP)
    try await relay.log(holds: "nothing has changed")
    try await Self.post(relay, devices: 4, each: 1)
    try await Self.wait(relay, "delivered", 44)
    codings = upstream.received.map { $0["Content-Encoding"] }
    #expect(codings.count { $0 != nil } == 2, "\(codings)")
  }

  @Test("JSON in which no results are known is told in the log, once, until the next reload")
  func unknownResults() async throws {
    let upstream = try TestUpstream { _ in .answer(200, body: Array("taken".utf8)) }
    let relay = try await Self.relay(upstream)
    let warnings = {
      try Self.lines(relay).filter {
        ($0["event"] as? String)?.contains("JSON without known results") == true
      }
    }
    try await Self.post(relay, devices: 4, each: 1)
    try await Self.wait(relay, "delivered", 4)
    #expect(try warnings().isEmpty)
    upstream.behave { _ in .answer(200, body: Array(#"{"results": [{"status": 422}]}"#.utf8)) }
    for round in 2...3 {
      try await Self.post(relay, devices: 4, each: 1)
      try await Self.wait(relay, "delivered", round * 4)
    }
    let told = try warnings()
    #expect(told.count == 1 && told.first?["upstream"] as? String == "default")
    #expect(told.first?["level"] as? String == "warning")
    let needs = { try await relay.device().get("/status").json()["needs"] as? [[String: Any]] }
    let need = try #require(try await needs()?.first)
    #expect(
      need["kind"] as? String == "results-unknown" && need["upstream"] as? String == "default")
    upstream.behave { _ in .answer(200) }
    relay.signal(SIGHUP)
    try await relay.log(holds: "nothing has changed")
    #expect(try await needs()?.isEmpty == true)
    upstream.behave { _ in .answer(200, body: Array(#"{"results": [{"status": 422}]}"#.utf8)) }
    try await Self.post(relay, devices: 4, each: 1)
    try await Self.wait(relay, "delivered", 16)
    #expect(try warnings().count == 2)
  }

  @Test("after 413 requests have the size that is taken, until the batch is configured anew")
  func ceiling() async throws {
    let upstream = try TestUpstream { request in .answer(request.body.count > 400 ? 413 : 200) }
    let relay = try await Self.relay(
      upstream, upstreamMore: ["maxConcurrent": 1])
    let refused = { upstream.received.count { $0.body.count > 400 } }
    try await Self.post(relay, devices: 50, each: 1)
    try await Self.wait(relay, "delivered", 50)
    let atFirst = refused()
    #expect((1...4).contains(atFirst), "\(atFirst)")
    try await relay.log(holds: "upstream wants smaller requests")
    try await Self.post(relay, devices: 50, each: 1)
    try await Self.wait(relay, "delivered", 100)
    #expect(refused() == atFirst)
    let batch: Body = ["format": "ndjson", "path": "/ingest", "itemsMax": 49]
    try relay.configure(
      upstreams: ["default": ["url": upstream.url, "batch": batch, "maxConcurrent": 1] as Body])
    relay.signal(SIGHUP)
    try await relay.log(holds: "configuration reloaded")
    try await Self.post(relay, devices: 50, each: 1)
    try await Self.wait(relay, "delivered", 150)
    #expect(refused() > atFirst)
  }

  @Test("a result's problem document is that envelope's answer, with its error id")
  func problems() async throws {
    let upstream = try TestUpstream { request in
      let items = (try? Self.items(request)) ?? []
      let results = items.map { item in
        item.device == 1
          ? #"{"status": 422, "problem": {"title": "Too old", "errorId": "E7"}}"#
          : #"{"status": 201}"#
      }
      return .answer(207, body: Array("[\(results.joined(separator: ","))]".utf8))
    }
    let relay = try await Self.relay(upstream)
    try await Self.post(relay, devices: 3, each: 1)
    try await Self.wait(relay, "failed", 1)
    let device = relay.device()
    let list = try await device.get("/v1/envelopes?state=failed").json()
    let failed = try #require((list["envelopes"] as? [[String: Any]])?.first)
    let id = try #require(failed["id"] as? String)
    let answer = try await device.get("/v1/envelopes/\(id)/response")
    #expect(answer["Content-Type"] == "application/problem+json")
    #expect(answer.text == #"{"title": "Too old", "errorId": "E7"}"#)
    #expect(try await device.get("/v1/envelopes/\(id)").json()["errorId"] as? String == "E7")
  }

  @Test("the result of an envelope that goes alone counts, as that of one among others does")
  func ownResult() async throws {
    let upstream = try TestUpstream { request in
      let body = request.target == "/readings?unit=C" ? #"{"items": [{"status": 422}]}"# : "?"
      return .answer(207, body: Array(body.utf8))
    }
    let relay = try await Self.relay(upstream)
    let device = relay.device()
    let posted = try await device.post(batch: [
      Self.envelope(1, 0, ["path": "/readings?unit=C"]),
      Self.envelope(2, 0, ["path": "/readings?unit=K"]),
    ])
    #expect(posted.status == 202)
    try await Self.wait(relay, "failed", 1)
    let failed = try await device.get("/v1/envelopes?client=d-1").json()
    let one = try #require((failed["envelopes"] as? [[String: Any]])?.first)
    #expect(one["responseStatus"] as? Int == 422 && one["state"] as? String == "failed")
    try await eventually("the other one is tried again") {
      let list = try await device.get("/v1/envelopes?client=d-2").json()
      let other = try #require((list["envelopes"] as? [[String: Any]])?.first)
      let count = other["attemptCount"] as? Int ?? 0
      return other["state"] as? String != "delivered" && count > 1 ? true : nil
    }
  }

  @Test("the debug log tells each request with its key, and each attempt in it")
  func debugLog() async throws {
    let poison = Item(device: 2, number: 0)
    let upstream = try Self.upstream(refusing: poison, with: 422)
    let batch: Body = ["format": "ndjson", "path": "/ingest"]
    let relay = try Relay(
      upstreams: ["default": ["url": upstream.url, "batch": batch] as Body],
      more: ["log": ["level": "debug"] as Body])
    try await relay.start()
    try await Self.post(relay, devices: 3, each: 1)
    try await Self.wait(relay, "failed", 1)
    try await Self.wait(relay, "delivered", 2)
    let key = try #require(upstream.received.first?["Idempotency-Key"])
    let lines = try Self.lines(relay)
    let ofFirst = lines.filter { $0["batch"] as? String == key }
    let attempts = ofFirst.filter { $0["event"] as? String == "envelope is attempted" }
    #expect(ofFirst.count == 5 && attempts.count == 3)
    let sent = try #require(ofFirst.first)
    #expect(sent["event"] as? String == "request with envelopes is sent")
    #expect(sent["count"] as? Int == 3 && sent["upstream"] as? String == "default")
    #expect(sent["bytes"] as? Int == upstream.received.first?.body.count)
    let end = try #require(
      ofFirst.first { $0["event"] as? String == "request with envelopes ended" })
    #expect(end["status"] as? Int == 422 && end["result"] as? String == "halved")
    let results = lines.filter { $0["event"] as? String == "request with envelopes ended" }
      .compactMap { $0["result"] as? String }
    #expect(Set(results) == ["halved", "all"])
  }

  @Test("the rate of attempts is that of those that are recorded")
  func rate() async throws {
    let poison = Item(device: 7, number: 3)
    let upstream = try Self.upstream(refusing: poison, with: 400)
    let relay = try await Self.relay(upstream)
    try await Self.post(relay, devices: 10, each: 5)
    try await Self.wait(relay, "delivered", 49)
    try await Self.wait(relay, "failed", 1)
    try await eventually("the rate is of 50 attempts") {
      let status = try await relay.device().get("/status").json()
      let rates = status["rates"] as? [String: Any]
      let perSecond = try #require(rates?["attemptsPerSecond"] as? Double)
      return (perSecond * 60).rounded() == 50 ? true : nil
    }
  }
}
