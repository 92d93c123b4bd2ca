import Foundation
import Testing

extension EndToEnd {
  @Suite("Blocked lanes, as a device that checks in is told of them", .serialized)
  struct BlockedLanes {
    private static let refusal = #"{"errorId": "E-17", "detail": "No stock."}"#
    private let upstream: TestUpstream
    private let relay: Relay
    private var device: Device { relay.device() }

    init() async throws {
      upstream = try TestUpstream { request in
        guard request.target == "/bad" else { return .answer(200) }
        let type = WireField(name: "Content-Type", value: "application/problem+json")
        return .answer(409, fields: [type], body: Array(Self.refusal.utf8))
      }
      relay = try await Relay.started(upstream)
    }

    private func post(_ envelope: [String: any Sendable]) async throws -> String {
      let answer = try await device.post(envelope)
      let id = try #require(answer.json()["id"] as? String)
      _ = try await device.end(of: id)
      return id
    }

    private func lanes(_ answer: WireResponse) throws -> [[String: Any]] {
      #expect(answer.status == 200, "\(answer.text)")
      return try #require(try answer.json()["lanes"] as? [[String: Any]])
    }

    private func checkIn(_ names: String...) async throws -> [[String: Any]] {
      var question: [String: any Sendable] = ["client": "device-1"]
      if !names.isEmpty { question["lanes"] = names.map { ["lane": $0] } }
      return try lanes(
        try await device.request(
          "POST", "/v1/checkin", headers: ["Content-Type": "application/json"],
          body: Device.json(question)))
    }

    @Test("a check-in says what blocks a lane, also one that was not asked about, over kill -9")
    func told() async throws {
      _ = try await post(["path": "/fine", "lane": "a"])
      let id = try await post([
        "path": "/bad", "lane": "b", "key": "k-1", "sequence": 1, "onFailure": "block",
      ])
      _ = try await device.post(["path": "/fine", "lane": "b", "sequence": 2])
      for _ in 0..<2 {
        let told = try await checkIn("a")
        try #require(told.map { $0["lane"] as? String } == ["a", "b"])
        #expect(told[0]["blockedBy"] == nil && told[1]["waiting"] as? Int == 2)
        let blockedBy = try #require(told[1]["blockedBy"] as? [String: Any])
        #expect(blockedBy["id"] as? String == id && blockedBy["key"] as? String == "k-1")
        #expect(blockedBy["sequence"] as? Int == 1 && blockedBy["responseStatus"] as? Int == 409)
        #expect(blockedBy["reason"] as? String == "the upstream answered 409")
        #expect(blockedBy["errorId"] as? String == "E-17" && blockedBy["blockedAt"] is String)
        #expect(blockedBy["errorMessage"] as? String == "No stock.")
        let client = try await device.get("/v1/clients/device-1").json()
        let needs = try #require(client["needsAttention"] as? [[String: Any]])
        let fix = needs[0]["fix"] as? String
        #expect(fix?.contains("/v1/clients/device-1/envelopes/k-1") == true)
        for (name, value) in blockedBy {
          #expect("\(needs[0][name] ?? "nothing")" == "\(value)", "\(name)")
        }
        for told in [try await checkIn(), try await checkIn("b", "a")] {
          let blocked = told.filter { $0["blockedBy"] != nil }.map { $0["lane"] as? String }
          #expect(told.count == 2 && blocked == ["b"])
        }
        try await relay.kill()
        try await relay.start()
      }
      _ = try await device.request(
        "POST", "/v1/envelopes/\(id)/resolve", headers: ["Content-Type": "application/json"],
        body: Device.json(["action": "discard"]))
      #expect(try await checkIn("a").map { $0["lane"] as? String } == ["a"])
      #expect(try await checkIn("b")[0]["blockedBy"] == nil)
    }

    @Test("a device that only syncs is told as well, and that the relay tells it")
    func syncing() async throws {
      let id = try await post(["path": "/bad", "lane": "b", "onFailure": "block"])
      let answer = try await device.request(
        "POST", "/v1/sync", headers: ["Content-Type": "application/x-ndjson"],
        body: Array((#"{"client":"device-1"}"# + "\n" + #"{"path":"/fine","lane":"a"}"#).utf8))
      let told = try lanes(answer)
      let blocked = told.compactMap { $0["blockedBy"] as? [String: Any] }
      #expect(told.count == 2 && blocked.map { $0["id"] as? String } == [id])
      #expect(blocked[0]["key"] == nil && blocked[0]["sequence"] == nil)
      let features = (try answer.json()["relay"] as? [String: Any])?["features"] as? [String]
      #expect(features?.contains("blocked-lanes") == true)
    }

    @Test("a lane's highest number is told, also while it is parked")
    func highest() async throws {
      for number in [1, 2, 5] { _ = try await device.post(["path": "/", "sequence": number]) }
      _ = try await device.post(["path": "/", "lane": "plain"])
      let numbered = try await checkIn("default", "plain", "new")
      #expect(numbered.map { $0["highestSequence"] as? Int } == [5, nil, nil])
      #expect(numbered.map { $0["lastSequence"] as? Int } == [2, nil, nil])
      for number in [3, 4] { _ = try await device.post(["path": "/", "sequence": number]) }
      let whole = try await checkIn()
      #expect(whole[0]["highestSequence"] as? Int == 5 && whole[0]["lastSequence"] as? Int == 5)
    }
  }
}
