import Foundation
import Testing

extension Relay {
  /// What a command needs to reach this relay.
  var address: [String: String] { ["WAYSTATION_SERVER": "http://127.0.0.1:\(port)"] }

  /// Runs a command that asks this relay.
  func command(
    _ words: String..., token: String? = nil
  ) async throws -> (ending: Ending, output: String, errors: String) {
    var environment = address
    if let token { environment["WAYSTATION_TOKEN"] = token }
    let process = try ChildProcess(Waystation.path, words, environment: environment)
    let ending = try await process.ending()
    return (ending, process.output, process.errors)
  }
}

extension EndToEnd {
  @Suite("The terminal", .serialized)
  struct OperatorCommands {
    @Test("the status says in a sentence how things are, and what needs a person")
    func status() async throws {
      let upstream = try TestUpstream { _ in .answer(400) }
      let relay = try await Relay.started(upstream, upstreamMore: ["onFailure": "block"])
      let quiet = try await relay.command("status", "--fail-if-trouble")
      #expect(quiet.ending == .exit(0), "\(quiet.errors)")
      #expect(quiet.output.contains("1 upstream reachable; nothing waits; nothing needs you"))
      #expect(!quiet.output.contains("\u{1B}"), "no colours but on a terminal")
      let sent = try await relay.command("send", "--client", "c-1", "--path", "/a", "--json")
      let id = try #require(Self.json(sent.output)?["id"] as? String)
      try await eventually("blocked lane") {
        try await relay.command("status").output.contains(" UTC: one lane stands") ? true : nil
      }
      let loud = try await relay.command("status", "--fail-if-trouble")
      #expect(loud.ending == .exit(5) && loud.output.contains(id), "\(loud)")
      let json = try await relay.command("status", "--json")
      #expect(Self.json(json.output)?["blockedLaneCount"] as? Int == 1)
      let lanes = try await relay.command("lanes", "list", "--client", "c-1")
      #expect(lanes.output.contains("c-1/default") && lanes.output.contains("blocked"))
      _ = try await relay.command("send", "--client", "c-2", "--path", "/b", "--hold")
      let others = try await relay.command("lanes", "list", "--client", "c-2")
      #expect(others.output.contains(/c-2\/default +waiting +1/), "\(others.output)")
    }

    @Test("an envelope is found by its client's own key")
    func key() async throws {
      let relay = try await Relay.started(try TestUpstream())
      var ids: [String: String] = [:]
      for client in ["c-1", "c-2"] {
        let posted = try await relay.device(client).post(["path": "/a", "key": "a/b?1"])
        ids[client] = try posted.json()["id"] as? String
      }
      let found = try await relay.command(
        "envelopes", "list", "--client", "c-2", "--key", "a/b?1", "--json")
      let lines = found.output.split(separator: "\n")
      #expect(lines.count == 1 && Self.json(found.output)?["id"] as? String == ids["c-2"])
      let shown = try await relay.command("envelopes", "list", "--client", "c-1", "--key", "a/b?1")
      #expect(shown.output.contains(ids["c-1"] ?? "-") && shown.output.contains("c-1/default"))
      let story = try await relay.command("envelopes", "show", "--client", "c-1", "--key", "a/b?1")
      #expect(story.ending == .exit(0) && story.output.contains(ids["c-1"] ?? "-"), "\(story)")
      let unknown = try await relay.command("envelopes", "show", "--client", "c-1", "--key", "b")
      #expect(unknown.ending == .exit(1) && unknown.output.isEmpty, "\(unknown)")
      for words in [
        ["--key", "a"], ["--client", "c-1"], ["x", "--client", "c-1", "--key", "a"], [],
      ] {
        let wrong = try ChildProcess(
          Waystation.path, ["envelopes", "show"] + words, environment: relay.address)
        #expect(try await wrong.ending() == .exit(2), "\(words)")
      }
      let none = try await relay.command("envelopes", "list", "--client", "c-1", "--key", "b")
      #expect(none.ending == .exit(0) && none.output == "no envelopes\n", "\(none)")
      for more in [[], ["--client", "c-1", "--tag", "t"]] {
        let wrong = try ChildProcess(
          Waystation.path, ["envelopes", "list", "--key", "a"] + more, environment: relay.address)
        #expect(try await wrong.ending() == .exit(2) && wrong.errors.contains("with --client"))
      }
    }

