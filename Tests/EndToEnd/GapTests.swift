import Foundation
import Testing

extension EndToEnd {
  @Suite("Gaps in sequence numbers", .serialized)
  struct Gaps {
    private let upstream: TestUpstream
    private let relay: Relay

    init() async throws {
      upstream = try TestUpstream()
      relay = try await Relay.started(upstream)
    }

    /// A device with a connection of its own, which no restart has cut.
    private var device: Device { relay.device() }

    private var targets: [String] { upstream.received.map(\.target) }

    /// Kills the relay as a power cut would, and starts it again.
    private func restart() async throws {
      try await relay.kill()
      try await relay.start()
    }

    /// Posts an envelope that has a number and a path that says it.
    private func post(
      _ number: Int, _ more: [String: any Sendable] = [:]
    ) async throws -> WireResponse {
      let envelope: [String: any Sendable] = ["path": "/\(number)", "sequence": number]
      return try await device.post(envelope.merging(more) { _, given in given })
    }

    private func id(_ response: WireResponse) throws -> String {
      try #require(response.json()["id"] as? String)
    }

    private func state(_ id: String) async throws -> String? {
      try await device.get("/v1/envelopes/\(id)").json()["state"] as? String
    }

    private func missing(_ json: [String: Any]) -> [[Int]]? {
      (json["missing"] as? [[String: Int]])?.map { [$0["first"] ?? 0, $0["last"] ?? 0] }
    }

    private func lane(_ name: String = "default") async throws -> [String: Any] {
      let client = try await device.get("/v1/clients/device-1").json()
      let lanes = try #require(client["lanes"] as? [[String: Any]])
      return try #require(lanes.first { $0["name"] as? String == name })
    }

    // MARK: - Waiting for what is missing

    @Test("what comes ahead of a gap is kept, names what is missing, and flows once that has come")
    func flows() async throws {
      let one = try await post(1)
      #expect(try one.json()["missing"] == nil)
      let five = try await post(5)
      #expect(five.status == 202)
      #expect(try five.json()["state"] as? String == "parked")
      #expect(try five.json()["position"] == nil)
      #expect(try missing(five.json()) == [[2, 4]])
      let relayed = try await device.relay(
        "POST", "/3", headers: ["Waystation-Sequence": "3"], body: Array("x".utf8))
      #expect(relayed.status == 202)
      #expect(relayed["Waystation-State"] == "parked")
      #expect(try missing(relayed.json()) == [[2, 2]])
      // What is under way when the plug is pulled is sent again.
      #expect(try await device.end(of: id(one))["state"] as? String == "delivered")
      try await restart()

      let shown = try await lane()
      #expect(shown["lastSequence"] as? Int == 1 && shown["highestSequence"] as? Int == 5)
      #expect(shown["parked"] as? Int == 2 && shown["state"] as? String == "parked")
      #expect(missing(shown) == [[2, 2], [4, 4]])
      let client = try await device.get("/v1/clients/device-1").json()
      #expect((client["states"] as? [String: Int])?["parked"] == 2)
      let view = try await device.get("/v1/envelopes/\(try id(five))").json()
      #expect(missing(view) == [[2, 2], [4, 4]] && view["state"] as? String == "parked")
      let list = try await device.get("/v1/envelopes?state=parked").json()
      let listed = try #require(list["envelopes"] as? [[String: Any]])
      #expect(try listed.map { $0["id"] as? String } == [id(five), id(relayed)])
      let run = try await device.request("POST", "/v1/envelopes/\(try id(five))/run")
      #expect(run.status == 409)
      #expect(run.problem == "parked")
      #expect(try missing(run.json()) == [[2, 2], [4, 4]])

      #expect(try await post(2).status == 202)
      #expect(try await device.end(of: id(relayed))["state"] as? String == "delivered")
      #expect(try await state(id(five)) == "parked")
      try await restart()
      #expect(try await post(4).status == 202)
      #expect(try await device.end(of: id(five))["state"] as? String == "delivered")
      #expect(targets == ["/1", "/2", "/3", "/4", "/5"])
      let whole = try await lane()
      #expect(whole["lastSequence"] as? Int == 5 && whole["highestSequence"] == nil)
      #expect(whole["parked"] == nil && whole["missing"] == nil)
    }

