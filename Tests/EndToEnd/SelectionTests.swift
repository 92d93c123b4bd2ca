import Foundation
import Testing

extension EndToEnd {
  @Suite("Selecting by what became of it", .serialized)
  struct Selecting {
    private static func refusal(_ id: String) -> Behaviour {
      .answer(
        400, fields: [WireField(name: "Content-Type", value: "application/problem+json")],
        body: Array(#"{"title": "no", "errorId": "\#(id)"}"#.utf8))
    }

    private static let upstream = { @Sendable (request: WireRequest) -> Behaviour in
      switch request.target {
      case "/a": refusal("E-17")
      case "/b": refusal("E-18")
      case "/c": .answer(422)
      default: .answer(200)
      }
    }

    private func ids(_ relay: Relay, _ query: String) async throws -> Int {
      let answer = try await relay.device().get("/v1/envelopes?limit=200&\(query)")
      #expect(answer.status == 200, "\(query): \(answer)")
      return (try answer.json()["envelopes"] as? [Any])?.count ?? -1
    }

    private func refused(_ relay: Relay) async throws {
      let batch = ["/a", "/a", "/a", "/b", "/b", "/c", "/ok"].enumerated().map { index, path in
        ["path": path, "lane": "l\(index)"]
      }
      #expect(try await relay.device().post(batch: batch).status == 202)
      try await eventually("all have ended") {
        try await ids(relay, "state=failed,delivered") == 7 ? true : nil
      }
    }

    @Test("a list tells envelopes apart by time, status, reason and error")
    func lists() async throws {
      let upstream = try TestUpstream(Self.upstream)
      let relay = try await Relay.started(upstream)
      defer { upstream.stop() }
      try await refused(relay)
      let cases: [(String, Int)] = [
        ("status=400", 5), ("status=422", 1), ("status=200", 1), ("status=503", 0),
        ("errorId=E-17", 3), ("errorId=E-18&status=400", 2), ("errorId=E-1", 0),
        ("reason=answered%20400", 5), ("reason=nothing", 0),
        ("endedSince=2020-01-01T00:00:00Z", 7), ("endedSince=2199-01-01T00:00:00Z", 0),
        ("endedUntil=2020-01-01T00:00:00Z", 0), ("acceptedSince=2020-01-01T00:00:00Z", 7),
        ("acceptedUntil=2020-01-01T00:00:00Z&state=failed", 0),
        ("state=failed&acceptedSince=2020-01-01T00:00:00Z&endedUntil=2199-01-01T00:00:00Z", 6),
      ]
      for (query, count) in cases { #expect(try await ids(relay, query) == count, "\(query)") }
      for query in [
        "status=99", "status=4xx", "endedSince=yesterday", "reason=", "errorId=%00",
        "status=400&status=422",
      ] {
        let answer = try await relay.device().get("/v1/envelopes?\(query)")
        #expect(answer.status == 422 && answer.problem == "invalid-field", "\(query)")
      }
      // Pages go on where the last one ended, also where most of what is looked at does not pass.
      var cursor = ""
      var found = 0
      repeat {
        let page = try await relay.device().get("/v1/envelopes?errorId=E-17&limit=1\(cursor)")
          .json()
        found += (page["envelopes"] as? [Any])?.count ?? 0
        cursor = (page["next"] as? String).map { "&cursor=\($0)" } ?? ""
      } while !cursor.isEmpty
      #expect(found == 3)
    }

    @Test(
      "what somebody has discarded can be left out of what is put back in line")
    func discarded() async throws {
      let upstream = try TestUpstream { _ in .answer(400) }
      let relay = try await Relay.started(upstream)
      let device = relay.device()
      for (client, policy) in [("a", "skip"), ("b", "block")] {
        let posted = try await device.post(["client": client, "path": "/x", "onFailure": policy])
        #expect(posted.status == 202)
      }
      for state in ["failed", "blocked"] {
        try await eventually(state) { try await ids(relay, "state=\(state)") == 1 ? true : nil }
      }
      let waits = try await relay.command("envelopes", "discard", "--client", "a")
      #expect(waits.output.contains("'waystation envelopes cancel'"), "\(waits)")
      let settled = try await relay.command("envelopes", "discard", "--client", "b", "--yes")
      #expect(settled.output == "operation 1 is done: discard, 1 of 1 done\n", "\(settled)")
      #expect(try await ids(relay, "discarded=true") == 1)
      #expect(try await ids(relay, "state=failed&discarded=false") == 1)
      upstream.behave { _ in .answer(200) }
      let all = try await relay.command("envelopes", "requeue", "--discarded", "false")
      #expect(all.output == "operation 2 is done: requeue, 1 of 1 done\n", "\(all)")
      let more = try await relay.command("envelopes", "requeue", "--state", "failed,expired")
      #expect(more.output == "operation 3 is done: requeue, 1 of 1 done\n", "\(more)")
    }

    @Test("an act without ids and options that select is a mistake, and says what to give")
    func nothingNamed() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      for act in ["requeue", "retry", "discard", "cancel"] {
        let run = try await relay.command("envelopes", act)
        #expect(run.ending == .exit(2) && run.errors.contains("say which: ids, or"), "\(run)")
      }
      for option in [["--state", "blocked,lost"], ["--status", "4xx"]] {
        let run = try await relay.command("envelopes", "list", option[0], option[1])
        #expect(run.ending == .exit(2), "\(run)")
      }
    }

    @Test("many are given up only where somebody says so")
    func asksFirst() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      _ = try await relay.device().request("POST", "/v1/upstreams/default/pause")
      for client in ["a", "b"] {
        _ = try await relay.device().post(["client": client, "path": "/x", "hold": client == "a"])
      }
      let asked = try await relay.command("envelopes", "cancel", "--state", "held,queued")
      #expect(asked.ending == .exit(2), "\(asked)")
      #expect(asked.errors.contains("this would cancel 2 envelopes; give --yes"), "\(asked)")
      let run = try await relay.command("envelopes", "cancel", "--state", "held,queued", "--yes")
      #expect(run.output == "operation 1 is done: cancel, 2 of 2 done\n", "\(run)")
    }

    @Test("one command puts back in line what one reason has refused, and says how far it came")
    func requeues() async throws {
      let upstream = try TestUpstream(Self.upstream)
      let relay = try await Relay.started(upstream)
      try await refused(relay)
      upstream.behave { _ in .answer(200) }
      let none = try await relay.command(
        "envelopes", "requeue", "--status", "400", "--until", "2020-01-01T00:00:00Z")
      #expect(none.ending == .exit(0) && none.output == "no envelopes match\n", "\(none)")
      let done = try await relay.command(
        "envelopes", "requeue", "--state", "failed", "--error-id", "E-17", "--since", "1h")
      #expect(done.ending == .exit(0), "\(done)")
      #expect(done.output == "operation 1 is done: requeue, 3 of 3 done\n")
      try await eventually("they are delivered") {
        try await ids(relay, "state=delivered") == 4 ? true : nil
      }
      let shown = try await relay.device().get("/v1/operations/1").json()
      let filter = try #require(shown["filter"] as? [String: Any])
      #expect(filter["errorId"] as? String == "E-17" && filter["endedSince"] is String)
      let rest = try await relay.command("envelopes", "requeue", "--status", "400", "--json")
      #expect(rest.output.contains(#""status":400"#), "\(rest)")
      let both = try await relay.command("envelopes", "requeue", "--status", "422", "0199a3c2")
      #expect(both.ending == .exit(2), "\(both)")
    }
  }
}
