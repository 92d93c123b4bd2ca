import Compression
import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("A next relay that cannot take what it is handed", .serialized)
  struct NextRelay {
    private typealias Settings = [String: any Sendable]

    /// The settings of an upstream that is another relay.
    private static func settings(
      _ url: String, token: String? = nil, batch: Settings = [:], retryMs: Int = 20
    ) -> Settings {
      var settings: Settings = [
        "url": url,
        "batch": (["format": "waystation"] as Settings).merging(batch) { $1 },
        "retry": ["firstDelayMs": retryMs, "maxDelayMs": max(retryMs, 200)] as Settings,
        "reachability": ["firstProbeDelayMs": 20, "maxProbeDelayMs": 200] as Settings,
      ]
      if let token {
        settings["credentials"] = ["kind": "bearer", "token": token] as Settings
      }
      return settings
    }

    private static func url(_ relay: Relay) -> String { "http://127.0.0.1:\(relay.port)" }

    private static func counts(_ relay: Relay) async throws -> [String: Int] {
      let store = try await relay.device().get("/status").json()["store"] as? [String: Any]
      return store?["envelopes"] as? [String: Int] ?? [:]
    }

    private static func need(of relay: Relay, _ kind: String) async throws -> [String: Any] {
      try await eventually("a need of the kind \(kind)") {
        let status = try await relay.device().get("/status").json()
        let needs = status["needs"] as? [[String: Any]]
        return needs?.first { $0["kind"] as? String == kind }
      }
    }

    /// What a trial says of the upstream.
    private static func tried(_ relay: Relay) async throws -> (works: Bool, finding: String) {
      let answer = try await relay.device().request("POST", "/v1/upstreams/default/try").json()
      return (answer["works"] as? Bool ?? false, answer["finding"] as? String ?? "")
    }

    @Test(
      "envelopes for an upstream that it does not have wait until it has it, however they go",
      arguments: [10, 400_000])
    func unknownUpstream(bodyBytes: Int) async throws {
      let upstream = try TestUpstream()
      let hub = try Relay(upstreams: ["other": Relay.quick(upstream)])
      try await hub.start()
      let edge = try Relay(upstreams: ["default": Self.settings(Self.url(hub))])
      try await edge.start()
      let text = String(repeating: "x", count: bodyBytes)
      for number in 1...3 {
        let envelope: Settings = ["path": "/\(number)", "body": text, "onFailure": "skip"]
        #expect(try await edge.device("d-\(number)").post(envelope).status == 202)
      }
      let need = try await Self.need(of: edge, "upstream-unreachable")
      #expect(
        need["title"] as? String
          == "default does not know where to forward what it is handed, and 3 envelopes wait")
      #expect(
        need["cause"] as? String
          == "127.0.0.1:\(hub.port) has no upstream \"default\", to which batch.upstream has it"
          + " forward"
      )
      #expect(try await Self.counts(edge)["failed"] ?? 0 == 0)
      try edge.configure(
        upstreams: ["default": Self.settings(Self.url(hub), batch: ["upstream": "other"])])
      edge.signal(SIGHUP)
      _ = try await upstream.received(count: 3)
      try await eventually("all delivered") {
        try await Self.counts(edge)["delivered"] == 3 ? true : nil
      }
    }

    @Test("a trial shows whether it takes posts for every client, and forwards where it is to")
    func trial() async throws {
      let upstream = try TestUpstream()
      let hub = try await Relay.guarded(upstream)
      let one = try await hub.token(["client": "d-1"])
      let edge = try Relay(
        upstreams: ["default": Self.settings(Self.url(hub), token: Credentials.steer)])
      try await edge.start()
      let good = try await Self.tried(edge)
      #expect(
        good.works && good.finding.hasPrefix("it takes posts, and has the upstream \"default\" "),
        "\(good)")
      for (token, batch, words) in [
        (Credentials.read, [:] as Settings, "it does not accept the relay's credentials"),
        (one.text, [:], "the token is of one client, and posts for no other"),
        (Credentials.steer, ["upstream": "nowhere"], "it has no upstream \"nowhere\""),
      ] {
        try edge.configure(
          upstreams: ["default": Self.settings(Self.url(hub), token: token, batch: batch)])
        let before = edge.log.components(separatedBy: "configuration reloaded").count
        edge.signal(SIGHUP)
        try await eventually("the reload") {
          edge.log.components(separatedBy: "configuration reloaded").count > before ? true : nil
        }
        let bad = try await Self.tried(edge)
        #expect(!bad.works && bad.finding.contains(words), "\(bad)")
      }
      let list = try await hub.steering.get("/v1/envelopes").json()["envelopes"] as? [Any]
      #expect(list?.isEmpty == true && upstream.received.isEmpty)
    }

    @Test("what was handed on is shown with its id there, and how to ask there")
    func shown() async throws {
      let hub = try await Relay.guarded(try TestUpstream())
      let edge = try Relay(
        upstreams: ["default": Self.settings(Self.url(hub), token: Credentials.steer)])
      try await edge.start()
      let posted = try await edge.device("d-1").post(["path": "/a", "body": "x"])
      let id = try #require(posted.json()["id"] as? String)
      try await eventually("delivered") {
        try await Self.counts(edge)["delivered"] == 1 ? true : nil
      }
      let list = try await hub.steering.get("/v1/envelopes").json()
      let there = try #require((list["envelopes"] as? [[String: Any]])?.first?["id"] as? String)
      let shown = try await edge.command("envelopes", "show", id)
      #expect(
        shown.output.contains(
          "\nstored at the next relay, \(Self.url(hub)), as \(there); with a token of that relay:\n"
            + "  waystation envelopes show \(there) --server \(Self.url(hub))\n"), "\(shown)")
    }

    @Test("a trial shows that what answers is no relay, and takes 501 to HEAD for an answer")
    func noRelay() async throws {
      for (status, isRelay, works) in [
        (200, true, false), (404, true, false), (501, true, false), (501, false, true),
        (500, false, false), (405, false, true),
      ] {
        let service = try TestUpstream { _ in .answer(status) }
        let settings = isRelay ? Self.settings(service.url) : Relay.quick(service)
        let edge = try Relay(upstreams: ["default": settings])
        try await edge.start()
        let tried = try await Self.tried(edge)
        #expect(tried.works == works, "\(status), \(isRelay): \(tried)")
      }
    }

    @Test("a reload with a better token ends the waits of those whose client it did not name")
    func oneClient() async throws {
      let upstream = try TestUpstream()
      let hub = try await Relay.guarded(upstream)
      let own = try await hub.token(["client": "d-1"])
      let hour = 3_600_000
      let edge = try Relay(
        upstreams: ["default": Self.settings(Self.url(hub), token: own.text, retryMs: hour)])
      try await edge.start()
      let posts = (0..<4).map { ["client": "d-\($0)", "path": "/\($0)"] as Settings }
      #expect(try await edge.device("poster").post(batch: posts).status == 202)
      let words = try await eventually("the three others are refused") {
        let list = try await edge.device().get("/v1/envelopes").json()["envelopes"]
        let errors = (list as? [[String: Any]])?.compactMap { $0["lastError"] as? String }
        return errors?.count == 3 ? errors : nil
      }
      let sentence = "the upstream answered 403 “"
      #expect(words.allSatisfy { $0.hasPrefix(sentence) && $0.hasSuffix("”") }, "\(words)")
      try edge.configure(
        upstreams: [
          "default": Self.settings(Self.url(hub), token: Credentials.steer, retryMs: hour)
        ])
      edge.signal(SIGHUP)
      _ = try await upstream.received(count: 4)
    }

    @Test("who has sent an envelope is found there by its Via, and by the token in the access log")
    func sender() async throws {
      let upstream = try TestUpstream()
      let hub = try await Relay.guarded(upstream, more: ["log": ["access": true] as Settings])
      let made = try await hub.token(["role": "steer", "label": "edge-1"])
      let edge = try Relay(
        upstreams: ["default": Self.settings(Self.url(hub), token: made.text)])
      try await edge.start()
      _ = try await edge.device("d-1").post(["path": "/a", "key": "k"])
      let request = try #require(try await upstream.received(count: 1).first)
      let operators = hub.steering
      let there = try await operators.get("/v1/clients/d-1/envelopes/k").json()
      let id = try #require(there["id"] as? String)
      let shown = try await operators.get("/v1/envelopes/\(id)/request").text
      let names = try #require(request["Via"]).split(separator: ", ")
      #expect(names.count == 2 && shown.contains(names[0]) && !shown.contains(names[1]), "\(shown)")
      try await eventually("a line of the access log") {
        let lines = hub.log.split(separator: "\n").filter { $0.contains(#""event":"request""#) }
        let line = lines.first { $0.contains(id) && $0.contains("POST") }
        return line?.contains(#""who":"\#(made.id)""#) == true ? true : nil
      }
    }

    @Test(
      "its answer is read also where something between the two has compressed it",
      arguments: [10, 400_000])
    func compressed(bodyBytes: Int) async throws {
      let id = "01a21554-fa6a-71d1-8000-0000007f2b6e"
      let receipt = #"{"result": "accepted", "id": "\#(id)"}"#
      let packed = [
        WireField(name: "Content-Encoding", value: "gzip"),
        WireField(name: "Content-Type", value: "application/json"),
      ]
      let hub = try TestUpstream { request in
        let isAlone = request.target.hasPrefix("/v1/relay/")
        let text = isAlone ? receipt : #"{"results": [\#(receipt)]}"#
        guard let body = try? GzipEncoder.encode(Array(text.utf8)) else { return .cut }
        return .answer(202, fields: packed, body: body)
      }
      let edge = try Relay(upstreams: ["default": Self.settings(hub.url)])
      try await edge.start()
      let body = String(repeating: "x", count: bodyBytes)
      let posted = try await edge.device("cam").post(["path": "/", "body": body])
      try posted.require(202)
      let mine = try #require(try posted.json()["id"] as? String)
      try await eventually("delivered") {
        try await Self.counts(edge)["delivered"] == 1 ? true : nil
      }
      #expect(hub.received.count == 1)
      let answer = try await edge.device("cam").get("/v1/envelopes/\(mine)/response")
      #expect(answer.text.contains(id), "\(answer.text)")
    }

    @Test("its Location stands in a field of its own, since it names its own API and no upstream's")
    func location() async throws {
      let upstream = try TestUpstream()
      let hub = try await Relay.started(upstream)
      let edge = try Relay(upstreams: ["default": Self.settings(Self.url(hub))])
      try await edge.start()
      let body = [UInt8](repeating: 0x5A, count: 400_000)
      let posted = try await edge.device("cam").relay("PUT", "/photo", body: body)
      let id = try #require(posted["Waystation-Id"])
      let answer = try await eventually("the next relay's answer") {
        let answer = try await edge.device("cam").get("/v1/envelopes/\(id)/response")
        return answer["Waystation-Upstream-Status"] == nil ? nil : answer
      }
      #expect(answer["Location"] == nil)
      #expect(answer["Waystation-Upstream-Location"]?.hasPrefix("/v1/envelopes/") == true)
    }
  }
}
