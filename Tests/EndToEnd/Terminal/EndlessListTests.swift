import Foundation
import Testing

extension EndToEnd {
  @Suite("Lists without an end", .serialized)
  struct EndlessLists {
    /// The commands that read a list, and what their pages call it.
    static let commands: [(words: [String], member: String)] = [
      (["export", "--no-content"], "envelopes"),
      (["envelopes", "list", "--limit", "0"], "envelopes"),
      (["lanes", "list", "--limit", "0"], "lanes"),
      (["clients", "list", "--limit", "0"], "clients"),
      (["uploads", "list", "--limit", "0"], "uploads"),
      (["token", "list"], "tokens"), (["audit", "--limit", "0"], "entries"),
    ]

    /// The cursor that a page was asked for with; 0 for none.
    private static func cursor(_ request: WireRequest) -> Int {
      let parts = request.target.split { $0 == "?" || $0 == "&" }
      let given = parts.first { $0.hasPrefix("cursor=") || $0.hasPrefix("after=") }
      return given.flatMap { $0.split(separator: "=").last }.flatMap { Int($0) } ?? 0
    }

    /// Runs a command against a server that is no relay; how it ended.
    private func run(
      _ words: [String], _ server: TestUpstream
    ) async throws -> (ending: Ending, errors: String) {
      let process = try ChildProcess(
        Waystation.path, words, environment: ["WAYSTATION_SERVER": server.url])
      return (try await process.ending(), process.errors)
    }

    @Test(
      "a server that names a cursor once more is left, and the cursor told",
      arguments: commands.indices, ["again", "between"])
    func repeated(command: Int, kind: String) async throws {
      let (words, member) = Self.commands[command]
      let server = try TestUpstream { request in
        // Either the same for ever, or three of them in turn.
        let next = kind == "again" ? 1 : Self.cursor(request) % 3 + 1
        return .answer(200, body: Array(#"{"\#(member)": [{"id": "x"}], "next": "\#(next)"}"#.utf8))
      }
      let (ending, errors) = try await run(words, server)
      #expect(ending == .exit(1))
      #expect(errors.contains("names the cursor '1' once more"), "\(errors)")
      #expect(server.received.count == (kind == "again" ? 2 : 4))
    }

    @Test("a server that always has one more empty page is left in the end")
    func empty() async throws {
      let server = try TestUpstream { request in
        let next = Self.cursor(request) + 1
        return .answer(200, body: Array(#"{"envelopes": [], "next": "\#(next)"}"#.utf8))
      }
      let (ending, errors) = try await run(["export"], server)
      #expect(ending == .exit(1) && errors.contains("pages in a row were empty"), "\(errors)")
      #expect(server.received.count == 1001)
    }

    @Test("a cursor that is none is no end of the list", arguments: ["7", "true", #"["a"]"#])
    func noCursor(next: String) async throws {
      let server = try TestUpstream { _ in
        .answer(200, body: Array(#"{"envelopes": [], "next": \#(next)}"#.utf8))
      }
      let (ending, errors) = try await run(["export"], server)
      #expect(ending == .exit(1) && errors.contains("a cursor that is no string"), "\(errors)")
    }

    @Test("what a run that was left has written goes on where it was")
    func resumed() async throws {
      let server = try TestUpstream { request in
        request.target.contains("cursor=")
          ? .answer(200, body: Array(#"{"envelopes": [{"id": "b"}], "next": "1"}"#.utf8))
          : .answer(200, body: Array(#"{"envelopes": [{"id": "a"}], "next": "1"}"#.utf8))
      }
      let folder = try TemporaryFolder()
      let file = folder.path + "/out.ndjson"
      let words = ["export", "--no-content", "--to", file]
      #expect(try await run(words, server).ending == .exit(1))
      server.behave { _ in .answer(200, body: Array(#"{"envelopes": [{"id": "b"}]}"#.utf8)) }
      #expect(try await run(words, server).ending == .exit(0))
      let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
      #expect(lines.map { $0.contains("\"a\"") } == [true, false])
    }
  }
}
