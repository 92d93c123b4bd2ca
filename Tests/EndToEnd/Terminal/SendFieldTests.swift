import Foundation
import Testing

extension EndToEnd {
  @Suite("What send can say", .serialized)
  struct SendFields {
    private func view(_ relay: Relay, _ id: String) async throws -> [String: Any] {
      try await relay.device().get("/v1/envelopes/\(id)").json()
    }

    @Test("every field of an envelope arrives as it was given")
    func all() async throws {
      let upstream = try TestUpstream()
      let quick = Relay.quick(upstream)
      let relay = try Relay(upstreams: ["default": quick, "billing": quick])
      try await relay.start()
      let folder = try TemporaryFolder()
      let file = try folder.write("body", "\u{1}bytes\n")
      let before = Date()
      let id = try await OperatorCommands.send(
        relay, "--upstream", "billing", "--method", "PUT", "--path", "/a?b=c", "--header", "X-A: 1",
        "--header", "X-A: 2", "--body", file, "--lane", "photos", "--sequence", "1", "--tag", "t",
        "--key", "k", "--hold", "--not-before", "1h", "--expires-at", "2999-01-01T00:00:00Z",
        "--on-failure", "block")
      let view = try await view(relay, id)
      for (name, value) in [
        ("client", "c-1"), ("upstream", "billing"), ("method", "PUT"), ("path", "/a?b=c"),
        ("lane", "photos"), ("tag", "t"), ("key", "k"), ("state", "held"),
        ("expiresAt", "2999-01-01T00:00:00.000Z"), ("onFailure", "block"),
      ] {
        #expect(view[name] as? String == value, "\(name): \(view)")
      }
      #expect(view["sequence"] as? Int == 1)
      let form = ISO8601DateFormatter()
      form.formatOptions.insert(.withFractionalSeconds)
      let notBefore = try #require((view["notBefore"] as? String).flatMap(form.date))
      #expect((3600...3700).contains(notBefore.timeIntervalSince(before)))
      let request = try await relay.device().get("/v1/envelopes/\(id)/request").json()
      let fields = request["headers"] as? [[String]] ?? []
      #expect(fields.filter { $0[0] == "X-A" }.map { $0[1] } == ["1", "2"], "\(request)")
      let body = try await relay.device().get("/v1/envelopes/\(id)/body")
      #expect(body.text == "\u{1}bytes\n")
    }

    @Test("a body is JSON byte for byte, text, or what comes from standard input")
    func bodies() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      let folder = try TemporaryFolder()
      let file = try folder.write("body.json", " {\"celsius\": 4.20}\n")
      _ = try await OperatorCommands.send(relay, "--path", "/json", "--body-json", file)
      _ = try await OperatorCommands.send(relay, "--path", "/text", "--body-text", "häl\"lo")
      let script = "printf '[1]' | \"$0\" send --client c-1 --path /in --body-json -"
      let piped = try ChildProcess(
        "/bin/sh", ["-c", script, Waystation.path], environment: relay.address)
      #expect(try await piped.ending() == .exit(0), "\(piped.errors)")
      let received = try await upstream.received(count: 3)
      #expect(
        received.map { String(decoding: $0.body, as: UTF8.self) } == [
          "{\"celsius\": 4.20}", "häl\"lo", "[1]",
        ])
      #expect(
        received.map { $0["Content-Type"] } == [
          "application/json", "text/plain; charset=utf-8", "application/json",
        ])
      let wrong = try await relay.command(
        "send", "--client", "c-1", "--path", "/", "--body-json", "/dev/null")
      #expect(wrong.ending == .exit(2) && wrong.errors.contains("--body sends a file"), "\(wrong)")
    }

    @Test("a later one takes the place of one that waits, and an earlier answer is filled in")
    func others() async throws {
      let upstream = try TestUpstream { request in
        .answer(
          200, fields: [WireField(name: "Content-Type", value: "application/json")],
          body: Array(#"{"id": 7}"#.utf8))
      }
      let relay = try await Relay.started(upstream)
      let first = try await OperatorCommands.send(
        relay, "--path", "/1", "--lane", "l", "--hold", "--coalesce", "position")
      let second = try await OperatorCommands.send(
        relay, "--path", "/2", "--lane", "l", "--hold", "--coalesce", "position")
      #expect(first == second)
      #expect(try await view(relay, first)["path"] as? String == "/2")
      _ = try await OperatorCommands.send(relay, "--path", "/a", "--key", "a")
      _ = try await OperatorCommands.send(
        relay, "--path", "/b/{{response:a#/id}}", "--references")
      #expect(try await upstream.received(count: 2).map(\.target) == ["/a", "/b/7"])
      let unread = try await relay.command(
        "send", "--client", "c-1", "--path", "/", "--body", "/nowhere")
      #expect(unread.ending == .exit(1) && unread.errors.contains("/nowhere cannot be read"))
    }
  }
}
