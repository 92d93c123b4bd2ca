import Foundation
import Glibc
import RelayCore
import Testing

extension EndToEnd {
  @Suite("A store in which everything was used", .serialized, .ofFiles)
  struct WholeStores {
    private typealias Body = [String: any Sendable]

    private let upstream: TestUpstream
    private let relay: Relay

    init() async throws {
      upstream = try TestUpstream { request in
        let body = Array(#"{"id":1}"#.utf8)
        return request.target.hasPrefix("/no") ? .answer(422) : .answer(200, body: body)
      }
      relay = try await Relay.guarded(
        upstream,
        more: [
          "upstreams": [
            "default": ["url": upstream.url] as Body, "alarm": ["url": upstream.url] as Body,
            "bulk": ["url": upstream.url, "batch": ["format": "ndjson"] as Body] as Body,
            "away": ["url": "http://127.0.0.1:1"] as Body,
          ] as Body,
          "limits": ["spoolThresholdBytes": 1000] as Body, "notify": ["upstream": "alarm"] as Body,
        ])
    }

    private var data: String { relay.folder.path + "/data" }
    private var device: Device { relay.device("truck-7", token: Credentials.derived("truck-7")) }

    private func steer(_ method: String, _ target: String, _ body: Body? = nil) async throws {
      let answer = try await relay.steering.request(
        method, target, headers: body == nil ? [:] : ["Content-Type": "application/json"],
        body: try body.map { try Device.json($0) } ?? [])
      #expect((200..<300).contains(answer.status), "\(method) \(target) \(answer)")
    }

    private func post(_ envelope: Body) async throws -> String {
      let answer = try await device.post(envelope)
      return try #require(try answer.json()["id"] as? String, "\(answer)")
    }

    private func end(_ id: String, as state: String) async throws {
      try await eventually("\(id) is \(state)") {
        let shown = try await relay.reading.get("/v1/envelopes/\(id)").json()
        return shown["state"] as? String == state ? true : nil
      }
    }

    /// Envelopes of every form, some of which end, each in another way, and some of which wait.
    private func fill() async throws {
      let order = try await post(["path": "/o", "key": "o", "tag": "t"])
      let note = try await post(["path": "/{{response:o#/id}}", "references": true])
      let large = try await post(["path": "/large", "body": String(repeating: "x", count: 5000)])
      let bulk = try await post(["path": "/b", "upstream": "bulk", "body": ["n": 1] as Body])
      for id in [order, note, large, bulk] { try await end(id, as: "delivered") }
      try await end(try await post(["path": "/no/1", "lane": "skips"]), as: "failed")
      let blocked: Body = ["path": "/no/2", "onFailure": "block"]
      for (lane, action) in [("a", "retry"), ("b", "discard"), ("c", nil)] {
        let id = try await post(blocked.merging(["lane": lane]) { $1 })
        try await end(id, as: "blocked")
        guard let action else { continue }
        try await steer("POST", "/v1/envelopes/\(id)/resolve", ["action": action])
      }
      let held = try await post(["path": "/h", "lane": "held", "hold": true])
      try await steer("PATCH", "/v1/envelopes/\(held)", ["tag": "edited"])
      let cancelled = try await post(["path": "/c", "lane": "gone", "hold": true])
      try await steer("DELETE", "/v1/envelopes/\(cancelled)")
      let soon = ISO8601DateFormatter().string(from: Date().addingTimeInterval(2))
      let late = try await post(["path": "/e", "lane": "late", "hold": true, "expiresAt": soon])
      for _ in 0..<2 {
        _ = try await post([
          "path": "/p", "upstream": "away", "lane": "place", "coalesce": "p", "key": "\(UUID())",
        ])
      }
      try await number()
      try await end(late, as: "expired")
    }

    /// Sequence numbers that come, are void, are given up, and are waited for.
    private func number() async throws {
      let answer = try await device.post(batch: [
        ["lane": "n", "sequence": 2, "void": true], ["lane": "n", "sequence": 1, "path": "/1"],
        ["lane": "n", "sequence": 6, "path": "/6"], ["lane": "n", "sequence": 5, "void": true],
      ])
      #expect(answer.status == 202, "\(answer)")
      try await steer("POST", "/v1/clients/truck-7/lanes/n/skip")
      for (lane, number) in [("m", 3), ("n", 9)] {
        _ = try await post(["lane": lane, "sequence": number, "path": "/\(number)"])
      }
      _ = try await post(["lane": "m", "sequence": 7, "inOrder": true, "path": "/7"])
      _ = try await post(["lane": "m", "sequence": 9, "path": "/9"])
    }

    /// What operators do.
    private func operate() async throws {
      for target in ["upstreams/bulk", "clients/truck-9", "clients/truck-9/lanes/x"] {
        try await steer("POST", "/v1/\(target)/pause")
      }
      for terms in [["client": "till-1"], ["role": "read"], ["role": "steer"]] {
        _ = try await relay.token(terms)
      }
      let spare = try await relay.token(["client": "till-3"])
      try await steer("DELETE", "/v1/tokens/\(spare.id)")
      let checkIn = try await device.request(
        "POST", "/v1/checkin", headers: ["Content-Type": "application/json"],
        body: Array("{}".utf8))
      #expect(checkIn.status == 200, "\(checkIn)")
      for action in RelayCore.Operation.Action.allCases {
        try await begin(action)
        try await allDone()
      }
      let shown = try await relay.reading.get("/v1/operations").json()
      let operations = try #require(shown["operations"] as? [[String: Any]])
      let actions = operations.map { $0["action"] as? String }
      #expect(Set(actions) == Set(RelayCore.Operation.Action.allCases.map(\.rawValue)))
    }

    /// Counts, and begins; once more where the count has changed meanwhile.
    private func begin(_ action: RelayCore.Operation.Action) async throws {
      let terms: Body = ["action": action.rawValue, "filter": ["client": "truck-7"] as Body]
      func ask(_ query: String, _ body: Body) async throws -> WireResponse {
        try await relay.steering.request(
          "POST", "/v1/operations\(query)", headers: ["Content-Type": "application/json"],
          body: Device.json(body))
      }
      try await eventually("\(action) begins") {
        let counted = try await ask("?dryRun=true", terms)
        let count = try #require(try counted.json()["matched"] as? Int, "\(counted)")
        let begun = try await ask("", terms.merging(["expectedCount": count]) { $1 })
        return begun.status == 202 ? true : nil
      }
    }

    private func allDone() async throws {
      try await eventually("all operations have ended") {
        let shown = try await relay.reading.get("/v1/operations").json()
        let operations = try #require(shown["operations"] as? [[String: Any]])
        return operations.allSatisfy { $0["state"] as? String == "done" } ? true : nil
      }
    }

    private func isSound(_ folder: String) async throws {
      let check = try await Waystation.run("store", "check", "--data", folder)
      #expect(check.ending == .exit(0), "\(check)")
    }

    @Test("it is sound while it is used and after that, can be copied, and salvaged as a whole")
    func everything() async throws {
      try await fill()
      try await operate()
      try await isSound(data)
      let copy = relay.folder.path + "/copy"
      let backup = try await Waystation.run("store", "backup", "--data", data, "--to", copy)
      #expect(backup.ending == .exit(0), "\(backup)")
      try await isSound(copy)
      let audit = try await relay.reading.get("/v1/audit?limit=200").json()
      relay.signal(SIGTERM)
      try await relay.ending()
      try await isSound(data)
      let new = relay.folder.path + "/new"
      let salvage = try await Waystation.run("store", "salvage", "--data", data, "--to", new)
      #expect(salvage.ending == .exit(0) && salvage.errors.isEmpty, "\(salvage)")
      try await isSound(new)
      try FileManager.default.removeItem(atPath: data)
      try FileManager.default.moveItem(atPath: new, toPath: data)
      try await relay.start()
      let shown = try await relay.reading.get("/v1/operations").json()
      let operations = try #require(shown["operations"] as? [[String: Any]])
      #expect(
        Set(operations.compactMap { $0["action"] as? String })
          == Set(RelayCore.Operation.Action.allCases.map(\.rawValue)))
      let kept = try await relay.reading.get("/v1/audit?limit=200").json()
      #expect((kept["entries"] as? [Any])?.count == (audit["entries"] as? [Any])?.count)
    }
  }
}
