import Foundation
import Testing

extension EndToEnd {
  @Suite("Steering", .serialized)
  struct Steering {
    private let upstream: TestUpstream
    private let relay: Relay

    init() async throws {
      upstream = try TestUpstream()
      relay = try await Relay.started(upstream)
    }

    /// A device with a connection of its own, which no restart has cut.
    private var device: Device { relay.device() }

    /// Posts an envelope, and returns its id.
    private func post(_ path: String, _ more: [String: any Sendable] = [:]) async throws -> String {
      let answer = try await device.post(more.merging(["path": path]) { given, _ in given })
      return try #require(answer.json()["id"] as? String)
    }

    /// Changes an envelope.
    @discardableResult
    private func call(
      _ method: String, _ target: String, _ body: [String: any Sendable]? = nil,
      type: String = "application/json"
    ) async throws -> WireResponse {
      guard let body else { return try await device.request(method, target) }
      return try await device.request(
        method, target, headers: ["Content-Type": type], body: Device.json(body))
    }

    private func patch(
      _ id: String, _ body: [String: any Sendable]
    ) async throws -> WireResponse {
      try await call("PATCH", "/v1/envelopes/\(id)", body, type: "application/merge-patch+json")
    }

    private func state(_ id: String) async throws -> String? {
      try await device.get("/v1/envelopes/\(id)").json()["state"] as? String
    }

    /// Kills the relay as a power cut would, and starts it again.
    private func restart() async throws {
      try await relay.kill()
      try await relay.start()
    }

    /// Posts an envelope that is refused, and waits until it blocks its lane.
    private func postBlocked(_ path: String = "/bad") async throws -> String {
      upstream.behave { $0.target == "/bad" ? .answer(422) : .answer(200) }
      let id = try await post(path, ["onFailure": "block"])
      #expect(try await device.end(of: id)["state"] as? String == "blocked")
      return id
    }

    @Test(
      "a call that changes something refuses what it would not heed",
      arguments: [
        ("DELETE", "/v1/clients/device-1/envelopes?state=held", "unknown-field", "state"),
        ("DELETE", "/v1/clients/device-1/envelopes?lanes=a", "unknown-field", "lanes"),
        ("DELETE", "/v1/clients/device-1/envelopes?lane=", "invalid-field", "lane"),
        ("DELETE", "/v1/clients/device-1/envelopes?tag", "invalid-field", "tag"),
        ("DELETE", "/v1/clients/device-1/envelopes?lane=a&lane=c", "invalid-field", "lane"),
        ("POST", "/v1/clients/device-1/run?lane=a", "unknown-field", "lane"),
        ("POST", "/v1/clients/device-1/pause?for=3", "unknown-field", "for"),
        ("POST", "/v1/upstreams/default/probe?force", "unknown-field", "force"),
      ])
    func strictness(
      method: String, target: String, problem: String, field: String
    ) async throws {
      let id = try await post("/held", ["lane": "b", "hold": true])
      let answer = try await call(method, target)
      #expect(answer.status == 422)
      #expect(answer.problem == problem)
      #expect(try answer.json()["field"] as? String == field)
      let body = try await call("DELETE", "/v1/clients/device-1/envelopes", ["lane": "a"])
      #expect(body.status == 422)
      #expect(body.problem == "invalid-field")
      #expect(try await state(id) == "held")
    }

    private var targets: [String] { upstream.received.map(\.target) }

    // MARK: - Run

    @Test("a held envelope is run, and those behind it follow, over a restart")
    func runHeld() async throws {
      let held = try await post("/1", ["hold": true, "key": "h-1"])
      let behind = try await post("/2", ["hold": true])
      let other = try await post("/3")
      let refused = try await call("POST", "/v1/envelopes/\(behind)/run")
      #expect(refused.status == 409)
      #expect(refused.problem == "behind")
      #expect(try refused.json()["before"] as? String == held)
      #expect(try refused.json()["beforeKey"] as? String == "h-1")
      try await restart()
      #expect(try await state(held) == "held")
      let run = try await call("POST", "/v1/envelopes/\(held)/run")
      #expect(run.status == 200)
      #expect(try run.json()["id"] as? String == held)
      #expect(try run.json()["hold"] as? Bool == false)
      #expect(try await device.end(of: held)["state"] as? String == "delivered")
      // What was run stays run, whatever happens to the relay.
      upstream.behave { _ in .never }
      #expect(try await call("POST", "/v1/envelopes/\(behind)/run").status == 200)
      try await restart()
      upstream.stop()
      upstream.behave { _ in .answer(200) }
      try upstream.start()
      #expect(try await device.end(of: other)["state"] as? String == "delivered")
      let again = try await call("POST", "/v1/envelopes/\(held)/run")
      #expect(again.status == 409)
      #expect(again.problem == "already-ended")
      #expect(try again.json()["state"] as? String == "delivered")
    }