    @Test("an envelope is shown, edited, retried, discarded and requeued")
    func settling() async throws {
      let upstream = try TestUpstream { request in
        .answer(request.target == "/good" ? 200 : 400)
      }
      let relay = try await Relay.started(upstream, upstreamMore: ["onFailure": "block"])
      let id = try await Self.send(relay, "--path", "/bad")
      try await eventually("blocked envelope") {
        let list = try await relay.command("envelopes", "list", "--state", "blocked")
        return list.output.contains(id) ? true : nil
      }
      let story = try await relay.command("envelopes", "show", id)
      #expect(story.output.contains("POST /bad") && story.output.contains("refused"), "\(story)")
      #expect(story.output.contains("next: waystation envelopes retry|edit|discard \(id)"))
      let corrected = try await relay.command("envelopes", "edit", id, "--path", "/good")
      #expect(
        corrected.output.hasPrefix(
          "\(id) is corrected, and blocked as before; next: waystation envelopes retry \(id)"),
        "\(corrected)")
      let edited = try await relay.command("envelopes", "edit", id, "--path", "/good", "--retry")
      #expect(edited.ending == .exit(0), "\(edited.errors)")
      #expect(try await relay.device().end(of: id)["state"] as? String == "delivered")
      let other = try await Self.send(relay, "--path", "/bad")
      try await eventually("blocked envelope") {
        try await relay.command("envelopes", "show", other).output.hasPrefix("blocked") ? true : nil
      }
      let gone = try await relay.command("envelopes", "discard", other)
      #expect(gone.ending == .exit(0) && gone.output.contains("failed"), "\(gone)")
      let again = try await relay.command("envelopes", "requeue", other, id)
      #expect(again.ending == .exit(1) && again.errors.contains(id), "a delivered one stays")
      #expect(again.output.contains(other))
    }

    @Test("a body is written as it is, and what is refused is told")
    func body() async throws {
      let upstream = try TestUpstream { _ in .answer(422) }
      let relay = try await Relay.guarded(upstream)
      let posted = try await relay.device("d-1", token: Credentials.steer).post([
        "client": "d-1", "path": "/a", "bodyBase64": Data("{\"a\": 1}".utf8).base64EncodedString(),
      ])
      let id = try #require(posted.json()["id"] as? String)
      let body = try await relay.command("envelopes", "body", id, token: Credentials.steer)
      #expect(body.ending == .exit(0) && body.output == "{\"a\": 1}", "\(body)")
      let refused = try await relay.command("envelopes", "body", id, token: Credentials.read)
      #expect(refused.ending == .exit(1) && refused.output.isEmpty, "\(refused)")
      #expect(refused.errors.contains("403") && refused.errors.contains("role 'steer'"))
      try await eventually("it is a dead letter") {
        let shown = try await relay.command("envelopes", "show", id, token: Credentials.steer)
        return shown.output.contains(
          "\n      to send it as it is: waystation envelopes requeue \(id)")
          && shown.output.contains("\n      its body: waystation envelopes body \(id)") ? true : nil
      }
      let stranger = try await relay.command("status", token: "ws_none")
      #expect(stranger.errors.contains("401") && stranger.errors.contains("WAYSTATION_TOKEN"))
      #expect(!stranger.errors.contains("ask the operator"), "it is an operator who asks")
    }

