import Foundation
import Testing

extension EndToEnd {
  @Suite("Running what waits of a client", .serialized)
  struct Running {
    private let upstream: TestUpstream
    private let relay: Relay
    private static let name = "device-1"

    init() async throws {
      upstream = try TestUpstream()
      relay = try await Relay.started(
        upstream, more: ["collections": ["boot": ["settings", "profile"]]])
    }

    /// A device with a connection of its own, which no restart has cut.
    private var device: Device { relay.device(Self.name) }

    private func post(_ path: String, _ more: [String: any Sendable] = [:]) async throws -> String {
      let answer = try await device.post(more.merging(["path": path]) { given, _ in given })
      return try #require(answer.json()["id"] as? String)
    }

    private func ask(
      _ filter: [String: any Sendable]? = nil, wait: Int? = 20, client: String = Running.name
    ) async throws -> WireResponse {
      let query = wait.map { "?wait=\($0)" } ?? ""
      let body = try filter.map { try Device.json($0) }
      let headers = body == nil ? [:] : ["Content-Type": "application/json"]
      return try await device.request(
        "POST", "/v1/clients/\(client)/run\(query)", headers: headers, body: body)
    }

    /// Runs, and expects a report.
    private func run(
      _ filter: [String: any Sendable]? = nil, wait: Int? = 20
    ) async throws -> Report {
      let answer = try await ask(filter, wait: wait)
      try #require(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
      return Report(try answer.json())
    }

    /// A report, taken apart.
    private struct Report {
      let all: [String: Any]
      var summary: String? { all["summary"] as? String }
      var isComplete: Bool? { all["complete"] as? Bool }
      var isJoined: Bool? { all["joined"] as? Bool }
      var succeeded: [String] { all["succeeded"] as? [String] ?? [] }
      var pending: [String] { all["pending"] as? [String] ?? [] }
      var skipped: [String: String] { objects("skipped", "reason") }
      var failed: [String: String] { objects("failed", "state") }
      var firstFailure: String? { (all["firstFailure"] as? [String: Any])?["id"] as? String }

      init(_ all: [String: Any]) { self.all = all }

      private func objects(_ name: String, _ value: String) -> [String: String] {
        let objects = all[name] as? [[String: Any]] ?? []
        return Dictionary(
          uniqueKeysWithValues: objects.compactMap { object in
            (object["id"] as? String).map { ($0, object[value] as? String ?? "") }
          })
      }
    }

    private func restart() async throws {
      try await relay.kill()
      try await relay.start()
    }

    private var targets: [String] { upstream.received.map(\.target) }

    // MARK: - What is run, and what is passed over

    @Test("a run cuts waits short, delivers what can be, and gives a reason for the rest")
    func report() async throws {
      upstream.behave { _ in .answer(503, fields: [WireField(name: "Retry-After", value: "3600")]) }
      let waiting = try await post("/waiting")
      let behind = try await post("/behind")
      try await upstream.received(count: 1)
      let held = try await post("/held", ["lane": "held", "hold": true])
      let later = try await post(
        "/later",
        [
          "lane": "later", "notBefore": "2999-01-01T00:00:00Z",
          "expiresAt": "2999-02-01T00:00:00Z",
        ])
      _ = try await device.request("POST", "/v1/clients/\(Self.name)/lanes/paused/pause")
      let paused = try await post("/paused", ["lane": "paused"])
      upstream.behave { _ in .answer(200) }
      try await restart()
      let report = try await run()
      #expect(report.isComplete == true && report.isJoined == false)
      #expect(report.succeeded == [waiting, behind])
      #expect(report.skipped == [held: "held", later: "notBefore", paused: "paused"])
      #expect(report.failed.isEmpty && report.pending.isEmpty && report.firstFailure == nil)
      #expect(report.summary == "delivered")
      #expect(report.all["matched"] as? Int == 5)
      #expect(targets == ["/waiting", "/waiting", "/behind"])
    }

    @Test("a run of nothing says so")
    func nothing() async throws {
      #expect(try await ask().problem == "unknown-client")
      _ = try await device.end(of: post("/1"))
      for filter in [nil, ["lane": "none"], ["tag": "none"], ["collection": "boot"]] {
        let report = try await run(filter)
        #expect(report.summary == "nothing" && report.isComplete == true)
        #expect(report.all["matched"] as? Int == 0)
      }
    }

