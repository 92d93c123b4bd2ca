import Foundation
import Testing

extension EndToEnd {
  @Suite("What open uploads claim, as devices are told of it", .serialized)
  struct UploadQuotas {
    private let upstream: TestUpstream
    private let relay: Relay
    private let sender: Uploader

    init() async throws {
      upstream = try TestUpstream { _ in .never }
      let limits: [String: any Sendable] = [
        "clientWaitingBytesMax": 10_000, "clientWaitingEnvelopesMax": 5,
      ]
      relay = try await Relay.started(upstream, more: ["limits": limits])
      sender = Uploader(relay)
    }

    /// Posts what is given, and checks in.
    private func sync(_ lines: String...) async throws -> [String: Any] {
      let text = ([#"{"client":"device-1"}"#] + lines).joined(separator: "\n")
      let answer = try await relay.device().request(
        "POST", "/v1/sync", headers: ["Content-Type": "application/x-ndjson"],
        body: Array(text.utf8))
      #expect(answer.status == 200, "\(answer.text)")
      return try answer.json()
    }

    private func room(_ answer: [String: Any]) throws -> (envelopes: Int, bytes: Int) {
      let may = try #require(answer["maySend"] as? [String: Int])
      return (try #require(may["envelopes"]), try #require(may["bytes"]))
    }

    private func envelope(_ count: Int) -> String {
      #"{"path":"/","body":"\#(String(repeating: "x", count: count))"}"#
    }

    @Test("what an open upload claims is no room, and is named where an envelope finds none")
    func claimed() async throws {
      let location = try await sender.create("/p", ["Upload-Length": "8000"])
      for _ in 0..<2 {
        let answer = try await sync(envelope(2500))
        let room = try room(answer)
        #expect(room.envelopes == 4 && (1000...2000).contains(room.bytes), "\(room)")
        let result = try #require((answer["results"] as? [[String: Any]])?.first)
        let problem = try #require(result["problem"] as? [String: Any])
        #expect(problem["type"] as? String == "urn:waystation:problem:client-queue-full")
        let detail = try #require(problem["detail"] as? String)
        #expect(detail.contains("waiting, of which its open uploads claim 80"), "\(detail)")
        try await relay.kill()
        try await relay.start()
      }
      #expect(try await sender.send("DELETE", location)?.status == 204)
      let room = try room(try await sync())
      #expect(room.envelopes == 5 && room.bytes == 10_000)
    }

    @Test("what a sync has stored is counted once in its answer")
    func once() async throws {
      let first = try room(try await sync(envelope(3000), envelope(100)))
      let again = try room(try await sync())
      #expect(first == again && first.envelopes == 3)
      let full = try await relay.device().post([
        "path": "/", "body": String(repeating: "x", count: 9000),
      ])
      let detail = try #require(try full.json()["detail"] as? String)
      #expect(full.problem == "client-queue-full" && !detail.contains("upload"), "\(detail)")
    }
  }
}