    @Test("what a stranger named cannot control the terminal")
    func hostile() async throws {
      let upstream = try TestUpstream { _ in
        .answer(400, body: Array("\u{1B}]0;taken\u{7} \u{9B}2J \u{202E}".utf8))
      }
      let relay = try await Relay.started(upstream)
      let id = try await Self.send(relay, "--path", "/x", "--tag", "t", "--body", "/dev/null")
      _ = try await relay.device().end(of: id)
      for words in [["envelopes", "show", id], ["envelopes", "show", id, "--json"]] {
        let process = try ChildProcess(Waystation.path, words, environment: relay.address)
        #expect(try await process.ending() == .exit(0))
        let hostile = process.output.unicodeScalars.filter { scalar in
          scalar != "\n" && (scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value))
        }
        #expect(hostile.isEmpty)
      }
    }

    @Test("upstreams, clients and lanes are paused and resumed")
    func pausing() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      for words in [
        ["upstreams", "pause", "default"], ["clients", "pause", "c-1"],
        ["lanes", "pause", "c-1/photos"], ["lanes", "resume", "c-1/photos"],
        ["clients", "resume", "c-1"],
      ] {
        let process = try ChildProcess(Waystation.path, words, environment: relay.address)
        #expect(try await process.ending() == .exit(0), "\(words): \(process.errors)")
      }
      let list = try await relay.command("upstreams", "list")
      #expect(list.output.contains("paused"), "\(list)")
      let id = try await Self.send(relay, "--path", "/a")
      let status = try await relay.command("status")
      #expect(status.output.contains("waystation upstreams resume default"), "\(status.output)")
      _ = try await relay.command("upstreams", "resume", "default")
      _ = try await upstream.received(count: 1)
      #expect(try await relay.device().end(of: id)["state"] as? String == "delivered")
      let idle = try await relay.command("upstreams", "probe", "default")
      #expect(idle.output.contains("nothing waits for upstream default"), "\(idle)")
      let queued = try await relay.command("envelopes", "retry", "--state", "queued")
      #expect(queued.ending == .exit(2) && queued.errors.contains("upstreams probe"), "\(queued)")
      let probe = try await relay.command("upstreams", "probe", "nobody")
      #expect(probe.ending == .exit(1) && probe.errors.contains("404"), "\(probe)")
    }

    @Test("events are told as they happen, in lines and as JSON")
    func events() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      let process = try ChildProcess(
        Waystation.path, ["events", "--follow", "--json"], environment: relay.address)
      try await process.output(holds: "snapshot")
      let id = try await Self.send(relay, "--path", "/a")
      _ = try await upstream.received(count: 1)
      try await process.output(holds: "\"event\":\"delivered\"")
      #expect(process.output.contains(id))
      process.signal(SIGTERM)
      _ = try await process.ending()
    }

    @Test("who may not is told what to do, and a relay that is away has an exit code of its own")
    func refusals() async throws {
      let relay = try await Relay.guarded(try TestUpstream())
      let nobody = try await relay.command("status")
      #expect(nobody.ending == .exit(1) && nobody.errors.contains("WAYSTATION_TOKEN"), "\(nobody)")
      let reader = try await relay.command("upstreams", "pause", "default", token: Credentials.read)
      #expect(reader.ending == .exit(1) && reader.errors.contains("'steer'"), "\(reader)")
      let steering = try await relay.command("status", token: Credentials.steer)
      #expect(steering.ending == .exit(0), "\(steering.errors)")
      let away = try await Waystation.run(
        "status", "--server", "http://127.0.0.1:\(try ReservedPort.kept())")
      #expect(away.ending == .exit(4) && away.errors.contains("waystation health"), "\(away)")
      let plain = try await Waystation.run(
        "status", "--server", "http://relay.invalid:8080",
        environment: ["WAYSTATION_TOKEN": Credentials.steer])
      #expect(plain.ending == .exit(1) && plain.errors.contains("--allow-plain-http"))
    }

    @Test("a Unix socket and TLS are spoken")
    func transports() async throws {
      let authority = try await CertificateAuthority()
      let pair = try await authority.sign("relay", subject: "/CN=relay")
      let folder = try TemporaryFolder()
      let socket = folder.path + "/relay.sock"
      let secure: [String: any Sendable] = ["address": "127.0.0.1:0", "tls": pair.listener]
      let relay = try Relay(
        upstreams: ["default": Relay.quick(try TestUpstream())], listen: ["unix:\(socket)", secure])
      try await relay.start()
      let local = try await Waystation.run("status", "--server", "unix:\(socket)")
      #expect(local.ending == .exit(0), "\(local.errors)")
      let url = "https://127.0.0.1:\(relay.port(of: 1))"
      let known = try await Waystation.run(
        "status", "--server", url, "--ca", authority.certificate)
      #expect(known.ending == .exit(0), "\(known.errors)")
      let unknown = try await Waystation.run("status", "--server", url)
      #expect(unknown.ending == .exit(4), "\(unknown)")
    }

    static func json(_ text: String) -> [String: Any]? {
      (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any]
    }

    /// Sends one envelope of the client `c-1`, and returns its id.
    static func send(_ relay: Relay, _ words: String...) async throws -> String {
      let process = try ChildProcess(
        Waystation.path, ["send", "--client", "c-1", "--json"] + words, environment: relay.address)
      #expect(try await process.ending() == .exit(0), "\(process.errors)")
      return try #require(json(process.output)?["id"] as? String)
    }
  }
}