    @Test("a batch in any order is delivered in that of its numbers, and says what it waits for")
    func batch() async throws {
      let answer = try await device.post(
        batch: [3, 1, 2, 6].map { ["path": "/\($0)", "sequence": $0] })
      #expect(answer.status == 202)
      let results = try #require(answer.json()["results"] as? [[String: Any]])
      #expect(
        results.map { $0["state"] as? String } == ["queued", "queued", "queued", "parked"])
      #expect(missing(results[3]) == [[4, 5]])
      let strict = try await device.post(
        batch: [["path": "/5", "sequence": 5], ["path": "/other", "sequence": 1]],
        headers: ["Prefer": "handling=strict"])
      #expect(strict.status == 422)
      #expect(strict.text.contains("urn:waystation:problem:sequence-conflict"))
      _ = try await device.post(
        batch: [5, 4].map { ["path": "/\($0)", "sequence": $0] },
        headers: ["Prefer": "handling=strict"])
      try await upstream.received(count: 6)
      #expect(targets == (1...6).map { "/\($0)" })
    }

    @Test("a number seen again is a duplicate, also over a restart, and other content is refused")
    func duplicates() async throws {
      let three = try id(await post(3))
      for isRestarted in [false, true] {
        if isRestarted { try await restart() }
        let again = try await post(3)
        #expect(again.status == 202)
        #expect(try again.json()["result"] as? String == "duplicate")
        #expect(try again.json()["id"] as? String == three)
        let other = try await post(3, ["path": "/other"])
        #expect(other.status == 422)
        #expect(other.problem == "sequence-conflict")
        #expect(try other.json()["id"] as? String == three)
        #expect(try other.json()["field"] as? String == "/sequence")
      }
      _ = try await post(2)
      _ = try await post(1)
      _ = try await device.end(of: three)
      let done = try await post(3)
      #expect(try done.json()["result"] as? String == "duplicate")
      #expect(try done.json()["state"] as? String == "delivered")
      #expect(targets == ["/1", "/2", "/3"])
    }

    @Test("who waits for the end of one that is parked hears of it")
    func waiting() async throws {
      let two = try id(await post(2))
      let relay = relay
      let began = Date()
      async let waited = relay.device().end(of: two)
      async let relayed = relay.device().relay(
        "POST", "/3", headers: ["Waystation-Sequence": "3", "Prefer": "wait=20"], body: [])
      try await eventually("the second one to be parked") {
        try await lane()["parked"] as? Int == 2 ? true : nil
      }
      _ = try await post(1)
      #expect(try await waited["state"] as? String == "delivered")
      #expect(try await relayed["Waystation-Upstream-Status"] == "200")
      // A wait that has run out shows the end as well, after 20 s.
      #expect(Date().timeIntervalSince(began) < 15)
    }

    @Test("nothing is lost and nothing overtakes if the plug is pulled while a long queue moves")
    func killed() async throws {
      upstream.stop()
      let count = 2000
      for start in stride(from: 2, to: count, by: 500) {
        let batch = (start..<start + 500).map { number -> [String: any Sendable] in
          ["path": "/\(number)", "sequence": number]
        }
        #expect(try await device.post(batch: batch).status == 202)
      }
      #expect(try await post(1).status == 202)
      for _ in 0..<2 { try await restart() }
      try upstream.start()
      try await upstream.received(count: count + 1, seconds: 60)
      var seen: Set<String> = []
      let order = targets.filter { seen.insert($0).inserted }
      #expect(order == (1...count + 1).map { "/\($0)" })
      #expect(try await lane()["lastSequence"] as? Int == count + 1)
    }

    // MARK: - Changing what is parked

    @Test("what is parked can be cancelled, corrected and requeued, over restarts")
    func changes() async throws {
      let ids = try await [2, 3, 4].asyncMap { try id(await post($0)) }
      let cancelled = try await device.request("DELETE", "/v1/envelopes/\(ids[0])")
      #expect(cancelled.status == 200)
      #expect(try cancelled.json()["state"] as? String == "cancelled")
      let patched = try await device.request(
        "PATCH", "/v1/envelopes/\(ids[1])",
        headers: ["Content-Type": "application/merge-patch+json"],
        body: Device.json(["path": "/corrected", "hold": true] as [String: any Sendable]))
      #expect(patched.status == 200)
      #expect(try patched.json()["state"] as? String == "parked")
      #expect(try patched.json()["hold"] as? Bool == true)
      try await restart()
      _ = try await device.request("DELETE", "/v1/envelopes/\(ids[2])")
      let again = try await device.request("POST", "/v1/envelopes/\(ids[2])/requeue")
      #expect(again.status == 200)
      #expect(try again.json()["state"] as? String == "parked")
      let resolve = try await device.request(
        "POST", "/v1/envelopes/\(ids[2])/resolve", headers: ["Content-Type": "application/json"],
        body: Device.json(["action": "retry"]))
      #expect(resolve.problem == "not-blocked")
      try await restart()

      _ = try await post(1)
      try await eventually("the corrected one to be held in line") {
        try await state(ids[1]) == "held" ? true : nil
      }
      // Its number has come, so it takes its place before those behind it.
      upstream.behave { $0.target == "/2" ? .answer(200) : .answer(204) }
      let requeued = try await device.request("POST", "/v1/envelopes/\(ids[0])/requeue")
      #expect(requeued.status == 200)
      #expect(try await device.end(of: ids[0])["state"] as? String == "delivered")
      try await restart()
      _ = try await device.request("POST", "/v1/envelopes/\(ids[1])/run")
      #expect(try await device.end(of: ids[2])["state"] as? String == "delivered")
      #expect(targets == ["/1", "/2", "/corrected", "/4"])
    }