    @Test("a collection is run by its tags, and what has another tag is left")
    func collection() async throws {
      var ids: [String] = []
      for (index, tag) in ["settings", "photo", "profile"].enumerated() {
        ids.append(
          try await post(
            "/\(tag)", ["tag": tag, "lane": "lane-\(index)", "hold": true]))
      }
      let report = try await run(["collection": "boot"])
      #expect(report.skipped == [ids[0]: "held", ids[2]: "held"])
      #expect(try await run(["tag": "photo"]).skipped == [ids[1]: "held"])
      #expect(try await run(["lane": "lane-2"]).skipped == [ids[2]: "held"])
      let unknown = try await ask(["collection": "boost"])
      #expect(unknown.status == 422 && unknown.problem == "unknown-collection")
      #expect((try unknown.json()["fix"] as? String)?.contains("boot") == true)
    }

    @Test("what fails is told with its state and a sentence, and those behind it are behind")
    func failures() async throws {
      let (isRun, isSeen) = (Monitor(false), Monitor(false))
      upstream.behave { request in
        // One is kept back until what came of the others was seen: till then the run goes on.
        _ = (request.target == "/busy" ? isSeen : isRun).block(seconds: 20) { $0 ? true : nil }
        return request.target == "/ok"
          ? .answer(200) : .answer(request.target == "/busy" ? 503 : 422)
      }
      let refused = try await post("/refused")
      let next = try await post("/ok")
      let blocking = try await post("/blocking", ["lane": "b", "onFailure": "block"])
      let behind = try await post("/ok", ["lane": "b"])
      let busy = try await post("/busy", ["lane": "c"])
      try await upstream.received(count: 3)
      #expect(try await run(wait: nil).pending.count == 5)
      isRun.change { $0 = true }
      let report = try await eventually("all others are decided") {
        let report = try await run(wait: nil)
        return report.pending == [busy] ? report : nil
      }
      #expect(report.isComplete == false && report.isJoined == true)
      #expect(report.failed == [refused: "failed", blocking: "blocked"])
      #expect(report.succeeded == [next])
      #expect(report.skipped == [behind: "behind"])
      #expect(report.summary == "partly")
      let first = try #require(report.all["firstFailure"] as? [String: Any])
      #expect((first["error"] as? String)?.hasPrefix("the upstream answered") == true)
      isSeen.change { $0 = true }
      #expect(try await run().failed[busy] == "queued")
      let again = try await run(["lane": "b"])
      #expect(again.skipped == [blocking: "laneBlocked", behind: "laneBlocked"])
    }

    @Test("held ones that are named are run in order, over a kill in the middle, each once")
    func namedOverRestart() async throws {
      var ids: [String] = []
      for index in 0..<4 { ids.append(try await post("/\(index)", ["hold": true])) }
      upstream.behave { $0.target == "/1" ? .never : .answer(200) }
      let first = try await run(["ids": ids], wait: 1)
      #expect(first.isComplete == false)
      #expect(first.succeeded == [ids[0]] && first.pending == Array(ids.dropFirst()))
      try await relay.kill()
      upstream.stop()
      upstream.behave { _ in .answer(200) }
      try upstream.start()
      try await relay.start()
      // What was run stays run, and what was not is held still.
      #expect(try await device.end(of: ids[1])["state"] as? String == "delivered")
      #expect(try await device.get("/v1/envelopes/\(ids[2])").json()["state"] as? String == "held")
      let other = "0199a3c2-5e10-7a41-8000-00004a41c0de"
      let second = try await run(["ids": ids + [other]])
      #expect(second.succeeded == [ids[2], ids[3]])
      #expect(second.skipped == [ids[0]: "ended", ids[1]: "ended", other: "unknown"])
      #expect(targets == ["/0", "/1", "/1", "/2", "/3"])
    }

