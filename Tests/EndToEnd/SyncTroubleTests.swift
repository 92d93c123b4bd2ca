import Foundation
import Testing

extension EndToEnd {
  @Suite("Posting and checking in while memory is short", .serialized)
  struct SyncTrouble {
    @Test("what was stored is told though there is no memory for answers, and is stored once")
    func stored() async throws {
      let upstream = try TestUpstream { _ in
        .answer(200, body: Array(repeating: 0x61, count: 60_000))
      }
      let relay = try await Relay.started(
        upstream,
        more: [
          "limits": [
            "memoryInFlightBytesMax": 1 << 20, "bodyBytesMax": 100_000, "batchBytesMax": 200_000,
          ]
        ])
      let device = relay.device()
      func sync(_ lines: [String]) async throws -> [String: Any] {
        let answer = try await device.request(
          "POST", "/v1/sync", headers: ["Content-Type": "application/x-ndjson"],
          body: Array(lines.joined(separator: "\n").utf8))
        #expect(answer.status == 200, "\(answer.text.prefix(500))")
        return try answer.json()
      }
      let posted = try await sync(
        [#"{"client":"device-1"}"#] + (1...17).map { #"{"path":"/\#($0)"}"# })
      for result in try #require(posted["results"] as? [[String: Any]]) {
        _ = try await device.end(of: try #require(result["id"] as? String))
      }
      let answer = try await sync([
        #"{"client":"device-1","responses":{"bytesMax":65536}}"#, #"{"path":"/once"}"#,
      ])
      let results = try #require(answer["results"] as? [[String: Any]])
      #expect(results.count == 1 && results[0]["result"] as? String == "accepted")
      let ended = try #require(answer["ended"] as? [[String: Any]])
      let told = ended.count { $0["response"] != nil }
      #expect(ended.count >= 17 && told > 0 && told < 17, "\(told)")
      let requests = try await upstream.received(count: 18)
      #expect(requests.count { $0.target == "/once" } == 1)
    }
  }
}
