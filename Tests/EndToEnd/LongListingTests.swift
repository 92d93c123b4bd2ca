import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("Long lists", .serialized)
  struct LongListings {
    private let upstream: TestUpstream
    private let relay: Relay

    init() async throws {
      upstream = try TestUpstream()
      relay = try await Relay.started(upstream)
    }

    /// Holds so many envelopes whose paths are as long as they may be; their paths, in order.
    private func hold(_ count: Int) async throws -> [String] {
      let paths = (0..<count).map { "/\($0)/" + String(repeating: "p", count: 8000) }
      for start in stride(from: 0, to: count, by: 50) {
        let batch: [[String: any Sendable]] = paths[start..<min(start + 50, count)].map {
          ["path": $0, "hold": true]
        }
        #expect(try await relay.device().post(batch: batch).status == 202)
      }
      return paths
    }

    @Test("a list of long paths comes whole and in order, and says where the next page begins")
    func whole() async throws {
      let paths = try await hold(220)
      let first = try await relay.device().get("/v1/envelopes?limit=200")
      #expect(first.status == 200 && first["Content-Type"] == "application/json")
      let envelopes = try #require(try first.json()["envelopes"] as? [[String: Any]])
      #expect(envelopes.compactMap { $0["path"] as? String } == Array(paths.prefix(200)))
      let next = try #require(try first.json()["next"] as? String)
      let second = try await relay.device().get("/v1/envelopes?limit=200&cursor=\(next)")
      let rest = try #require(try second.json()["envelopes"] as? [[String: Any]])
      #expect(rest.compactMap { $0["path"] as? String } == Array(paths.suffix(20)))
      #expect(try second.json()["next"] == nil)
    }

    @Test("a short list has its length, and no page is empty while there is more")
    func short() async throws {
      let paths = try await hold(3)
      let short = try await relay.device().get("/v1/envelopes?state=held")
      #expect(short["Content-Length"] != nil && short["Transfer-Encoding"] == nil)
      #expect(try (short.json()["envelopes"] as? [Any])?.count == paths.count)
      let none = try await relay.device().get("/v1/envelopes?state=failed")
      #expect(none["Content-Length"] == "16" && none.text == #"{"envelopes":[]}"#)
    }

    @Test("lists that nobody reads on hold up neither health checks nor posts, and take no memory")
    func stuck() async throws {
      _ = try await hold(200)
      let before = try ProcessMemory.residentBytes(of: relay.processNumber)
      let request = Array("GET /v1/envelopes?limit=200 HTTP/1.1\r\nHost: relay\r\n\r\n".utf8)
      // Each comes to 1.6 MB, of which the kernel holds a part at either end.
      let readers = try (0..<80).map { _ in try EventLimits.slowConnection(port: relay.port) }
      defer { for reader in readers { reader.close() } }
      for reader in readers { try reader.write(request) }
      #expect(try await relay.device().get("/healthz").status == 200)
      // Each has begun: what it is sent is on its way, and then it does not go on.
      for reader in readers { #expect(try reader.read(through: "\r\n\r\n") != nil) }
      #expect(try await relay.device().get("/readyz").status == 200)
      #expect(try await relay.device().post(["path": "/", "hold": true]).status == 202)
      #expect(try await relay.device().get("/v1/envelopes?limit=1").status == 200)
      let grown = try ProcessMemory.residentBytes(of: relay.processNumber) - before
      ProcessMemory.expect(grown, atMost: 48 << 20, "bytes more than before")
    }
  }
}