    @Test("a run cuts a wait short, and does no harm where there is none")
    func cutShort() async throws {
      let id = try await post(
        "/", ["notBefore": "2999-01-01T00:00:00Z", "expiresAt": "2999-02-01T00:00:00Z"])
      #expect(try await call("POST", "/v1/envelopes/\(id)/run").status == 200)
      #expect(try await device.end(of: id)["state"] as? String == "delivered")
      upstream.behave { _ in .never }
      let slow = try await post("/slow")
      try await upstream.received(count: 2)
      let run = try await call("POST", "/v1/envelopes/\(slow)/run")
      #expect(run.status == 200)
      #expect(try run.json()["state"] as? String == "delivering")
      for answer in [
        try await call("DELETE", "/v1/envelopes/\(slow)"), try await patch(slow, ["tag": "t"]),
      ] {
        #expect(answer.status == 409)
        #expect(answer.problem == "delivering")
        #expect(answer["Retry-After"] == "1")
      }
    }

    // MARK: - Resolve

    @Test("a blocked lane goes on once its head is retried, corrected and retried, or discarded")
    func resolve() async throws {
      let head = try await postBlocked()
      let next = try await post("/next")
      let run = try await call("POST", "/v1/envelopes/\(head)/run")
      #expect(run.status == 409)
      #expect(run.problem == "blocked")
      try await restart()
      let retry = try await call("POST", "/v1/envelopes/\(head)/resolve", ["action": "retry"])
      #expect(retry.status == 200)
      #expect(try await device.end(of: head)["state"] as? String == "blocked")

      let patched = try await patch(head, ["path": "/good", "headers": ["X-Fixed": "1"]])
      #expect(patched.status == 200)
      #expect(try patched.json()["state"] as? String == "blocked")
      #expect(try patched.json()["path"] as? String == "/good")
      try await restart()
      #expect(try await state(head) == "blocked")
      #expect(targets == ["/bad", "/bad"])
      try await call("POST", "/v1/envelopes/\(head)/resolve", ["action": "retry"])
      #expect(try await device.end(of: head)["state"] as? String == "delivered")
      #expect(try await device.end(of: next)["state"] as? String == "delivered")
      #expect(targets == ["/bad", "/bad", "/good", "/next"])
      #expect(upstream.received.map { $0["Waystation-Attempt"] } == ["1", "2", "3", "1"])
      #expect(upstream.received[2]["X-Fixed"] == "1")
      #expect(upstream.received[2]["Idempotency-Key"] == head)
    }

    @Test("a discarded envelope is a dead letter, and its lane goes on")
    func discard() async throws {
      let head = try await postBlocked()
      let next = try await post("/next")
      let answer = try await call("POST", "/v1/envelopes/\(head)/resolve", ["action": "discard"])
      #expect(answer.status == 200)
      #expect(try answer.json()["state"] as? String == "failed")
      let reason = try #require(answer.json()["reason"] as? String)
      #expect(reason.hasPrefix("discarded; ") && reason.contains("422"))
      #expect(try await device.end(of: next)["state"] as? String == "delivered")
      try await restart()
      #expect(try await state(head) == "failed")
      for id in [head, next] {
        let again = try await call("POST", "/v1/envelopes/\(id)/resolve", ["action": "retry"])
        #expect(again.status == 409)
        #expect(again.problem == "not-blocked")
      }
    }

    // MARK: - Requeue