    @Test("one whose deadline passes while it is parked expires, and counts as taken")
    func expires() async throws {
      let two = try id(await post(2, ["expiresAt": "2020-01-01T00:00:00Z"]))
      let three = try id(await post(3))
      let end = try await device.end(of: two)
      #expect(end["state"] as? String == "expired")
      #expect((end["reason"] as? String)?.contains("missing") == true)
      try await restart()
      _ = try await post(1)
      #expect(try await device.end(of: three)["state"] as? String == "delivered")
      #expect(targets == ["/1", "/3"])
    }

    @Test("the end of one that was parked is told at a check-in, also once its number has come")
    func checkIn() async throws {
      let ask = { @Sendable (device: Device) in
        try await device.request(
          "POST", "/v1/checkin", headers: ["Content-Type": "application/json"],
          body: Array(#"{"client":"device-1"}"#.utf8)
        ).json()["ended"] as? [[String: Any]]
      }
      #expect(try await ask(device)?.isEmpty == true)
      let two = try id(await post(2, ["hold": true]))
      _ = try await device.request("DELETE", "/v1/envelopes/\(two)")
      _ = try await post(1, ["hold": true])
      try await restart()
      #expect(try await ask(device)?.map { $0["id"] as? String } == [two])
    }

    @Test("all that is parked of a client is forgotten with the rest")
    func forgotten() async throws {
      let three = try id(await post(3))
      _ = try await post(1, ["hold": true])
      let answer = try await device.request("DELETE", "/v1/clients/device-1/envelopes")
      #expect(answer.text == #"{"cancelled":2}"#)
      try await restart()
      #expect(try await state(three) == "cancelled")
      _ = try await post(2)
      let four = try id(await post(4))
      #expect(try await device.end(of: four)["state"] as? String == "delivered")
      #expect(targets == ["/2", "/4"])
    }

    // MARK: - Giving up

    @Test("a lane with a gapTimeout goes on without what is missing, and refuses that from then on")
    func gapTimeout() async throws {
      try relay.configure(
        upstreams: ["default": Relay.quick(upstream)],
        more: ["lanes": ["patient-*": ["gapTimeoutSeconds": 1] as [String: any Sendable]]])
      try await restart()
      let lane = ["lane": "patient-1"]
      let three = try id(await post(3, lane))
      let other = try id(await post(3))
      // Since when it waits is not forgotten.
      try await restart()
      #expect(try await device.end(of: three)["state"] as? String == "delivered")
      try await relay.log(holds: "lane goes on without missing sequence numbers")
      let late = try await post(2, lane)
      #expect(late.status == 409)
      #expect(late.problem == "sequence-passed")
      #expect(try late.json()["lastSequence"] as? Int == 3)
      try await restart()
      #expect(try await post(1, lane).problem == "sequence-passed")
      #expect(try await post(4, lane).json()["state"] as? String == "queued")
      #expect(try await state(other) == "parked")
      // The three of the one lane, and never that of the other.
      try await upstream.received("number four") { $0.contains { $0.target == "/4" } }
      #expect(Set(targets) == ["/3", "/4"])
    }

    @Test("what was parked later waits for as long as it may itself, and is then given up as well")
    func gapTimeoutAgain() async throws {
      try relay.configure(
        upstreams: ["default": Relay.quick(upstream)],
        more: ["lanes": ["patient": ["gapTimeoutSeconds": 1] as [String: any Sendable]]])
      try await restart()
      let lane = ["lane": "patient"]
      let began = Date()
      let three = try id(await post(3, lane))
      try await eventually("a later moment") {
        Date().timeIntervalSince(began) > 0.6 ? true : nil
      }
      let five = try id(await post(5, lane))
      // Nothing else is posted: only the one lane's own waits can have it looked at again.
      for id in [three, five] {
        #expect(try await device.end(of: id)["state"] as? String == "delivered")
      }
      #expect(targets == ["/3", "/5"])
    }
  }
}

extension Array where Element: Sendable {
  fileprivate func asyncMap<Value>(
    _ transform: (Element) async throws -> Value
  ) async rethrows -> [Value] {
    var values: [Value] = []
    for element in self { values.append(try await transform(element)) }
    return values
  }
}
