import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("What needs somebody", .serialized)
  struct Needs {
    private static let refusal = Array(#"{"title": "unknown account"}"#.utf8)

    /// Waits until `/status` lists a need of a kind.
    func need(_ kind: String, of relay: Relay) async throws -> [String: Any] {
      try await eventually("a need \(kind)") { try await needs(of: relay)[kind] }
    }

    func needs(of relay: Relay) async throws -> [String: [String: Any]] {
      let status = try await relay.device("operator").get("/status").json()
      let needs = try #require(status["needs"] as? [[String: Any]])
      return Dictionary(needs.map { ($0["kind"] as? String ?? "", $0) }) { first, _ in first }
    }

    func warnings(of relay: Relay) async throws -> [String] {
      try await relay.device("operator").get("/readyz").json()["warnings"] as? [String] ?? []
    }

    @Test("when everything is refused, the status, its exit code, /readyz and the metric say so")
    func allRefused() async throws {
      let upstream = try TestUpstream { _ in .answer(400, body: Self.refusal) }
      let relay = try await Relay.started(upstream)
      #expect(try await needs(of: relay).isEmpty)
      #expect(try await relay.command("status", "--fail-if-trouble").ending == .exit(0))
      for number in 0..<25 { _ = try await relay.device("d-\(number)").post(["path": "/a"]) }
      let title = "nothing gets through to default: it answers 400 “unknown account”"
      let need = try await eventually("all of them") {
        let need = try await needs(of: relay)["upstream-failing"]
        return need?["count"] as? Int == 25 ? need : nil
      }
      #expect(need["title"] as? String == title)
      #expect(need["severity"] as? String == "critical")
      #expect(need["status"] as? Int == 400)
      #expect(try await needs(of: relay)["dead-letters"]?["count"] as? Int == 25)
      let status = try await relay.command("status", "--fail-if-trouble")
      #expect(status.ending == .exit(5) && status.output.contains(" UTC: " + title), "\(status)")
      #expect(status.output.contains("2 things need you:"))
      #expect(try await warnings(of: relay) == [title])
      let metrics = try await relay.device("operator").get("/metrics").text
      #expect(
        metrics.contains(#"waystation_needs{kind="upstream-failing",severity="critical"} 1"#))
      try await relay.log(holds: #""event":"somebody is needed","kind":"upstream-failing""#)
    }

    @Test("what is to be tried again is listed, and nothing that was delivered")
    func triedAgain() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream, upstreamMore: Relay.patient)
      let device = relay.device("operator")
      let taken = try #require(try await device.post(["path": "/a"]).json()["id"] as? String)
      #expect(try await device.end(of: taken)["state"] as? String == "delivered")
      upstream.behave { _ in .answer(503) }
      for number in 0..<25 { _ = try await relay.device("d-\(number)").post(["path": "/a"]) }
      let need = try await need("upstream-failing", of: relay)
      let acts = try #require(need["acts"] as? [[String: Any]])
      let list = try #require(acts.first { $0["name"] as? String == "list" })
      #expect(
        list["command"] as? [String] == [
          "envelopes", "list", "--upstream", "default", "--state", "queued,delivering",
        ])
      let found = try await device.get(try #require(list["path"] as? String)).json()
      let states = (found["envelopes"] as? [[String: Any]])?.map { $0["state"] as? String }
      #expect(states?.count == 25 && states?.contains("delivered") == false)
    }

    @Test("lanes that stand for one reason are one need, after a restart too, until all go on")
    func blocked() async throws {
      let upstream = try TestUpstream { _ in .answer(422, body: Self.refusal) }
      let relay = try await Relay.started(upstream, upstreamMore: ["onFailure": "block"])
      for number in 0..<123 { _ = try await relay.device("d-\(number)").post(["path": "/a"]) }
      let whole = "123 lanes stand: default answered 422 “unknown account”"
      for isRestarted in [false, true] {
        if isRestarted {
          try await relay.kill()
          try await relay.start()
        }
        let need = try await eventually("all of them") {
          let need = try await needs(of: relay)["lanes-blocked"]
          return need?["count"] as? Int == 123 ? need : nil
        }
        #expect(need["title"] as? String == whole)
        let example = try #require(need["example"] as? [String: Any])
        #expect(example["words"] as? String == "unknown account")
        #expect(example["client"] as? String == "d-0")
      }
      let status = try await relay.command("status")
      #expect(status.output.contains(" UTC: " + whole))
      upstream.behave { _ in .answer(200) }
      let need = try await need("lanes-blocked", of: relay)
      let acts = try #require(need["acts"] as? [[String: Any]])
      let retry = try #require(acts.first { $0["name"] as? String == "retry-all" })
      let body = try JSONSerialization.data(withJSONObject: try #require(retry["body"]))
      let begun = try await relay.device("operator").request(
        "POST", try #require(retry["path"] as? String),
        headers: ["Content-Type": "application/json"], body: Array(body))
      #expect(begun.status == 202)
      try await eventually("no blocked lane") {
        try await needs(of: relay)["lanes-blocked"] == nil ? true : nil
      }
    }

    @Test("a refused reload needs somebody until another one is taken up")
    func reload() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      try relay.configure(upstreams: ["default": ["url": "not a URL"]])
      relay.signal(SIGHUP)
      let need = try await need("configuration-refused", of: relay)
      #expect((need["cause"] as? String)?.hasPrefix("upstreams.default.url") == true)
      #expect(try await relay.command("status", "--fail-if-trouble").ending == .exit(5))
      try relay.configure(upstreams: ["default": Relay.quick(upstream, ["maxConcurrent": 3])])
      relay.signal(SIGHUP)
      try await eventually("the need is over") {
        try await needs(of: relay).isEmpty ? true : nil
      }
      try await relay.log(holds: #""event":"somebody is needed no more""#)
    }

    @Test("an upstream that is not configured any more needs somebody while something waits for it")
    func unconfigured() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      let post = try await relay.device().post(["path": "/a", "hold": true])
      let id = try #require(post.json()["id"] as? String)
      try relay.configure(upstreams: ["other": Relay.quick(upstream)])
      relay.signal(SIGHUP)
      let need = try await need("upstream-not-configured", of: relay)
      #expect(
        need["title"] as? String == "default is not configured, and one envelope waits for it")
      #expect(try await relay.device().request("DELETE", "/v1/envelopes/\(id)").status == 200)
      try await eventually("the need is over") {
        try await needs(of: relay).isEmpty ? true : nil
      }
    }
  }
}
