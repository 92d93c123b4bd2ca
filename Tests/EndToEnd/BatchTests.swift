import Compression
import Foundation
import Testing

extension EndToEnd {
  @Suite("Envelopes that go to their upstream together", .serialized)
  struct Batches {
    typealias Body = [String: any Sendable]

    static func relay(
      _ upstream: TestUpstream, format: String = "ndjson", itemsMax: Int = 50,
      more: [String: any Sendable] = [:], upstreamMore: [String: any Sendable] = [:]
    ) async throws -> Relay {
      let batch: Body = ["format": format, "path": "/ingest", "itemsMax": itemsMax]
      var settings: Body = ["url": upstream.url, "batch": batch.merging(more) { $1 }]
      settings.merge(["retry": ["firstDelayMs": 20, "maxDelayMs": 200] as Body]) { $1 }
      settings.merge(upstreamMore) { $1 }
      let relay = try Relay(upstreams: ["default": settings])
      try await relay.start()
      return relay
    }

    /// An envelope of a device, with its number.
    static func envelope(
      _ device: Int, _ number: Int, _ more: [String: any Sendable] = [:]
    ) -> [String: any Sendable] {
      [
        "client": "d-\(device)", "path": "/readings",
        "body": ["device": device, "number": number] as Body,
      ].merging(more) { $1 }
    }

    struct Item: Hashable {
      var device: Int
      var number: Int
    }

    /// What is in a request, in its order.
    static func items(_ request: WireRequest) throws -> [Item] {
      let text = String(decoding: request.body, as: UTF8.self)
      let json =
        text.hasPrefix("[") ? text : "[\(text.split(separator: "\n").joined(separator: ","))]"
      let list = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [[String: Int]]
      return try #require(list).map { Item(device: $0["device"] ?? 0, number: $0["number"] ?? 0) }
    }

    /// An upstream that refuses each request that has an item in it.
    static func upstream(refusing poison: Item, with status: Int) throws -> TestUpstream {
      try TestUpstream { request in
        guard let items = try? items(request) else { return .answer(400) }
        return .answer(items.contains(poison) ? status : 200)
      }
    }

    static func counts(_ relay: Relay) async throws -> [String: Int] {
      let store = try await relay.device().get("/status").json()["store"] as? [String: Any]
      return try #require(store?["envelopes"] as? [String: Int])
    }

    /// Waits until so many are in a state.
    static func wait(_ relay: Relay, _ state: String, _ count: Int) async throws {
      try await eventually("\(count) \(state)") {
        try await counts(relay)[state] == count ? true : nil
      }
    }

    /// Has so many wait, and lets them go at one moment.
    static func post(
      _ relay: Relay, devices: Int, each: Int, more: [String: any Sendable] = [:]
    ) async throws {
      let device = relay.device()
      _ = try await device.request("POST", "/v1/upstreams/default/pause")
      let envelopes = (0..<each).flatMap { number in
        (0..<devices).map { envelope($0, number, more) }
      }
      #expect(try await device.post(batch: envelopes).status == 202)
      _ = try await device.request("POST", "/v1/upstreams/default/resume")
    }