    @Test("a second run joins the first, and is told what that has done so far")
    func joining() async throws {
      let mayAnswer = Monitor(false)
      upstream.behave { request in
        guard request.target == "/1" else { return .never }
        _ = mayAnswer.block(seconds: 20) { $0 ? true : nil }
        return .answer(200)
      }
      let ids = [try await post("/1"), try await post("/2")]
      let first = try await run(wait: nil)
      #expect(first.isComplete == false && first.isJoined == false && first.pending == ids)
      #expect(try await run(["lane": "default"], wait: nil).isJoined == false)
      mayAnswer.change { $0 = true }
      #expect(try await device.end(of: ids[0])["state"] as? String == "delivered")
      let second = try await run(wait: 1)
      #expect(second.isComplete == false && second.isJoined == true)
      #expect(second.succeeded == [ids[0]] && second.pending == [ids[1]])
      // What is cut off says nothing of a later run, in which it is delivered.
      upstream.stop()
      upstream.behave { _ in .answer(200) }
      try upstream.start()
      #expect(try await device.end(of: ids[1])["state"] as? String == "delivered")
      #expect(try await run().summary == "nothing")
    }

    @Test("an upstream that is away is tried once for a run, and found when it is back")
    func unreachable() async throws {
      upstream.stop()
      var ids: [String] = []
      for index in 0..<5 { ids.append(try await post("/\(index)", ["lane": "lane-\(index)"])) }
      let away = try await eventually("an upstream that is given up") {
        let report = try await run()
        return report.skipped.values.contains("upstreamUnreachable") ? report : nil
      }
      #expect(away.isComplete == true && away.succeeded.isEmpty)
      #expect(Set(away.skipped.values).isSubset(of: ["upstreamUnreachable"]))
      #expect(away.skipped.count + away.failed.count == 5)
      try upstream.start()
      let back = try await eventually("a run that delivers") {
        let report = try await run()
        return report.summary == "delivered" || report.summary == "nothing" ? report : nil
      }
      #expect(back.isComplete == true)
      for id in ids { #expect(try await device.end(of: id)["state"] as? String == "delivered") }
    }

    @Test("what waits for numbers before its own is told as parked, over a restart")
    func parked() async throws {
      let id = try await post("/2", ["sequence": 2])
      for _ in 0..<2 {
        #expect(try await run().skipped == [id: "parked"])
        #expect(try await run(["ids": [id]]).skipped == [id: "parked"])
        try await restart()
      }
      // Once the gap has closed it has moved, and is run under its old id.
      _ = try await device.request("POST", "/v1/clients/\(Self.name)/pause")
      let first = try await post("/1", ["sequence": 1, "hold": true])
      _ = try await device.request("POST", "/v1/clients/\(Self.name)/resume")
      #expect(try await run(["ids": [first, id]]).succeeded == [first, id])
      #expect(targets == ["/1", "/2"])
    }

    // MARK: - Bad use

    @Test("a run that makes no sense gets a problem that says what to do")
    func badUse() async throws {
      let id = try await post("/1", ["hold": true])
      let many = Array(repeating: id, count: 1001)
      let cases: [([String: any Sendable], String, String)] = [
        (["lane": "a", "tag": "b"], "invalid-field", "/tag"),
        (["lain": "a"], "unknown-field", "/lain"),
        (["ids": [String]()], "invalid-field", "/ids"),
        (["ids": [id, "x"]], "invalid-field", "/ids/1"),
        (["ids": many], "invalid-field", "/ids"), (["lane": ""], "invalid-field", "/lane"),
        (["lane": 7], "invalid-field", "/lane"),
      ]
      for (filter, problem, field) in cases {
        let answer = try await ask(filter)
        #expect(answer.status == 422 && answer.problem == problem, "\(filter)")
        #expect(try answer.json()["field"] as? String == field)
      }
      #expect(try await ask(wait: 61).problem == "invalid-field")
      #expect(try await ask(client: "nobody").status == 404)
      #expect(try await device.get("/v1/clients/device-1/run").status == 405)
      #expect(targets.isEmpty)
    }

    @Test("a run about more envelopes than it may be is refused, and a smaller one is not")
    func tooLarge() async throws {
      for batch in 0..<11 {
        let items: [[String: any Sendable]] = (0..<1000).map { index in
          ["path": "/", "hold": true, "lane": "lane-\(batch)", "tag": "tag-\(index)"]
        }
        #expect(try await device.post(batch: items).status == 202)
      }
      let refused = try await ask()
      #expect(refused.status == 422 && refused.problem == "run-too-large")
      #expect(try await run(["lane": "lane-1"]).skipped.count == 1000)
      #expect(try await run(["tag": "tag-7"]).all["matched"] as? Int == 11)
    }
  }
}
