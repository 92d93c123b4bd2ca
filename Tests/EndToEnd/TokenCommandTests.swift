import Foundation
import Testing

extension EndToEnd {
  @Suite("The command token", .serialized)
  struct TokenCommand {
    @Test("tokens are made, listed and revoked from a terminal")
    func overTheAPI() async throws {
      let relay = try await Relay.guarded(try TestUpstream())
      let environment = [
        "WAYSTATION_TOKEN": Credentials.steer,
        "WAYSTATION_SERVER": "http://127.0.0.1:\(relay.port)",
      ]
      let made = try await Waystation.run(
        "token", "create", "--client", "till-1", "--label", "front desk", "--expires-at", "30d",
        environment: environment)
      #expect(made.ending == .exit(0), "\(made.errors)")
      let token = made.output.trimmingCharacters(in: .whitespacesAndNewlines)
      let id = String(token.dropFirst(4).prefix(16))
      #expect(try await relay.device("d", token: token).get("/v1/clients/till-1").status == 404)
      let file = try relay.folder.write("operator", Credentials.read + "\n")
      let list = try await Waystation.run(
        "token", "list", "--token-file", file, "--server", "http://127.0.0.1:\(relay.port)")
      #expect(list.output.contains(id) && list.output.contains("front desk"), "\(list)")
      #expect(!list.output.contains(token.suffix(64)))
      let gone = try await Waystation.run("token", "revoke", id, environment: environment)
      #expect(gone.ending == .exit(0), "\(gone.errors)")
      #expect(try await relay.device("d", token: token).get("/v1/clients/till-1").status == 401)
      let again = try await Waystation.run("token", "revoke", id, environment: environment)
      #expect(again.ending == .exit(1) && again.errors.contains("404"))
      let reader = try await Waystation.run(
        "token", "create", "--role", "read", "--token-file", file, "--server",
        "http://127.0.0.1:\(relay.port)")
      #expect(reader.ending == .exit(1) && reader.errors.contains("403"))
    }

    @Test("a token that may be renewed is made from a terminal, and renewed by its client")
    func renewed() async throws {
      let relay = try await Relay.guarded(try TestUpstream())
      let server = ["WAYSTATION_SERVER": "http://127.0.0.1:\(relay.port)"]
      func run(
        _ token: String, _ words: String...
      ) async throws -> (ending: Ending, output: String, errors: String) {
        let process = try ChildProcess(
          Waystation.path, ["token"] + words,
          environment: server.merging(["WAYSTATION_TOKEN": token]) { $1 })
        let ending = try await process.ending()
        return (ending, process.output, process.errors)
      }
      let made = try await run(
        Credentials.steer, "create", "--client", "till-1", "--expires-at", "30d",
        "--renewable-until", "365d")
      #expect(made.ending == .exit(0), "\(made.errors)")
      let token = made.output.trimmingCharacters(in: .whitespacesAndNewlines)
      let renewed = try await run(token, "renew")
      #expect(renewed.ending == .exit(0) && renewed.errors.contains("ends at"), "\(renewed)")
      let next = renewed.output.trimmingCharacters(in: .whitespacesAndNewlines)
      #expect(next != token && next.prefix(21) == token.prefix(21))
      #expect(try await relay.device("d", token: next).get("/v1/clients/till-1").status == 404)
      #expect(try await run(token, "renew").output == renewed.output)
      let list = try await run(Credentials.read, "list")
      #expect(list.output.contains("renewed 2") && list.output.contains("renewable until"))
      let fixed = try await relay.token(["client": "till-2"]).text
      let refused = try await run(fixed, "renew")
      #expect(refused.ending == .exit(1) && refused.errors.contains("does not end"), "\(refused)")
      let operators = try await run(Credentials.steer, "renew")
      #expect(operators.ending == .exit(1) && operators.errors.contains("a client's own"))
      let needless = try await run(
        Credentials.steer, "create", "--role", "read", "--expires-at", "30d",
        "--renewable-until", "365d")
      #expect(needless.ending == .exit(2) && needless.errors.contains("--client"))
    }

    @Test("a derived token and a digest are those of the vectors in docs/operating.md")
    func offline() async throws {
      let secret = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
      let derived = try await Waystation.run(
        "token", "derive", "--key", "fleet-1", "--client", "truck-7",
        environment: ["WAYSTATION_KEY_SECRET": secret])
      let top = #filePath.components(separatedBy: "/Tests/")[0]
      let page = try String(contentsOfFile: top + "/docs/operating.md", encoding: .utf8)
      let token = derived.output.trimmingCharacters(in: .whitespacesAndNewlines)
      #expect(token.hasPrefix("wsk_fleet-1.747275636b2d37.") && page.contains(token), "\(derived)")
      let made = try await Waystation.run("token", "hash", "--new")
      let words = made.output.split { $0 == " " || $0 == "\n" }.map(String.init)
      let digest = try await Waystation.run(
        "token", "hash", environment: ["WAYSTATION_TOKEN": words[1]])
      #expect(digest.output.trimmingCharacters(in: .newlines) == words[3])
    }

    @Test("no secret is taken from the command line, or sent where others can read it")
    func careful() async throws {
      let refused = try await Waystation.run("token", "list", "--token", Credentials.steer)
      #expect(refused.ending == .exit(2))
      let plain = try await Waystation.run(
        "token", "list", "--server", "http://relay.invalid:8080",
        environment: ["WAYSTATION_TOKEN": Credentials.steer])
      #expect(plain.ending == .exit(1) && plain.errors.contains("--allow-plain-http"))
      for words in [[], ["mint"], ["create"], ["revoke"], ["derive", "--key", "k"]] {
        let process = try ChildProcess(Waystation.path, ["token"] + words)
        #expect(try await process.ending() == .exit(2), "\(words)")
      }
    }

    @Test(
      "the lines of Python in the handbook make the same token",
      .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3")))
    func python() async throws {
      let top = #filePath.components(separatedBy: "/Tests/")[0]
      let page = try String(contentsOfFile: top + "/docs/operating.md", encoding: .utf8)
      let block = try #require(page.components(separatedBy: "```python\n").dropFirst().first)
      let folder = try TemporaryFolder()
      try folder.write(
        "fleet-1.key", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n")
      let code = block.components(separatedBy: "```")[0]
      let script = try folder.write("derive.py", code)
      let process = try ChildProcess(
        "/usr/bin/env",
        ["sh", "-c", "cd \(folder.path) && python3 \(script) truck-7"],
        environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"])
      #expect(try await process.ending() == .exit(0), "\(process.errors)")
      let token = process.output.trimmingCharacters(in: .newlines)
      #expect(token.hasPrefix("wsk_") && page.contains(token))
    }
  }
}
