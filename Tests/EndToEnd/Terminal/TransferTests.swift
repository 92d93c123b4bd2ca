import Foundation
import Testing

extension EndToEnd {
  @Suite("Files of envelopes", .serialized)
  struct Transfers {
    @Test("a file is sent in batches, and sending it again stores nothing twice")
    func sending() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      let lines = (1...25).map { "{\"path\": \"/n/\($0)\", \"body\": \($0)}" }
      let file = try relay.folder.write("all.ndjson", lines.joined(separator: "\n") + "\n")
      let first = try await relay.command(
        "send", "--file", file, "--client", "c-1", "--batch", "10", "--json")
      #expect(first.ending == .exit(0), "\(first.errors)")
      #expect(OperatorCommands.json(first.output)?["accepted"] as? Int == 25)
      #expect(!FileManager.default.fileExists(atPath: file + ".progress"))
      let received = try await upstream.received(count: 25)
      #expect(received.map(\.target) == (1...25).map { "/n/\($0)" }, "in order")
      let second = try await relay.command("send", "--file", file, "--client", "c-1")
      #expect(second.output.contains("0 envelopes accepted, 25 there already"), "\(second)")
    }

    @Test("what makes no sense in a file is named by its line, and the rest is sent")
    func refusedLines() async throws {
      let relay = try await Relay.started(try TestUpstream())
      let file = try relay.folder.write(
        "some.ndjson",
        "{\"client\": \"c\", \"path\": \"/a\"}\nnonsense\n\n{\"client\": \"c\"}\n")
      let sent = try await relay.command("send", "--file", file)
      #expect(sent.ending == .exit(1))
      #expect(sent.errors.contains("line 2:") && sent.errors.contains("line 4:"), "\(sent)")
      #expect(sent.output.contains("1 envelope accepted, 2 refused"), "\(sent)")
    }

    @Test("what is refused of many lines for one reason is told once, with their numbers")
    func refusedAlike() async throws {
      let relay = try await Relay.started(try TestUpstream())
      let lines = (1...60).map { number in
        let upstream = number == 30 ? "" : #", "upstream": "nowhere""#
        return #"{"client": "c", "path": "/\#(number)"\#(upstream)}"#
      }
      let file = try relay.folder.write("alike.ndjson", lines.joined(separator: "\n"))
      let sent = try await relay.command("send", "--file", file, "--batch", "7")
      #expect(sent.ending == .exit(1))
      let notes = sent.errors.split(separator: "\n")
      #expect(notes.count == 2 && notes[0].contains("line 1: "), "\(sent)")
      #expect(notes.last?.contains("lines 2-29, 31-60: as line 1") == true, "\(sent)")
      #expect(sent.output.contains("1 envelope accepted, 59 refused"), "\(sent)")
    }

    @Test("a run that was cut off goes on where it was")
    func resuming() async throws {
      let relay = try await Relay.started(try TestUpstream())
      let file = try relay.folder.write(
        "all.ndjson",
        (1...20).map { "{\"client\": \"c\", \"path\": \"/n/\($0)\"}" }.joined(separator: "\n"))
      try await relay.kill()
      let cut = try ChildProcess(
        Waystation.path, ["send", "--file", file, "--batch", "5"], environment: relay.address)
      try await cut.errors(hold: "trying again")
      try await relay.start()
      #expect(try await cut.ending() == .exit(0), "\(cut.errors)")
      #expect(cut.output.contains("20 envelopes accepted"), "\(cut.output)")
      // As an earlier run would have left it behind two lines.
      let head = (1...2).map { "{\"client\": \"c\", \"path\": \"/n/\($0)\"}\n" }.joined()
      try relay.folder.write(
        "all.ndjson.progress",
        "{\"bytes\":\(head.utf8.count),\"lines\":2,\"mark\":\"\(Self.mark(head))\"}")
      let rest = try await relay.command("send", "--file", file)
      #expect(rest.errors.contains("going on after line 2"), "\(rest)")
      #expect(rest.output.contains("18 there already"), "\(rest)")
    }

    @Test("what waits is exported, page by page, and nothing that is there is written over")
    func exporting() async throws {
      let upstream = try TestUpstream()
      upstream.stop()
      let relay = try await Relay.started(upstream)
      let device = relay.device("c-1")
      for _ in 1...3 {
        _ = try await device.post(batch: (1...100).map { ["path": "/n/\($0)", "lane": "l"] })
      }
      let target = relay.folder.path + "/out.ndjson"
      let done = try await relay.command("export", "--client", "c-1", "--to", target)
      #expect(done.ending == .exit(0), "\(done.errors)")
      let lines = try String(contentsOfFile: target, encoding: .utf8).split(separator: "\n")
      #expect(lines.count == 300)
      let ids = Set(lines.compactMap { OperatorCommands.json(String($0))?["id"] as? String })
      #expect(ids.count == 300)
      let again = try await relay.command("export", "--to", target)
      #expect(again.ending == .exit(1) && again.errors.contains("unfinished export"), "\(again)")
    }

    @Test("an export without bodies is imported elsewhere, once, and in order")
    func importing() async throws {
      let away = try TestUpstream()
      away.stop()
      let old = try await Relay.started(away)
      _ = try await old.device("c-1").post(batch: (1...30).map { ["path": "/n/\($0)"] })
      let file = old.folder.path + "/out.ndjson"
      _ = try await old.command("export", "--to", file)
      let upstream = try TestUpstream()
      let new = try await Relay.started(upstream)
      let first = try await new.command("import", file)
      #expect(first.ending == .exit(0), "\(first.errors)")
      let received = try await upstream.received(count: 30)
      #expect(received.map(\.target) == (1...30).map { "/n/\($0)" })
      let second = try await new.command("import", file)
      #expect(second.output.contains("30 there already"), "\(second)")
    }

    @Test("what came by another relay is exported and imported as well")
    func importingFromHub() async throws {
      let away = try TestUpstream()
      away.stop()
      let old = try await Relay.started(away)
      let posted = try await old.device().request(
        "POST", "/v1/envelopes",
        headers: ["Content-Type": "application/json", "Via": "1.1 waystation-0000000a"],
        body: Array(#"{"client": "c", "path": "/a", "body": 1}"#.utf8))
      #expect(posted.status == 202)
      let file = old.folder.path + "/out.ndjson"
      _ = try await old.command("export", "--to", file)
      #expect(try String(contentsOfFile: file, encoding: .utf8).contains("waystation-0000000a"))
      let upstream = try TestUpstream()
      let new = try await Relay.started(upstream)
      let done = try await new.command("import", file)
      #expect(done.ending == .exit(0), "\(done.errors)")
      #expect(try await upstream.received(count: 1)[0].target == "/a")
    }

    /// As the command knows a file again.
    private static func mark(_ text: String) -> String {
      let hash = text.utf8.reduce(UInt64(0xCBF2_9CE4_8422_2325)) {
        ($0 ^ UInt64($1)) &* 0x100_0000_01B3
      }
      return String(hash, radix: 16)
    }
  }
}