    @Test("a dead letter takes its old place, before all later ones that wait")
    func requeue() async throws {
      upstream.behave { _ in .answer(400) }
      let dead = try await post("/dead")
      #expect(try await device.end(of: dead)["state"] as? String == "failed")
      upstream.behave { _ in .answer(200) }
      let held = try await post("/held", ["hold": true])
      let last = try await post("/last")
      upstream.stop()
      let answer = try await call("POST", "/v1/envelopes/\(dead)/requeue")
      #expect(answer.status == 200)
      #expect(try answer.json()["endedAt"] == nil)
      #expect(try answer.json()["position"] as? Int == 1)
      let again = try await call("POST", "/v1/envelopes/\(dead)/requeue")
      #expect(again.status == 409)
      #expect(again.problem == "not-ended")
      try await restart()
      try upstream.start()
      #expect(try await device.end(of: dead)["state"] as? String == "delivered")
      try await call("POST", "/v1/envelopes/\(held)/run")
      #expect(try await device.end(of: last)["state"] as? String == "delivered")
      #expect(targets == ["/dead", "/dead", "/held", "/last"])
      let done = try await call("POST", "/v1/envelopes/\(dead)/requeue")
      #expect(done.status == 409)
      #expect(done.problem == "already-delivered")
    }

    @Test("a requeued envelope has a fresh deadline, or the one that was asked for")
    func deadline() async throws {
      let id = try await post("/", ["expiresAt": "2020-01-01T00:00:00Z"])
      #expect(try await device.end(of: id)["state"] as? String == "expired")
      // Nothing is attempted meanwhile, so that nothing is being delivered when it is cancelled.
      #expect(try await call("POST", "/v1/upstreams/default/pause").status == 200)
      let answer = try await call(
        "POST", "/v1/envelopes/\(id)/requeue", ["expiresAt": "2999-01-01T00:00:00Z"])
      #expect(try answer.json()["expiresAt"] as? String == "2999-01-01T00:00:00.000Z")
      #expect(try await call("DELETE", "/v1/envelopes/\(id)").status == 200)
      let fresh = try await call("POST", "/v1/envelopes/\(id)/requeue").json()
      let deadline = try #require(fresh["expiresAt"] as? String)
      #expect(deadline > "2026-01-01" && deadline < "2990")
      #expect(try await call("POST", "/v1/upstreams/default/resume").status == 200)
      #expect(try await device.end(of: id)["state"] as? String == "delivered")
    }

    // MARK: - Cancel

    @Test("what waits is cancelled, at the head and behind it, and never sent")
    func cancel() async throws {
      let ids = [
        try await post("/0", ["hold": true]), try await post("/1"), try await post("/2"),
      ]
      for id in [ids[1], ids[0]] {
        let answer = try await call("DELETE", "/v1/envelopes/\(id)")
        #expect(answer.status == 200)
        #expect(try answer.json()["state"] as? String == "cancelled")
        #expect(try answer.json()["reason"] is String)
        try await restart()
      }
      #expect(try await device.end(of: ids[2])["state"] as? String == "delivered")
      // Whatever the last restart cut off was sent again.
      #expect(Set(targets) == ["/2"])
      #expect(try await call("DELETE", "/v1/envelopes/\(ids[0])").status == 200)
      let ended = try await call("DELETE", "/v1/envelopes/\(ids[2])")
      #expect(ended.status == 409)
      #expect(ended.problem == "already-ended")
      let status = try await device.get("/status").json()
      let counts = (status["store"] as? [String: Any])?["envelopes"] as? [String: Int]
      #expect(counts?["cancelled"] == 2 && counts?["queued"] == 0 && counts?["held"] == 0)
    }

    @Test("an envelope is cancelled once, however many ask for it at once")
    func cancelAtOnce() async throws {
      _ = try await post("/head", ["hold": true])
      let id = try await post("/1")
      let relay = relay
      try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<8 {
          group.addTask {
            try await relay.device().request("DELETE", "/v1/envelopes/\(id)").status
          }
        }
        for try await status in group { #expect(status == 200) }
      }
      let client = try await device.get("/v1/clients/device-1").json()
      #expect(client["waiting"] as? Int == 1)
    }

    @Test("all that waits of a client is forgotten, in every lane, and nothing of another's")
    func cancelClient() async throws {
      upstream.behave { $0.target == "/slow" ? .never : .answer(200) }
      _ = try await post("/slow")
      try await upstream.received(count: 1)
      for start in stride(from: 0, to: 2500, by: 500) {
        let batch = (start..<start + 500).map { number -> [String: any Sendable] in
          ["path": "/\(number)", "lane": "l\(number % 3)", "hold": true]
        }
        #expect(try await device.post(batch: batch).status == 202)
      }
      let other = relay.device("device-2")
      _ = try await other.post(["path": "/other", "hold": true])
      let answer = try await call("DELETE", "/v1/clients/device-1/envelopes")
      #expect(answer.status == 200)
      #expect(answer.text == #"{"cancelled":2500}"#)
      try await restart()
      let client = try await device.get("/v1/clients/device-1").json()
      #expect(client["waiting"] as? Int == 1)
      #expect((client["states"] as? [String: Int])?["cancelled"] == 2500)
      #expect(try await relay.device().get("/v1/clients/device-2").json()["waiting"] as? Int == 1)
      #expect(Set(targets) == ["/slow"])
      let unknown = try await call("DELETE", "/v1/clients/nobody/envelopes")
      #expect(unknown.status == 404)
      #expect(unknown.problem == "unknown-client")
    }

