import Foundation
import Testing

extension EndToEnd {
  @Suite("The terminal's acts", .serialized)
  struct SteeringCommands {
    /// Has envelopes fail, and waits until all of them have.
    private func fail(_ count: Int, _ relay: Relay) async throws {
      for index in 0..<count {
        _ = try await OperatorCommands.send(relay, "--path", "/\(index)")
      }
      try await eventually("\(count) dead letters") {
        let list = try await relay.command("envelopes", "list", "--state", "failed", "--json")
        return list.output.split(separator: "\n").count == count ? true : nil
      }
    }

    @Test("operations are listed, shown, followed and cancelled, and the audit log tells of them")
    func operations() async throws {
      let refuses = Monitor(true)
      let upstream = try TestUpstream { _ in .answer(refuses.read { $0 } ? 422 : 200) }
      let relay = try await Relay.started(upstream)
      let none = try await relay.command("operations", "list")
      #expect(none.ending == .exit(0) && none.output == "no operations\n", "\(none)")
      try await fail(3, relay)
      refuses.change { $0 = false }
      let requeued = try await relay.command("envelopes", "requeue", "--state", "failed")
      let told = try #require(requeued.output.firstMatch(of: /operation (\d+) is done: requeue, 3/))
      let id = String(told.1)
      let list = try await relay.command("operations", "list")
      #expect(list.output.contains(/requeue +done +3 +3 +anonymous/), "\(list)")
      #expect(list.output.contains("state=failed"))
      let shown = try await relay.command("operations", "show", id)
      #expect(shown.output.hasPrefix("operation \(id) is done: requeue, 3 of 3 done\n"), "\(shown)")
      #expect(
        shown.output.contains("which  state=failed")
          && shown.output.contains("ended  20"))
      let json = try await relay.command("operations", "show", id, "--json")
      #expect(OperatorCommands.json(json.output)?["matched"] as? Int == 3)
      for act in ["follow", "cancel"] {
        let done = try await relay.command("operations", act, id)
        #expect(done.ending == .exit(0) && done.output.contains("is done"), "\(act): \(done)")
      }
      let unknown = try await relay.command("operations", "follow", "999")
      #expect(unknown.ending == .exit(1) && unknown.errors.contains("404"), "\(unknown)")
      let audit = try await relay.command("audit", "--subject", "operations/\(id)")
      #expect(audit.output.contains(/anonymous +anonymous +stop-operation +operations/), "\(audit)")
      #expect(audit.output.split(separator: "\n").count == 2, "the title and one act")
      let all = try await relay.command("audit", "--json")
      #expect(all.output.contains(#""action":"start-operation""#), "\(all)")
      let cut = try await relay.command("audit", "--limit", "1")
      #expect(cut.output.contains("stop-operation") && !cut.output.contains("start-operation"))
      #expect(cut.errors.contains("there are more"), "\(cut)")
    }

