import Foundation
import Testing

extension EndToEnd {
  @Suite("Envelopes that are handed on to another relay", .serialized)
  struct HandingOn {
    private typealias Body = [String: any Sendable]

    /// The settings of an upstream that is another relay.
    private static func settings(
      _ next: Relay, batch more: Body = [:], _ upstreamMore: Body = [:]
    ) -> Body {
      let batch: Body = ["format": "waystation", "itemsMax": 40]
      let settings: Body = [
        "url": "http://127.0.0.1:\(next.port)", "batch": batch.merging(more) { $1 },
        "retry": ["firstDelayMs": 20, "maxDelayMs": 200] as Body,
        "reachability": ["firstProbeDelayMs": 20, "maxProbeDelayMs": 200] as Body,
      ]
      return settings.merging(upstreamMore) { $1 }
    }

    private static func relay(
      to next: Relay, batch: Body = [:], _ upstreamMore: Body = [:], more: Body = [:]
    ) async throws -> Relay {
      let relay = try Relay(
        upstreams: ["default": settings(next, batch: batch, upstreamMore)], more: more)
      try await relay.start()
      return relay
    }

    private static func envelope(
      _ relay: Relay, _ client: String, key: String
    ) async throws -> [String: Any] {
      let list = try await relay.device().get("/v1/envelopes?client=\(client)&limit=100").json()
      let envelopes = try #require(list["envelopes"] as? [[String: Any]])
      let id = try #require(envelopes.first { $0["key"] as? String == key }?["id"] as? String)
      return try await relay.device().get("/v1/envelopes/\(id)").json()
    }

    private static func waitUntilDelivered(_ relay: Relay, _ count: Int) async throws {
      try await eventually("\(count) delivered", seconds: 60) {
        let store = try await relay.device().get("/status").json()["store"] as? [String: Any]
        let counts = store?["envelopes"] as? [String: Int]
        return counts?["delivered"] == count ? true : nil
      }
    }

    @Test("a client that has too much waiting at the next relay holds nobody else up")
    func quotaThere() async throws {
      let upstream = try TestUpstream()
      let next = try Relay(
        upstreams: ["default": Relay.quick(upstream, ["startPaused": true])],
        more: ["clients": ["bad": ["waitingEnvelopesMax": 1] as Body] as Body])
      try await next.start()
      let first = try await Self.relay(to: next)
      let posted = try await first.device("bad").post(
        batch: (0..<3).map { ["path": "/\($0)", "method": "GET"] as Body })
      #expect(posted.status == 202)
      let bad = first.device("bad")
      try await eventually("the next relay has refused some") {
        let list = try await bad.get("/v1/envelopes?client=bad").json()["envelopes"]
        let waiting = (list as? [[String: Any]])?.filter { $0["state"] as? String != "delivered" }
        return waiting?.contains { ($0["attemptCount"] as? Int ?? 0) > 0 } == true ? true : nil
      }
      let upstreams = try await bad.get("/v1/upstreams").json()["upstreams"] as? [[String: Any]]
      #expect(upstreams?.first?["heldUntil"] == nil, "\(upstreams ?? [])")
      _ = try await first.device("good").post(["path": "/good", "method": "GET"])
      try await eventually("the good client's is handed on") {
        let list = try await next.device().get("/v1/envelopes?client=good").json()["envelopes"]
        return (list as? [Any])?.count == 1 ? true : nil
      }
    }