    // MARK: - Correct

    @Test("one behind the head is delivered as it was corrected")
    func patchBehind() async throws {
      let head = try await post("/head", ["hold": true])
      let id = try await post(
        "/wrong",
        ["key": "k", "body": "old", "headers": ["A": "1", "B": "2"] as [String: any Sendable]])
      let large = String(repeating: "x", count: 1_000_000)
      let patched = try await patch(
        id,
        [
          "path": "/right", "method": "PUT", "body": large,
          "headers": ["A": NSNull(), "C": ["3", "4"]] as [String: any Sendable],
        ])
      #expect(patched.status == 200)
      #expect(try patched.json()["bodyBytes"] as? Int == 1_000_000)
      // A body that stays keeps its file.
      #expect(try await patch(id, ["tag": "t"]).status == 200)
      try await restart()
      try await call("POST", "/v1/envelopes/\(head)/run")
      #expect(try await device.end(of: id)["state"] as? String == "delivered")
      let received = try #require(upstream.received.last)
      #expect(received.target == "/right" && received.method == "PUT")
      #expect(received.body == Array(large.utf8))
      #expect(received["A"] == nil && received["B"] == "2")
      #expect(received.message.values(of: "C") == ["3", "4"])
      let found = try await device.get("/v1/clients/device-1/envelopes/k")
      #expect(found.status == 200)
      #expect(try found.json()["id"] as? String == id)
      #expect(try found.json()["tag"] as? String == "t")
      #expect(try await device.get("/v1/clients/device-1/envelopes/other").status == 404)
      let late = try await patch(id, ["tag": "u"])
      #expect(late.status == 409)
      #expect(late.problem == "already-ended")
    }

    @Test("a patch can hold, let go, postpone and set another deadline")
    func patchFlags() async throws {
      let id = try await post("/", ["hold": true])
      let postponed: [String: any Sendable] = ["notBefore": "2999-01-01T00:00:00Z", "hold": false]
      let never = try await patch(id, postponed)
      #expect(never.status == 422)
      #expect(try never.json()["field"] as? String == "/notBefore")
      let later = postponed.merging(["expiresAt": "2999-02-01T00:00:00Z"]) { _, given in given }
      #expect(try await patch(id, later).status == 200)
      #expect(try await state(id) == "queued")
      try await restart()
      #expect(
        try await patch(id, ["hold": true, "notBefore": NSNull()]).json()["state"] as? String
          == "held")
      #expect(targets.isEmpty)
      #expect(try await patch(id, ["expiresAt": "2020-01-01T00:00:00Z"]).status == 200)
      #expect(try await device.end(of: id)["state"] as? String == "expired")
    }

    @Test("what cannot be asked for is refused in words")
    func refused() async throws {
      let id = try await post("/", ["hold": true])
      let fixed = try await patch(id, ["lane": "other"])
      #expect(fixed.status == 422)
      #expect(fixed.problem == "invalid-field")
      #expect(try fixed.json()["field"] as? String == "/lane")
      let type = try await call("PATCH", "/v1/envelopes/\(id)", ["tag": "t"], type: "text/plain")
      #expect(type.status == 415)
      #expect(type["Accept"] == "application/merge-patch+json, application/json")
      let action = try await call("POST", "/v1/envelopes/\(id)/resolve", ["action": "drop"])
      #expect(action.status == 422)
      #expect(action.problem == "invalid-field")
      let held = try await call("POST", "/v1/envelopes/\(id)/resolve", ["action": "retry"])
      #expect(held.status == 409)
      #expect(held.problem == "not-blocked")
      for (method, path) in [("POST", "/run"), ("POST", "/requeue"), ("DELETE", "")] {
        let answer = try await call(
          method, "/v1/envelopes/0199a3c2-5e10-7a41-8000-00004a41c0de\(path)")
        #expect(answer.status == 404)
        #expect(answer.problem == "unknown-envelope")
      }
    }
  }
}