    @Test("one that leaves some as they were is followed to an exit code that says so")
    func followed() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      let id = try await OperatorCommands.send(relay, "--path", "/")
      _ = try await relay.device().end(of: id)
      let first = try await relay.command("envelopes", "replay", "--upstream", "default", "--yes")
      #expect(first.ending == .exit(0), "\(first)")
      try await upstream.received(count: 2)
      try await eventually("the copy's delivery") {
        let list = try await relay.command("envelopes", "list", "--state", "delivered", "--json")
        return list.output.split(separator: "\n").count == 2 ? true : nil
      }
      // A copy is not copied.
      let second = try await relay.command("envelopes", "replay", "--upstream", "default", "--yes")
      #expect(second.ending == .exit(1), "\(second)")
      let told = try #require(second.output.firstMatch(of: /operation (\d+) is done/), "\(second)")
      let followed = try await relay.command("operations", "follow", String(told.1))
      #expect(followed.ending == .exit(1) && followed.output == second.output, "\(followed)")
      #expect(followed.output.contains("1 of 2 done, 1 left as they were"), "\(followed)")
      let json = try await relay.command("operations", "follow", String(told.1), "--json")
      #expect(json.ending == .exit(1), "\(json)")
      #expect(OperatorCommands.json(json.output)?["failed"] as? Int == 1)
    }

    @Test("a client is forgotten, but only when somebody says so")
    func forgetting() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      for lane in ["a", "b", "b"] {
        _ = try await OperatorCommands.send(relay, "--path", "/", "--lane", lane, "--hold")
      }
      let part = try await relay.command("clients", "forget", "c-1", "--lane", "a")
      #expect(part.errors.contains("cancel all of client c-1 that waits in lane a (1 envelope)"))
      let tag = try await relay.command("clients", "forget", "c-1", "--lane", "b", "--tag", "t")
      #expect(tag.errors.contains("client c-1 that waits in lane b with the tag t; give --yes"))
      let none = try await relay.command("clients", "forget", "c-1", "--tag", "t", "--yes")
      #expect(none.output == "client c-1: 0 envelopes cancelled\n", "\(none)")
      let asked = try await relay.command("clients", "forget", "c-1")
      #expect(asked.ending == .exit(2) && asked.errors.contains("--yes"), "\(asked)")
      #expect(asked.errors.contains("cancel all of client c-1 that waits (3 envelopes)"))
      let forgotten = try await relay.command("clients", "forget", "c-1", "--yes")
      #expect(forgotten.output == "client c-1: 3 envelopes cancelled\n", "\(forgotten)")
      let list = try await relay.command("envelopes", "list", "--state", "cancelled", "--json")
      #expect(list.output.split(separator: "\n").count == 3)
      let nothing = try await relay.command("clients", "forget", "c-1", "--yes", "--json")
      #expect(OperatorCommands.json(nothing.output)?["cancelled"] as? Int == 0, "\(nothing)")
      let nobody = try await relay.command("clients", "forget", "nobody", "--yes")
      #expect(nobody.ending == .exit(1) && nobody.errors.contains("404"), "\(nobody)")
    }

    @Test("an envelope is shown with the upstream's answer, as text where it is text")
    func answers() async throws {
      let upstream = try TestUpstream { request in
        let plain = WireField(name: "Content-Type", value: "text/plain")
        switch request.target {
        case "/text":
          let more = WireField(name: "X-Reason", value: "too \u{1B}[31mwarm")
          return .answer(422, fields: [plain, more], body: Array("no\r\nnot \u{1B}[31mred".utf8))
        case "/lines": return .answer(422, fields: [plain], body: Array("one\r\n\ttwo\n".utf8))
        case "/bytes": return .answer(200, body: [0x00, 0xFF, 0x1F])
        case "/umlauts":
          // The relay keeps the first byte of the last character that it keeps.
          return .answer(422, body: Array(("a" + String(repeating: "ä", count: 9000)).utf8))
        case "/long": return .answer(200, body: [UInt8](repeating: 0x61, count: 20_000))
        default: return .answer(200)
        }
      }
      let relay = try await Relay.started(upstream, upstreamMore: ["responseBodyBytesMax": 10_000])
      func show(_ path: String, _ more: String...) async throws -> String {
        let id = try await OperatorCommands.send(relay, "--path", path)
        _ = try await relay.device().end(of: id)
        let process = try ChildProcess(
          Waystation.path, ["envelopes", "show", id] + more, environment: relay.address)
        #expect(try await process.ending() == .exit(0), "\(process.errors)")
        return process.output
      }
      let lines = try await show("/lines")
      #expect(lines.contains("\nthe upstream answered 422\n"), "\(lines)")
      #expect(lines.contains("\n  Content-Type: text/plain\n"))
      #expect(lines.contains("\n\n  one\n      two\n\nnext: "), "\(lines)")
      #expect(!lines.contains("nosniff"), "the relay's own fields are left out")
      let text = try await show("/text")
      #expect(!text.contains("\u{1B}") && text.contains("which is no text"), "\(text)")
      let bytes = try await show("/bytes")
      #expect(bytes.contains("(a body of 3 B, which is no text)"), "\(bytes)")
      let long = try await show("/long")
      #expect(long.contains("(the beginning of a body of 9.8 KiB, cut off by the relay)"))
      #expect(long.contains(String(repeating: "a", count: 8192) + "\n"))
      #expect(try await show("/none").contains("(no body)"))
      let umlauts = try await show("/umlauts")
      #expect(umlauts.contains("  a" + String(repeating: "ä", count: 4095) + "\n"), "\(umlauts)")
      let one = try #require(OperatorCommands.json(try await show("/lines", "--json")))
      let answer = try #require(one["response"] as? [String: Any])
      #expect(answer["status"] as? Int == 422 && answer["body"] as? String == "one\r\n\ttwo\n")
      #expect((answer["headers"] as? [String: String])?["Content-Type"] == "text/plain")
      let other = try #require(OperatorCommands.json(try await show("/bytes", "--json")))
      #expect((other["response"] as? [String: Any])?["bodyBase64"] as? String == "AP8f")
    }
  }
}
