import Foundation
import Testing

extension EndToEnd {
  @Suite("Dead letters", .serialized)
  struct DeadLetters {
    private let upstream: TestUpstream
    private let relay: Relay

    init() async throws {
      upstream = try TestUpstream()
      relay = try await Relay.started(upstream)
      upstream.behave { $0.target == "/bad" ? .answer(422) : .answer(200) }
    }

    /// A device with a connection of its own, which no restart has cut.
    private var device: Device { relay.device() }
    private var targets: [String] { upstream.received.map(\.target) }

    private func post(_ path: String, _ more: [String: any Sendable] = [:]) async throws -> String {
      let answer = try await device.post(more.merging(["path": path]) { given, _ in given })
      return try #require(answer.json()["id"] as? String)
    }

    private func postBad() async throws -> String {
      let id = try await post("/bad")
      #expect(try await device.end(of: id)["state"] as? String == "failed")
      return id
    }

    private func patch(_ id: String, _ body: [String: any Sendable]) async throws -> WireResponse {
      try await device.request(
        "PATCH", "/v1/envelopes/\(id)", headers: ["Content-Type": "application/merge-patch+json"],
        body: Device.json(body))
    }

    private func cancel(_ id: String) async throws -> WireResponse {
      try await device.request("DELETE", "/v1/envelopes/\(id)")
    }

    @discardableResult
    private func requeue(_ id: String, until end: String? = nil) async throws -> [String: Any] {
      let answer = try await device.request(
        "POST", "/v1/envelopes/\(id)/requeue",
        headers: end == nil ? [:] : ["Content-Type": "application/json"],
        body: try end.map { try Device.json(["expiresAt": $0]) })
      #expect(answer.status == 200)
      return try answer.json()
    }

    /// Kills the relay as a power cut would, and starts it again.
    private func restart() async throws {
      try await relay.kill()
      try await relay.start()
    }

    @Test("a dead letter is corrected where it lies, and sent as corrected, over a restart")
    func corrected() async throws {
      let id = try await postBad()
      let large = String(repeating: "x", count: 1_000_000)
      let patched = try await patch(
        id, ["path": "/good", "body": large, "tag": "t", "headers": ["X-Fixed": "1"]])
      #expect(patched.status == 200)
      #expect(try patched.json()["state"] as? String == "failed")
      try await restart()
      let lying = try await device.get("/v1/envelopes/\(id)").json()
      #expect(lying["state"] as? String == "failed" && lying["path"] as? String == "/good")
      #expect(lying["tag"] as? String == "t" && lying["endedAt"] is String)
      #expect(targets == ["/bad"])
      try await requeue(id)
      #expect(try await device.end(of: id)["state"] as? String == "delivered")
      #expect(targets == ["/bad", "/good"])
      #expect(upstream.received.last?["X-Fixed"] == "1")
      #expect(upstream.received.last?.body == Array(large.utf8))
      for answer in [try await patch(id, ["tag": "u"]), try await cancel(id)] {
        #expect(answer.status == 409 && answer.problem == "already-ended")
        #expect(try answer.json()["state"] as? String == "delivered")
      }
    }

    @Test("what was cancelled before it was sent is sent as it was corrected since")
    func correctedCancelled() async throws {
      // Behind the head, so that the relay still remembers what was posted.
      let head = try await post("/head", ["hold": true])
      let id = try await post("/bad")
      #expect(try await cancel(id).status == 200)
      #expect(try await patch(id, ["path": "/good"]).json()["state"] as? String == "cancelled")
      try await requeue(id)
      #expect(
        try await device.request("POST", "/v1/envelopes/\(head)/run").status == 200)
      #expect(try await device.end(of: id)["state"] as? String == "delivered")
      #expect(targets == ["/head", "/good"])
    }

    @Test("a dead letter is cancelled, as often as one likes, over a restart")
    func cancelled() async throws {
      let id = try await postBad()
      for _ in 0..<2 {
        let answer = try await cancel(id)
        #expect(answer.status == 200)
        #expect(try answer.json()["state"] as? String == "cancelled")
        #expect(try answer.json()["attemptCount"] as? Int == 1)
        try await restart()
      }
      let client = try await device.get("/v1/clients/device-1").json()
      let states = client["states"] as? [String: Int]
      #expect(states?["cancelled"] == 1 && states?["failed"] ?? 0 == 0)
      let status = try await device.get("/status").json()
      let counts = (status["store"] as? [String: Any])?["envelopes"] as? [String: Int]
      #expect(counts?["cancelled"] == 1 && counts?["failed"] == 0)
      let late = try await patch(id, ["hold": true])
      #expect(late.status == 422 && late.problem == "invalid-field")
      #expect(targets == ["/bad"])
    }

    @Test("corrections and requeues at the same moment come one after the other")
    func atOnce() async throws {
      let id = try await postBad()
      let relay = relay
      // The upstream is away, so that whatever waits again waits long enough.
      upstream.stop()
      try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 0..<6 {
          group.addTask {
            try await relay.device().request(
              "PATCH", "/v1/envelopes/\(id)",
              headers: ["Content-Type": "application/merge-patch+json"],
              body: Device.json(["path": "/good", "tag": "t\(number)"])
            ).status
          }
        }
        group.addTask {
          try await relay.device().request("POST", "/v1/envelopes/\(id)/requeue").status
        }
        for try await status in group { #expect(status == 200 || status == 409) }
      }
      try await eventually("pause between two attempts") {
        try await patch(id, ["path": "/good"]).status == 200 ? true : nil
      }
      try upstream.start()
      #expect(try await device.end(of: id)["state"] as? String == "delivered")
      #expect(targets.last == "/good")
    }

    @Test("what was held, or waited for its time, does so again once it is requeued")
    func waitsAgain() async throws {
      let held = try await post("/held", ["hold": true, "lane": "a"])
      let postponed = try await post(
        "/later",
        ["notBefore": "2999-01-01T00:00:00Z", "expiresAt": "2999-02-01T00:00:00Z", "lane": "b"])
      for id in [held, postponed] { #expect(try await cancel(id).status == 200) }
      let early = try await device.request("POST", "/v1/envelopes/\(postponed)/requeue")
      #expect(early.status == 422)
      #expect(try early.json()["field"] as? String == "/expiresAt")
      try await requeue(held)
      try await requeue(postponed, until: "2999-02-01T00:00:00Z")
      try await restart()
      #expect(try await device.get("/v1/envelopes/\(held)").json()["state"] as? String == "held")
      let later = try await device.get("/v1/envelopes/\(postponed)").json()
      #expect(later["state"] as? String == "queued")
      #expect(later["nextAttemptAt"] as? String == "2999-01-01T00:00:00.000Z")
      #expect(targets.isEmpty)
      for id in [held, postponed] {
        #expect(try await device.request("POST", "/v1/envelopes/\(id)/run").status == 200)
        #expect(try await device.end(of: id)["state"] as? String == "delivered")
      }
    }
  }
}