    @Test(
      "client, lane, key, number, tag, terms, fields and body go along, and the id there is shown")
    func along() async throws {
      let upstream = try TestUpstream { _ in .answer(201, body: Array(#"{"id": 7}"#.utf8)) }
      let last = try await Relay.started(upstream)
      let first = try await Self.relay(to: last)
      let device = first.device("truck-7")
      let fields: Body = ["X-Colour": ["red", "blue"], "Content-Type": "application/json"]
      let whole: Body = [
        "key": "a", "lane": "log", "sequence": 1, "tag": "night", "method": "PUT",
        "path": "/readings/1?unit=C", "headers": fields, "body": ["celsius": 4] as Body,
        "expiresAt": "2036-01-02T03:04:05.006Z", "onFailure": "block",
      ]
      let bytes: Body = ["key": "b", "path": "/raw", "bodyBase64": "AAEC/w=="]
      let reference: Body = [
        "key": "c", "lane": "log", "path": "/notes/{{response:a#/id}}", "references": true,
      ]
      #expect(try await device.post(batch: [whole, bytes, reference]).status == 202)
      let requests = try await upstream.received(count: 3)
      let put = try #require(requests.first { $0.target == "/readings/1?unit=C" })
      #expect(put.method == "PUT" && put.body == Array(#"{"celsius":4}"#.utf8))
      #expect(
        put.message.fields.filter { $0.name == "X-Colour" }.map { $0.value } == ["red", "blue"])
      #expect(put["Waystation-Client"] == "truck-7")
      let raw = try #require(requests.first { $0.target == "/raw" })
      #expect(raw.body == [0, 1, 2, 255] && raw["Content-Type"] == nil)
      #expect(requests.contains { $0.target == "/notes/7" }, "filled from the upstream's answer")
      try await Self.waitUntilDelivered(first, 3)
      let here = try await Self.envelope(first, "truck-7", key: "a")
      let there = try await Self.envelope(last, "truck-7", key: "a")
      for (name, value) in [
        ("lane", "log"), ("tag", "night"), ("onFailure", "block"),
        ("expiresAt", "2036-01-02T03:04:05.006Z"),
      ] {
        #expect(there[name] as? String == value, "\(name)")
      }
      #expect(there["sequence"] as? Int == 1)
      // The upstream knows a repeat by the first relay's id.
      let id = try #require(here["id"] as? String)
      #expect(put["Idempotency-Key"] == id)
      let answer = try await first.device().get("/v1/envelopes/\(id)/response")
      #expect(try answer.json()["id"] as? String == there["id"] as? String)
    }

    @Test("a chain of three keeps order and keys from end to end through kills of each")
    func chain() async throws {
      let answers = Monitor(SeededGenerator(seed: 20_261_124))
      let upstream = try TestUpstream { _ in
        switch answers.change({ $0.next() % 40 }) {
        case 0: .cut
        case 1: .answer(503)
        default: .answer(200)
        }
      }
      let last = try await Relay.started(upstream)
      let middle = try await Self.relay(to: last)
      let first = try await Self.relay(to: middle)
      let (devices, each, rounds) = (8, 30, 3)
      var victims = [first, middle, last]
      for round in 0..<rounds {
        let numbers = (round * each / rounds)..<((round + 1) * each / rounds)
        let envelopes: [Body] = numbers.flatMap { number in
          (0..<devices).map { device in
            [
              "client": "d-\(device)", "key": "k-\(number)", "sequence": number + 1,
              "path": "/\(device)/\(number)",
              "headers": ["Idempotency-Key": "i-\(device)-\(number)"],
            ] as Body
          }
        }
        #expect(try await first.device("poster-\(round)").post(batch: envelopes).status == 202)
        _ = try await upstream.received(count: 10 * (round + 1))
        for victim in victims {
          try await victim.kill()
          try await victim.start()
        }
        victims.append(victims.removeFirst())
      }
      for relay in [first, middle, last] {
        try await Self.waitUntilDelivered(relay, devices * each)
      }
      var sent: [Int: [Int]] = [:]
      for request in upstream.received {
        let parts = request.target.split(separator: "/").compactMap { Int($0) }
        #expect(request["Idempotency-Key"] == "i-\(parts[0])-\(parts[1])")
        #expect(request["Waystation-Client"] == "d-\(parts[0])")
        guard sent[parts[0]]?.contains(parts[1]) != true else { continue }
        sent[parts[0], default: []].append(parts[1])
      }
      for device in 0..<devices { #expect(sent[device] == Array(0..<each), "d-\(device)") }
    }

    @Test(
      "the next relay does not wait for numbers that have ended here, and takes one of them later")
    func numbers() async throws {
      let upstream = try TestUpstream()
      let last = try await Relay.started(upstream)
      let first = try await Self.relay(to: last)
      let device = first.device("truck-7")
      _ = try await device.request("POST", "/v1/upstreams/default/pause")
      let envelopes: [Body] = (1...3).map { ["key": "k-\($0)", "sequence": $0, "path": "/\($0)"] }
      #expect(try await device.post(batch: envelopes).status == 202)
      let two = try await Self.envelope(first, "truck-7", key: "k-2")
      let path = "/v1/envelopes/\(try #require(two["id"] as? String))"
      #expect(try await device.request("DELETE", path).status == 200)
      _ = try await device.request("POST", "/v1/upstreams/default/resume")
      #expect(try await upstream.received(count: 2).map(\.target) == ["/1", "/3"])
      try await Self.waitUntilDelivered(last, 2)
      #expect(try await device.request("POST", path + "/requeue").status == 200)
      #expect(try await upstream.received(count: 3).map(\.target) == ["/1", "/3", "/2"])
      try await Self.waitUntilDelivered(first, 3)
    }

    @Test("a body that is too large to go with others goes by itself, with all that belongs to it")
    func large() async throws {
      let upstream = try TestUpstream()
      let last = try await Relay.started(upstream)
      let first = try await Self.relay(to: last, batch: ["upstream": "default"])
      let body = [UInt8](repeating: 0x5A, count: 600_000)
      let posted = try await first.device("cam-1").relay(
        "PUT", "/photos/9?size=full",
        headers: [
          "Idempotency-Key": "photo-9", "Waystation-Lane": "photos", "Waystation-Tag": "night",
          "Waystation-Sequence": "1", "Prefer": "return=minimal",
        ], body: body)
      #expect(posted.status == 202)
      let request = try await upstream.received(count: 1)[0]
      #expect(request.method == "PUT" && request.target == "/photos/9?size=full")
      #expect(request.body == body && request["Idempotency-Key"] == "photo-9")
      #expect(request["Waystation-Lane"] == nil)
      try await Self.waitUntilDelivered(first, 1)
      let there = try await Self.envelope(last, "cam-1", key: "photo-9")
      #expect(there["lane"] as? String == "photos" && there["tag"] as? String == "night")
      #expect(there["sequence"] as? Int == 1)
    }

    @Test(
      "the upstream at the end knows repeats by what it would get from the first relay",
      arguments: [10, 600_000])
    func keys(bodyBytes: Int) async throws {
      let upstream = try TestUpstream()
      let last = try await Relay.started(upstream)
      let first = try await Self.relay(to: last)
      let text = String(repeating: "x", count: bodyBytes)
      var wanted: Set<String> = ["their own"]
      for client in ["a", "b"] {
        let envelope: Body = ["client": client, "key": "same", "path": "/\(client)", "body": text]
        let posted = try await first.device(client).post(envelope)
        wanted.insert(try #require(try posted.json()["id"] as? String))
      }
      let own: Body = [
        "client": "c", "key": "k", "path": "/c", "body": text,
        "headers": ["Idempotency-Key": "their own"],
      ]
      #expect(try await first.device("c").post(own).status == 202)
      let requests = try await upstream.received(count: 3)
      #expect(Set(requests.compactMap { $0["Idempotency-Key"] }) == wanted)
      #expect(requests.allSatisfy { $0["Waystation-Key"] == nil })
      for (client, key) in [("a", "same"), ("b", "same"), ("c", "k")] {
        let there = try await Self.envelope(last, client, key: key)
        #expect(there["key"] as? String == key)
      }
    }

    @Test("what the next relay refuses blocks or skips its own lane, and says why")
    func refused() async throws {
      let upstream = try TestUpstream()
      let last = try Relay(
        upstreams: ["default": Relay.quick(upstream)],
        more: ["limits": ["bodyBytesMax": 2000, "spoolThresholdBytes": 2000] as Body])
      try await last.start()
      let first = try await Self.relay(to: last)
      let device = first.device()
      _ = try await device.request("POST", "/v1/upstreams/default/pause")
      let large = String(repeating: "x", count: 3000)
      let envelopes: [Body] = [
        ["client": "a", "key": "a-1", "path": "/a1", "body": large, "onFailure": "block"],
        ["client": "a", "key": "a-2", "path": "/a2"], ["client": "b", "key": "b-1", "path": "/b1"],
      ]
      #expect(try await device.post(batch: envelopes).status == 202)
      _ = try await device.request("POST", "/v1/upstreams/default/resume")
      #expect(try await upstream.received(count: 1)[0].target == "/b1")
      try await eventually("it blocks its lane") {
        let one = try await Self.envelope(first, "a", key: "a-1")
        return one["state"] as? String == "blocked" && one["responseStatus"] as? Int == 413
          ? true : nil
      }
      #expect(upstream.received.count == 1)
    }

    @Test("where a quota is used up at the next relay, what it did not take comes later, in order")
    func quota() async throws {
      let isOpen = Monitor(false)
      let upstream = try TestUpstream { _ in isOpen.read { $0 } ? .answer(200) : .answer(503) }
      let last = try Relay(
        upstreams: ["default": Relay.quick(upstream)],
        more: ["limits": ["clientWaitingEnvelopesMax": 3] as Body])
      try await last.start()
      let first = try await Self.relay(to: last, ["retryAfterMaxSeconds": 1])
      let envelopes: [Body] = (1...10).map { ["key": "k-\($0)", "sequence": $0, "path": "/\($0)"] }
      #expect(try await first.device("a").post(batch: envelopes).status == 202)
      try await eventually("three are there, and one was refused") {
        let one = try await Self.envelope(first, "a", key: "k-4")
        let attempts = one["attempts"] as? [[String: Any]]
        return attempts?.contains { $0["status"] as? Int == 429 } == true ? true : nil
      }
      isOpen.change { $0 = true }
      try await Self.waitUntilDelivered(last, 10)
      var seen: [String] = []
      for request in upstream.received where !seen.contains(request.target) {
        seen.append(request.target)
      }
      #expect(seen == (1...10).map { "/\($0)" })
    }

    @Test("what stands before the next relay and answers for it refuses no envelope")
    func proxy() async throws {
      let upstream = try TestUpstream()
      let last = try await Relay.started(upstream)
      let proxy = try TestUpstream { _ in .answer(404, body: Array("no such host".utf8)) }
      let first = try await Relay.started(
        proxy, upstreamMore: ["batch": ["format": "waystation"] as Body])
      let items: [Body] = (1...5).map { ["key": "k-\($0)", "path": "/\($0)"] }
      #expect(try await first.device("a").post(batch: items).status == 202)
      _ = try await proxy.received(count: 2)
      try first.configure(upstreams: ["default": Self.settings(last)])
      first.signal(SIGHUP)
      try await Self.waitUntilDelivered(first, 5)
      #expect(try await upstream.received(count: 5).map(\.target) == (1...5).map { "/\($0)" })
    }

    @Test("an upstream that does not answer as a relay does has taken nothing")
    func noRelay() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(
        upstream, upstreamMore: ["batch": ["format": "waystation"] as Body])
      #expect(try await relay.device("a").post(["key": "k", "path": "/a"]).status == 202)
      _ = try await upstream.received(count: 2)
      try await relay.log(holds: "results do not fit the envelopes of a request")
      let one = try await Self.envelope(relay, "a", key: "k")
      #expect(one["state"] as? String == "queued" || one["state"] as? String == "delivering")
      #expect(
        try await relay.device().get("/status").text.contains(
          "did not answer as a relay does, with a result for each envelope"))
    }

    @Test(
      "what goes by itself is taken by a relay's receipt alone, and no page that a network answers",
      arguments: [(200, "<html>Log in</html>"), (200, "{}"), (404, "no such host"), (403, "no")])
    func alone(status: Int, text: String) async throws {
      let upstream = try TestUpstream()
      let last = try await Relay.started(upstream)
      let network = try TestUpstream { _ in .answer(status, body: Array(text.utf8)) }
      let first = try await Relay.started(
        network, upstreamMore: ["batch": ["format": "waystation"] as Body])
      let body = [UInt8](repeating: 0x5A, count: 600_000)
      let posted = try await first.device("a").relay(
        "PUT", "/photos/1", headers: ["Idempotency-Key": "k"], body: body)
      #expect(posted.status == 202)
      let asked = try await network.received(count: 2)
      #expect(asked.allSatisfy { $0.target.hasPrefix("/v1/relay/") })
      let one = try await Self.envelope(first, "a", key: "k")
      #expect(one["state"] as? String == "queued" || one["state"] as? String == "delivering")
      try first.configure(upstreams: ["default": Self.settings(last)])
      first.signal(SIGHUP)
      #expect(try await upstream.received(count: 1)[0].body == body)
      try await Self.waitUntilDelivered(first, 1)
    }

    @Test(
      "relays in a circle do not swallow an envelope: it waits until one of them leads elsewhere",
      arguments: [1, 2], [10, 200_000])
    func circle(relays count: Int, bodyBytes: Int) async throws {
      let upstream = try TestUpstream()
      let first = try await Relay.started(upstream)
      let last = count == 1 ? first : try await Self.relay(to: first)
      try first.configure(upstreams: ["default": Self.settings(last)])
      try await first.kill()
      try await first.start()
      let text = String(repeating: "x", count: bodyBytes)
      let envelope: Body = ["key": "k", "path": "/a", "body": text]
      #expect(try await first.device("a").post(envelope).status == 202)
      try await eventually("the last one is refused by the first") { () -> Bool? in
        let list = try await last.device().get("/v1/envelopes?client=a").json()
        guard (list["envelopes"] as? [Any])?.isEmpty == false else { return nil }
        let one = try await Self.envelope(last, "a", key: "k")
        let attempts = one["attempts"] as? [[String: Any]]
        return attempts?.contains { $0["status"] as? Int == 508 } == true ? true : nil
      }
      try last.configure(upstreams: ["default": Relay.quick(upstream)])
      last.signal(SIGHUP)
      let request = try await upstream.received(count: 1)[0]
      #expect(request.target == "/a" && request.body.count == bodyBytes)
      try await Self.waitUntilDelivered(first, 1)
    }
  }
}
