import Foundation
import Testing

extension EndToEnd {
  @Suite("Operations", .serialized)
  struct Operations {
    private typealias Body = [String: any Sendable]

    private func start(
      _ device: Device, _ body: Body, _ query: String = ""
    ) async throws -> WireResponse {
      try await device.request(
        "POST", "/v1/operations\(query)", headers: ["Content-Type": "application/json"],
        body: Device.json(body))
    }

    private func shown(_ relay: Relay, _ id: String) async throws -> [String: Any] {
      let answer = try await relay.reading.get("/v1/operations/\(id)")
      #expect(answer.status == 200, "\(answer)")
      return try answer.json()
    }

    /// Waits for an operation's end.
    private func ended(_ relay: Relay, _ id: String) async throws -> [String: Any] {
      try await eventually("the operation \(id) has ended") {
        let shown = try await shown(relay, id)
        return shown["state"] as? String == "running" ? nil : shown
      }
    }

    private func count(_ relay: Relay, _ query: String) async throws -> Int {
      let answer = try await relay.reading.get("/v1/envelopes?limit=200&\(query)").json()
      return (answer["envelopes"] as? [Any])?.count ?? -1
    }

    /// Posts so many that fail, in ten lanes.
    private func fail(_ count: Int, _ relay: Relay, tag: String, total: Int? = nil) async throws {
      let device = relay.device("truck-7", token: Credentials.derived("truck-7"))
      for start in stride(from: 0, to: count, by: 100) {
        let batch = (start..<min(count, start + 100)).map {
          ["path": "/\($0)", "lane": "lane-\($0 % 10)", "tag": tag]
        }
        #expect(try await device.post(batch: batch).status == 202)
      }
      try await eventually("\(count) have failed") {
        let status = try await relay.reading.get("/status").json()
        let store = status["store"] as? [String: Any]
        let states = store?["envelopes"] as? [String: Int]
        return (states?["failed"] ?? 0) >= total ?? count ? true : nil
      }
    }

    @Test("hundreds are counted, requeued, delivered, and told of, and the audit log has it")
    func requeue() async throws {
      let refuses = Monitor(true)
      let upstream = try TestUpstream { _ in .answer(refuses.read { $0 } ? 422 : 200) }
      let relay = try await Relay.guarded(upstream)
      try await fail(300, relay, tag: "photos")
      try await fail(301, relay, tag: "other", total: 601)
      refuses.change { $0 = false }
      let filter: Body = ["state": "failed", "tag": "photos"]
      let body: Body = ["action": "requeue", "filter": filter]
      let stream = try Connection(port: relay.port)
      try await onThread {
        try stream.write(
          Array(
            """
            GET /v1/status/events HTTP/1.1\r\nHost: r\r\n\
            Authorization: Bearer \(Credentials.read)\r\n\r\n
            """.utf8))
        _ = try stream.read(through: "event: status\n")
      }
      let counted = try await start(relay.steering, body, "?dryRun=true")
      #expect(try counted.json()["matched"] as? Int == 300, "\(counted)")
      let differing = try await start(
        relay.steering, body.merging(["expectedCount": 299]) { $1 })
      #expect(differing.status == 409 && differing.problem == "count-differs")
      let begun = try await start(relay.steering, body.merging(["expectedCount": 300]) { $1 })
      #expect(begun.status == 202, "\(begun)")
      let id = try #require(try begun.json()["id"] as? String)
      #expect(begun["Location"] == "/v1/operations/\(id)")
      let end = try await ended(relay, id)
      #expect(end["state"] as? String == "done" && end["problems"] == nil)
      #expect([end["matched"], end["done"], end["failed"]].map { $0 as? Int } == [300, 300, 0])
      #expect(end["who"] as? String == "steering" && end["endedAt"] is String)
      #expect((end["filter"] as? [String: String]) == ["state": "failed", "tag": "photos"])
      let told = try await onThread {
        var text = ""
        while !text.contains("\"state\":\"done\"") {
          _ = try stream.read(through: "event: operation\ndata: ")
          text = String(decoding: try stream.read(through: "\n\n") ?? [], as: UTF8.self)
        }
        return text
      }
      #expect(told.contains("\"done\":300"))
      stream.close()
      try await eventually("all are delivered") {
        let status = try await relay.reading.get("/status").json()
        let states = (status["store"] as? [String: Any])?["envelopes"] as? [String: Int]
        return states?["delivered"] == 300 ? true : nil
      }
      #expect(try await count(relay, "state=failed&tag=photos") == 0)
      let audit = try await relay.reading.get("/v1/audit?subject=operations").json()
      let entries = try #require(audit["entries"] as? [[String: Any]])
      #expect(entries.map { $0["result"] as? String } == ["done", "refused"])
      #expect(
        entries[0]["detail"] as? String
          == "\(id): requeue 300 with tag=photos&state=failed")
      // What it was is known after a restart too.
      try await relay.kill()
      try await relay.start()
      #expect(try await shown(relay, id)["done"] as? Int == 300)
    }

