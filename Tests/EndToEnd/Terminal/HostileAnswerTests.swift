import Foundation
import Testing

extension EndToEnd {
  @Suite("The command before a server that means harm", .ofNoStore)
  struct HostileAnswers {
    private static let json = [WireField(name: "Content-Type", value: "application/json")]
    private static let questions = [
      ["status"], ["envelopes", "list"], ["envelopes", "show", "x"], ["envelopes", "retry", "x"],
      ["clients", "list"], ["clients", "show", "x"], ["clients", "pause", "x"], ["lanes", "list"],
      ["lanes", "pause", "a/b"], ["upstreams", "list"], ["upstreams", "probe", "x"],
      ["uploads", "list"], ["uploads", "cancel", "x"],
      ["operations", "list"], ["operations", "show", "x"], ["operations", "cancel", "x"],
      ["audit"], ["clients", "forget", "x", "--yes"], ["token", "list"],
      ["send", "--path", "/x", "--client", "c"],
    ]

    private static let texts = [
      "id", "state", "method", "path", "client", "lane", "key", "tag", "reason", "acceptedAt",
      "from", "trace", "notBefore", "nextAttemptAt", "endedAt", "expiresAt", "onFailure",
      "errorId", "waitsFor", "waitsBehind",
      "upstream", "lastError", "name", "since", "version", "oldestWaitingAt", "startedAt",
      "outcome",
      "error", "detail", "title", "fix", "field", "type", "trouble", "role", "label", "createdAt",
      "createdBy", "result", "head", "envelope", "who", "action", "subject", "at", "example",
      "idempotencyKeys",
    ]
    private static let numbers = [
      "uptimeSeconds", "blockedLaneCount", "queued", "delivering", "held", "parked", "blocked",
      "delivered", "failed", "waiting", "inFlight", "concurrencyNow", "attemptCount", "number",
      "durationMs", "status", "position", "sequence", "bodyBytes", "responseStatus", "fileBytes",
      "logBytes", "roomBytes", "acceptedPerSecond", "matched", "done", "cancelled", "count",
    ]
    private static let lists = [
      "upstreams", "blockedLanes", "backlogs", "envelopes", "clients", "lanes", "attempts",
      "needsAttention", "tokens", "operations", "entries", "problems",
    ]

    /// An answer to any question, in which every text and every number is the given one.
    private static func answer(_ text: String, _ number: Int64) throws -> [UInt8] {
      var flat: [String: Any] = ["configured": true, "reachable": false, "paused": true]
      for name in texts { flat[name] = text }
      for name in numbers { flat[name] = number }
      var whole = flat
      flat["filter"] = [text: text]
      for name in lists { whole[name] = [flat] }
      whole["filter"] = [text: text]
      whole["rates"] = flat
      var store = flat
      store["envelopes"] = flat
      store["damage"] = flat
      whole["store"] = store
      return [UInt8](try JSONSerialization.data(withJSONObject: whole))
    }

    @Test(
      "whatever its texts and numbers are, nothing controls the terminal and nothing traps",
      arguments: [
        ("\u{1B}]0;taken\u{7}", Int64.max), ("\u{1B}[2J", Int64.min), ("\u{9B}31m\u{202E}", 0),
        ("2026-01-01T00:00:0\u{1B}[31m\u{1B}]0;x\u{7}", -1), ("9999-12-31T23:59:59Z", Int64.max),
      ], [200, 503])
    func harmless(row: (text: String, number: Int64), status: Int) async throws {
      let body = try Self.answer(row.text, row.number)
      let server = try TestUpstream { _ in
        .answer(status, fields: Self.json, body: body)
      }
      for words in Self.questions {
        let process = try ChildProcess(
          Waystation.path, words, environment: ["WAYSTATION_SERVER": server.url])
        guard case .exit = try await process.ending() else {
          Issue.record("\(words): \(try await process.ending())")
          continue
        }
        Self.expectHarmless(process, "\(words)")
      }
    }

    @Test("an event whose time is no time does not control the terminal")
    func events() async throws {
      let text = "\\u001b]0;taken\\u0007"
      let stream = ["accepted", "failed"].map {
        "event: \($0)\nid: 1\ndata: {\"at\":\"\(text)\",\"id\":\"\(text)\"}\n\n"
      }
      let server = try TestUpstream { _ in
        .answer(
          200, fields: [WireField(name: "Content-Type", value: "text/event-stream")],
          body: Array(stream.joined().utf8))
      }
      for more in [[], ["--json"]] {
        let process = try ChildProcess(
          Waystation.path, ["events", "--for", "1s"] + more,
          environment: ["WAYSTATION_SERVER": server.url])
        #expect(try await process.ending() == .exit(0), "\(process.errors)")
        #expect(process.output.contains("failed"))
        Self.expectHarmless(process, "events \(more)")
      }
    }

    @Test(
      "items that an answer does not speak of, or twice, do not count as sent",
      arguments: [[0, 1], [0, 0, 0], [0, 1, 9], [0, 1, 2, 2]])
    func leftOut(indices: [Int]) async throws {
      let results = indices.map { "{\"index\": \($0), \"result\": \"accepted\"}" }
      let server = try TestUpstream { _ in
        .answer(
          202, fields: Self.json,
          body: Array("{\"results\": [\(results.joined(separator: ","))]}".utf8))
      }
      let folder = try TemporaryFolder()
      let file = try folder.write(
        "items.ndjson", (0..<3).map { "{\"client\": \"c\", \"path\": \"/\($0)\"}\n" }.joined())
      let process = try ChildProcess(
        Waystation.path, ["send", "--file", file], environment: ["WAYSTATION_SERVER": server.url])
      #expect(try await process.ending() == .exit(1), "\(process.output)")
      #expect(!process.output.contains("accepted"), "\(process.output)")
      #expect(!FileManager.default.fileExists(atPath: file + ".progress"))
    }

    private static func expectHarmless(_ process: ChildProcess, _ words: String) {
      let hostile = (process.output + process.errors).unicodeScalars.filter { scalar in
        scalar != "\n"
          && (scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || scalar.value == 0x202E)
      }
      #expect(hostile.isEmpty, "\(words): \(process.output) \(process.errors)")
    }
  }
}
