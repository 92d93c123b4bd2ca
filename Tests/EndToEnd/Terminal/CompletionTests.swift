import Foundation
import Testing

extension EndToEnd {
  @Suite("Completions", .ofNoStore)
  struct Completions {
    /// Has the script of bash complete a command line of these words, and prints what it offers.
    private static let script = """
      source <("$0" completions bash)
      COMP_WORDS=("$0" "$@") COMP_CWORD=$# COMPREPLY=()
      COMP_LINE="${COMP_WORDS[*]}" COMP_POINT=${#COMP_LINE}
      _waystation
      printf '%s\\n' "${COMPREPLY[@]}"
      """

    /// What bash offers at the end of a command line.
    private func offered(
      _ words: [String], environment: [String: String] = [:]
    ) async throws -> [String] {
      let process = try ChildProcess(
        "/bin/bash", ["-c", Self.script, Waystation.path] + words, environment: environment)
      #expect(try await process.ending() == .exit(0), "\(process.errors)")
      return process.output.split(separator: "\n").map(String.init)
    }

    private func offered(_ words: String...) async throws -> [String] {
      try await offered(words)
    }

    @Test("bash is offered commands, what they do, their options and the words of these")
    func bash() async throws {
      #expect(try await offered("ex") == ["export"])
      #expect(try await offered("upstreams", "p") == ["pause", "probe"])
      #expect(try await offered("envelopes", "list", "--stat") == ["--state", "--status"])
      #expect(try await offered("envelopes", "list", "--state", "b") == ["blocked"])
      let ofStore = try await offered("store", "check", "--")
      #expect(ofStore.contains("--data") && !ofStore.contains("--config"), "not those of check")
      #expect(try await offered("check", "--").contains("--config"))
      #expect(try await offered("import", "/etc/host").contains("/etc/hosts"))
      let nowhere = ["--server", "unix:/nowhere"]
      let files = try await offered(["upstreams", "pause"] + nowhere + ["/etc/h"])
      #expect(files.isEmpty, "a name is no file")
    }

    /// A relay with two upstreams, and an envelope of each client and lane.
    private func relay(_ lanes: [(String, String)]) async throws -> Relay {
      let quick = Relay.quick(try TestUpstream())
      let relay = try Relay(upstreams: ["default": quick, "billing": quick])
      try await relay.start()
      for (client, lane) in lanes {
        let sent = try await relay.command(
          "send", "--client", client, "--lane", lane, "--path", "/", "--hold")
        #expect(sent.ending == .exit(0), "\(sent)")
      }
      return relay
    }

    @Test("bash is offered the relay's upstreams, clients and lanes")
    func names() async throws {
      let relay = try await relay([
        ("truck-1", "a"), ("truck-1", "b"), ("truck-2", "a"), ("c:3", "x@1"),
      ])
      for (words, names) in [
        ("upstreams pause ", "billing default"), ("upstreams pause b", "billing"),
        ("clients show truck-", "truck-1 truck-2"), ("clients forget x", ""),
        // Behind a colon, bash takes what it is given for the rest of the word.
        ("clients show c:", "3"), ("clients show ", "c:3 truck-1 truck-2"),
        ("lanes pause truck-", "truck-1/ truck-2/"),
        ("lanes pause truck-1/", "truck-1/a truck-1/b"),
        ("lanes resume truck-2", "truck-2/a"), ("lanes pause c:3/x@", "1"),
        ("envelopes list --upstream d", "default"), ("events --client truck-2", "truck-2"),
        ("export --lane ", "a b x@1"), ("export --client truck-2 --lane ", "a"),
        ("send --file x --client c", "c:3"), ("token create --client truck-2", "truck-2"),
      ] {
        let typed = words.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        let found = try await offered(typed, environment: relay.address)
        #expect(found.sorted().joined(separator: " ") == names, "\(words)")
      }
      let server = "--server=http://127.0.0.1:\(relay.port)"
      #expect(try await offered(["upstreams", "pause", server, "d"]) == ["default"])
    }

    @Test("a name that a shell would carry out is quoted, and is not carried out")
    func hostileNames() async throws {
      let name = "e$(touch${IFS}made)`touch${IFS}made`;'"
      let relay = try await relay([(name, "a")])
      let folder = try TemporaryFolder()
      let process = try ChildProcess(
        "/bin/bash",
        ["-c", "cd \"$1\"; shift; \(Self.script)", Waystation.path, folder.path]
          + ["clients", "show", "e"], environment: relay.address)
      #expect(try await process.ending() == .exit(0), "\(process.errors)")
      let quoted = process.output.trimmingCharacters(in: .newlines)
      let back = try ChildProcess("/bin/bash", ["-c", "cd '\(folder.path)'; printf %s \(quoted)"])
      #expect(try await back.ending() == .exit(0), "\(back.errors)")
      #expect(back.output == name, "\(quoted)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
      // What no relay would call a client is left out, and the rest is bounded.
      let names = (0..<300).map { "{\"client\": \"d-\($0)\"}" }
      let bad = ["\\u001b]0;x", "d b", "d\\n-", "", "other"].map { "{\"client\": \"\($0)\"}" }
      let body = "{\"clients\": [\((bad + names).joined(separator: ","))]}"
      let server = try TestUpstream { _ in
        .answer(
          200, fields: [WireField(name: "Content-Type", value: "application/json")],
          body: Array(body.utf8))
      }
      let hostile = try await Waystation.run(
        "complete", "clients", "d", environment: ["WAYSTATION_SERVER": server.url])
      let lines = hostile.output.split(separator: "\n").map(String.init)
      #expect(lines == (0..<100).map { "d-\($0)" })
    }

    @Test("where nobody answers, or nobody is let in, nothing is said, and it is soon over")
    func silence() async throws {
      let guarded = try await Relay.guarded(try TestUpstream())
      let never = try TestUpstream { _ in .never }
      let closed = "http://127.0.0.1:\(try ReservedPort.kept())"
      for server in ["http://127.0.0.1:\(guarded.port)", never.url, closed, "no URL", "unix:/no"] {
        let begin = ContinuousClock.now
        let asked = try await Waystation.run(
          "complete", "clients", "", "waystation", "clients", "--server", server, "--token-file",
          "/nowhere")
        #expect(asked.ending == .exit(0) && asked.output == "" && asked.errors == "", "\(asked)")
        #expect(ContinuousClock.now - begin < .seconds(15), "\(server)")
      }
      let folder = try TemporaryFolder()
      try folder.write("token", Credentials.read)
      let known = try await Waystation.run(
        "complete", "upstreams", "", "waystation", "--token-file", "~/token", "--server",
        "http://127.0.0.1:\(guarded.port)", "--client", environment: ["HOME": folder.path])
      #expect(known.output == "default\n", "\(known)")
    }

    @Test("shells and man(1) are given what they can read, as far as these are at hand")
    func syntax() async throws {
      let folder = try TemporaryFolder()
      for (words, reader) in [
        (["completions", "bash"], "bash -n"), (["completions", "zsh"], "zsh -n"),
        (["completions", "fish"], "fish -n"), (["man"], "mandoc -T lint -W error"),
      ] {
        let made = try ChildProcess(Waystation.path, words)
        #expect(try await made.ending() == .exit(0))
        let file = try folder.write("made", made.output)
        let check = "command -v \(reader.prefix { $0 != " " }) >/dev/null || exit 0; \(reader) $1"
        let process = try ChildProcess("/bin/sh", ["-c", check, "sh", file])
        #expect(try await process.ending() == .exit(0), "\(reader): \(process.errors)")
      }
    }
  }
}