    @Test("what waits goes together, in the order of each lane, and each is delivered by itself")
    func together() async throws {
      for format in ["ndjson", "json"] {
        let upstream = try TestUpstream()
        let relay = try await Self.relay(upstream, format: format)
        try await Self.post(relay, devices: 10, each: 20)
        try await Self.wait(relay, "delivered", 200)
        let requests = upstream.received
        #expect(requests.count < 20, "\(requests.count) requests")
        var sent: [Int: [Int]] = [:]
        for request in requests {
          let items = try Self.items(request)
          #expect(request.method == "POST" && request.target == "/ingest")
          #expect(request["Waystation-Batch"] == "\(items.count)" && items.count <= 50)
          #expect(request["Idempotency-Key"]?.hasPrefix("batch-") == true)
          #expect(request["Waystation-Client"] == nil && request["Waystation-Attempt"] == nil)
          #expect(
            request["Content-Type"]
              == (format == "json" ? "application/json" : "application/x-ndjson"))
          for item in items { sent[item.device, default: []].append(item.number) }
        }
        #expect(sent == Dictionary(uniqueKeysWithValues: (0..<10).map { ($0, Array(0..<20)) }))
        let list = try await relay.device().get("/v1/envelopes?client=d-3&limit=1").json()
        let one = try #require((list["envelopes"] as? [[String: Any]])?.first)
        #expect(one["attemptCount"] as? Int == 1 && one["responseStatus"] as? Int == 200)
        let metrics = try await relay.device().get("/metrics").text
        #expect(
          metrics.contains("waystation_batched_envelopes_total{upstream=\"default\"} 200"))
      }
    }

    @Test("the request's body is compressed where that is configured")
    func compressed() async throws {
      let upstream = try TestUpstream()
      let relay = try await Self.relay(upstream, more: ["gzip": true])
      try await Self.post(relay, devices: 4, each: 5)
      try await Self.wait(relay, "delivered", 20)
      var items: [Item] = []
      for var request in upstream.received {
        #expect(request["Content-Encoding"] == "gzip")
        request.message.body = try GzipDecoder.decode(request.body, decodedBytesMax: 100_000)
        items += try Self.items(request)
      }
      for device in 0..<4 {
        #expect(items.filter { $0.device == device }.map(\.number) == Array(0..<5))
      }
    }

    @Test("a result for each settles each: one that is refused blocks its own lane, one is retried")
    func results() async throws {
      let refused = Item(device: 1, number: 0)
      let busy = Item(device: 2, number: 0)
      let wasBusy = Monitor(false)
      let upstream = try TestUpstream { request in
        guard let items = try? Self.items(request) else { return .answer(400) }
        let statuses = items.map { item -> Int in
          if item == refused { return 422 }
          guard item == busy,
            !wasBusy.change({ was in
              defer { was = true }; return was
            })
          else {
            return 201
          }
          return 503
        }
        let results = statuses.map { #"{"status": \#($0), "title": "so"}"# }
        let body = #"{"items": [\#(results.joined(separator: ","))]}"#
        return .answer(207, body: Array(body.utf8))
      }
      let relay = try await Self.relay(upstream, upstreamMore: ["onFailure": "block"])
      try await Self.post(relay, devices: 3, each: 1)
      try await Self.wait(relay, "delivered", 2)
      try await Self.wait(relay, "blocked", 1)
      let view = { (client: String) async throws -> [String: Any] in
        let list = try await relay.device().get("/v1/envelopes?client=\(client)").json()
        return try #require((list["envelopes"] as? [[String: Any]])?.first)
      }
      let blocked = try await view("d-1")
      #expect(blocked["state"] as? String == "blocked" && blocked["responseStatus"] as? Int == 422)
      #expect(try await view("d-2")["attemptCount"] as? Int == 2)
      #expect(try await view("d-0")["attemptCount"] as? Int == 1)
      let id = try #require(blocked["id"] as? String)
      let answer = try await relay.device().get("/v1/envelopes/\(id)/response")
      #expect(answer.text == #"{"status": 422, "title": "so"}"#)
    }

    @Test("one that spoils every request is found by halving, and takes no other with it")
    func poison() async throws {
      let poison = Item(device: 7, number: 3)
      let upstream = try Self.upstream(refusing: poison, with: 400)
      let relay = try await Self.relay(upstream)
      try await Self.post(relay, devices: 10, each: 5)
      try await Self.wait(relay, "delivered", 49)
      try await Self.wait(relay, "failed", 1)
      let taken = try upstream.received.map { try Self.items($0) }.filter { !$0.contains(poison) }
      #expect(Set(taken.joined()).count == 49 && taken.joined().count == 49, "each came once")
      let list = try await relay.device().get("/v1/envelopes?state=failed").json()
      let failed = try #require((list["envelopes"] as? [[String: Any]])?.first)
      #expect(failed["client"] as? String == "d-7" && failed["responseStatus"] as? Int == 400)
      #expect(failed["attemptCount"] as? Int == 1)
    }

    @Test("what cannot share a request has one of its own, in its turn")
    func alone() async throws {
      let upstream = try TestUpstream()
      let relay = try await Self.relay(upstream)
      let device = relay.device()
      _ = try await device.request("POST", "/v1/upstreams/default/pause")
      let posted = try await device.post(batch: [
        Self.envelope(1, 0), Self.envelope(1, 1, ["body": "text", "path": "/note"]),
        Self.envelope(1, 2), Self.envelope(2, 0, ["method": "PUT"]),
      ])
      #expect(posted.status == 202)
      _ = try await device.request("POST", "/v1/upstreams/default/resume")
      try await Self.wait(relay, "delivered", 4)
      let ofFirst = upstream.received.filter { $0.method == "POST" }.map(\.target)
      #expect(ofFirst == ["/ingest", "/note", "/ingest"])
      let put = try #require(upstream.received.first { $0.method == "PUT" })
      #expect(put.target == "/readings" && put["Waystation-Client"] == "d-2")
    }

    @Test("a request that is repeated as it was carries the same key")
    func repeated() async throws {
      let count = Monitor(0)
      let upstream = try TestUpstream { _ in
        count.change {
          $0 += 1; return $0
        } == 1 ? .answer(503) : .answer(200)
      }
      let relay = try await Self.relay(upstream)
      try await Self.post(relay, devices: 1, each: 5)
      try await Self.wait(relay, "delivered", 5)
      let requests = upstream.received
      #expect(requests.count == 2 && requests[0].body == requests[1].body)
      #expect(requests[0]["Idempotency-Key"] == requests[1]["Idempotency-Key"])
    }

    @Test("a reload lets envelopes go together, and lets each have its own request again")
    func reload() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      try await Self.post(relay, devices: 3, each: 1)
      try await Self.wait(relay, "delivered", 3)
      #expect(upstream.received.count == 3)
      let together: Body = [
        "url": upstream.url, "batch": ["format": "json", "path": "/ingest"] as Body,
      ]
      for (settings, requests) in [(together, 4), (["url": upstream.url] as Body, 7)] {
        try relay.configure(upstreams: ["default": settings])
        relay.signal(SIGHUP)
        let generation = requests == 4 ? 2 : 3
        try await eventually("it is taken up") {
          let status = try await relay.device().get("/status").json()
          let inForce = status["configuration"] as? [String: Any]
          return inForce?["generation"] as? Int == generation ? true : nil
        }
        try await Self.post(relay, devices: 3, each: 1)
        try await Self.wait(relay, "delivered", requests == 4 ? 6 : 9)
        #expect(upstream.received.count == requests)
      }
    }

    @Test(
      "what was acknowledged arrives over kills, first in order, and refusals stay where they are")
    func kills() async throws {
      let answers = Monitor(SeededGenerator(seed: 20_261_123))
      let upstream = try TestUpstream { request in
        guard let items = try? Self.items(request) else { return .answer(400) }
        let (draw, delay) = answers.change { ($0.next() % 10, Int($0.next() % 20)) }
        switch draw {
        case 0: return .cut
        case 1: return .answer(503, delayMs: delay)
        case 2...5:
          let results = items.map { $0.number % 13 == 5 ? "422" : "200" }
          return .answer(
            200, body: Array("[\(results.joined(separator: ","))]".utf8), delayMs: delay)
        default:
          let isSpoilt = items.contains { $0.number % 13 == 5 }
          return .answer(isSpoilt ? 422 : 200, delayMs: delay)
        }
      }
      let relay = try await Self.relay(upstream, itemsMax: 16)
      let (devices, each) = (12, 40)
      for round in 0..<4 {
        let numbers = (round * each / 4)..<((round + 1) * each / 4)
        let envelopes = numbers.flatMap { number in
          (0..<devices).map { Self.envelope($0, number, ["key": "k-\(number)"]) }
        }
        #expect(try await relay.device("poster-\(round)").post(batch: envelopes).status == 202)
        _ = try await upstream.received(count: 3 * (round + 1))
        try await relay.kill()
        try await relay.start()
      }
      let refused = devices * (0..<each).count { $0 % 13 == 5 }
      try await eventually("all have ended", seconds: 60) {
        let counts = try await Self.counts(relay)
        return counts["delivered"] == devices * each - refused && counts["failed"] == refused
          ? true : nil
      }
      var first: [Int: [Int]] = [:]
      for request in upstream.received {
        for item in try Self.items(request)
        where first[item.device]?.contains(item.number) != true {
          first[item.device, default: []].append(item.number)
        }
      }
      for device in 0..<devices { #expect(first[device] == Array(0..<each), "d-\(device)") }
    }
  }
}