    @Test("one that is stopped leaves the rest, and one that is killed says so")
    func ends() async throws {
      let upstream = try TestUpstream { _ in .answer(422) }
      let relay = try await Relay.guarded(upstream)
      try await fail(600, relay, tag: "t")
      // Nothing fails again meanwhile.
      #expect(
        try await relay.steering.request("POST", "/v1/clients/truck-7/pause").status == 200)
      let body: Body = ["action": "requeue", "filter": ["client": "truck-7"] as Body]
      let first = try #require(try await start(relay.steering, body).json()["id"] as? String)
      let stopped = try await relay.steering.request("DELETE", "/v1/operations/\(first)").json()
      let done = try #require(stopped["done"] as? Int)
      #expect(stopped["state"] as? String == "stopped" || done == 600, "\(stopped)")
      let left = 600 - done
      let rest: Body = ["action": "requeue", "filter": ["client": "truck-7"] as Body]
      let second = try await start(relay.steering, rest).json()
      #expect(second["matched"] as? Int == left)
      try await relay.kill()
      try await relay.start()
      let killed = try await shown(relay, try #require(second["id"] as? String))
      #expect(killed["state"] as? String != "running", "\(killed)")
      if killed["state"] as? String == "interrupted" {
        // What it had done and not noted yet is at most what has its turn at once.
        let third = try await start(relay.steering, rest, "?dryRun=true").json()
        let noted = try #require(killed["done"] as? Int)
        let remaining = try #require(third["matched"] as? Int)
        #expect((0...16).contains(left - noted - remaining), "\(killed) \(third)")
      }
      let list = try await relay.reading.get("/v1/operations").json()
      let listed = try #require(list["operations"] as? [[String: Any]])
      #expect(listed.map { $0["id"] as? String } == [second["id"] as? String, first])
      let again = try await relay.steering.request("DELETE", "/v1/operations/\(first)")
      #expect(again.status == 200)
    }

    @Test("what blocks is retried or discarded, and what waits is cancelled")
    func others() async throws {
      let upstream = try TestUpstream { _ in .answer(422) }
      let relay = try await Relay.guarded(upstream)
      let device = relay.device("truck-7", token: Credentials.derived("truck-7"))
      for lane in 0..<4 {
        _ = try await device.post(["path": "/b", "lane": "l\(lane)", "onFailure": "block"])
        _ = try await device.post(["path": "/h", "lane": "l\(lane)", "hold": true])
      }
      try await eventually("all lanes are blocked") {
        try await count(relay, "state=blocked") == 4 ? true : nil
      }
      let lane: Body = ["action": "discard", "filter": ["lane": "l0"] as Body]
      let discarded = try await start(relay.steering, lane).json()
      #expect(try await ended(relay, discarded["id"] as? String ?? "")["done"] as? Int == 1)
      #expect(try await count(relay, "state=failed&lane=l0") == 1)
      let retry: Body = ["action": "retry", "filter": ["upstream": "default"] as Body]
      let retried = try await start(relay.steering, retry).json()
      #expect(retried["matched"] as? Int == 3)
      #expect(try await ended(relay, retried["id"] as? String ?? "")["done"] as? Int == 3)
      try await eventually("they block again") {
        try await count(relay, "state=blocked") == 3 ? true : nil
      }
      let cancel: Body = ["action": "cancel", "filter": ["client": "truck-7"] as Body]
      let cancelled = try await start(relay.steering, cancel).json()
      #expect(try await ended(relay, cancelled["id"] as? String ?? "")["done"] as? Int == 7)
      #expect(try await count(relay, "state=cancelled") == 7)
      #expect(try await count(relay, "state=failed") == 1)
    }

    @Test("only who may steer begins or stops one, and a filter that names nothing is none")
    func access() async throws {
      let relay = try await Relay.guarded(try TestUpstream())
      let body: Body = ["action": "cancel", "filter": ["client": "truck-7"] as Body]
      let device = relay.device("truck-7", token: Credentials.derived("truck-7"))
      for (who, status) in [(relay.reading, 403), (device, 403), (relay.device(), 401)] {
        for query in ["", "?dryRun=true"] {
          #expect(try await start(who, body, query).status == status)
        }
        #expect(try await who.request("DELETE", "/v1/operations/1").status == status)
      }
      #expect(try await device.get("/v1/operations").status == 403)
      #expect(try await relay.reading.get("/v1/operations/1").status == 404)
      #expect(try await relay.steering.request("DELETE", "/v1/operations/x").status == 404)
      let wrong: [(Body, String)] = [
        (["action": "cancel"], "missing-field"),
        (["action": "cancel", "filter": [:] as Body], "missing-field"),
        (["filter": ["tag": "t"] as Body], "missing-field"),
        (["action": "delete", "filter": ["tag": "t"] as Body], "invalid-field"),
        (["action": "retry", "filter": ["state": "failed"] as Body], "invalid-field"),
        (["action": "retry", "filter": ["colour": "x"] as Body], "unknown-field"),
        (["action": "retry", "filter": ["tag": ""] as Body], "invalid-field"),
        (
          ["action": "retry", "filter": ["tag": "t"] as Body, "expectedCount": -1],
          "invalid-field"
        ),
      ]
      for (body, problem) in wrong {
        let answer = try await start(relay.steering, body)
        #expect(answer.status == 422 && answer.problem == problem, "\(body) \(answer)")
      }
      #expect(try await start(relay.steering, body, "?dryRun=yes").status == 422)
      let none = try await start(relay.steering, body).json()
      #expect(none["matched"] as? Int == 0)
      #expect(try await ended(relay, none["id"] as? String ?? "")["state"] as? String == "done")
    }
  }
}
