import Foundation
import Testing

extension EndToEnd {
  @Suite("Status events", .serialized)
  struct StatusEvents {
    /// An open stream, behind its header.
    private func open(_ relay: Relay, token: String) async throws -> Connection {
      let connection = try Connection(port: relay.port)
      let head = try await onThread {
        try connection.write(
          Array(
            """
            GET /v1/status/events HTTP/1.1\r\nHost: r\r\nAuthorization: Bearer \(token)\r\n\r\n
            """.utf8))
        return String(decoding: try connection.read(through: "\r\n\r\n") ?? [], as: UTF8.self)
      }
      #expect(head.hasPrefix("HTTP/1.1 200"), "\(head)")
      #expect(head.contains("text/event-stream") && head.contains("no-store"))
      return connection
    }

    /// The next event's data.
    private func status(_ connection: Connection) async throws -> [String: Any] {
      let bytes = try await onThread {
        _ = try connection.read(through: "event: status\ndata: ")
        return try connection.read(through: "\n\n") ?? []
      }
      return try #require(
        JSONSerialization.jsonObject(with: Data(bytes.dropLast(2))) as? [String: Any])
    }

    private func held(_ status: [String: Any]) -> Int? {
      let store = status["store"] as? [String: Any]
      return (store?["envelopes"] as? [String: Any])?["held"] as? Int
    }

    @Test("the status comes at once, and again once something has changed, for a second together")
    func changes() async throws {
      let relay = try await Relay.guarded(try TestUpstream())
      let stream = try await open(relay, token: Credentials.read)
      #expect(held(try await status(stream)) == 0)
      let device = relay.device("truck-7", token: Credentials.derived("truck-7"))
      let begin = Date()
      for number in 0..<20 { _ = try await device.post(["path": "/\(number)", "hold": true]) }
      var seen: [Int] = []
      while seen.last != 20 { seen.append(held(try await status(stream)) ?? 20) }
      // One a second at the most, and one that may have been on its way.
      #expect(seen == seen.sorted())
      #expect(Double(seen.count) <= Date().timeIntervalSince(begin) + 2, "\(seen)")
      stream.close()
    }

    @Test("a stream ends with the token that began it, and none is for a device")
    func tokens() async throws {
      let relay = try await Relay.guarded(try TestUpstream())
      let (id, token) = try await relay.token(["role": "read"])
      let stream = try await open(relay, token: token)
      _ = try await status(stream)
      #expect(try await relay.steering.request("DELETE", "/v1/tokens/\(id)").status == 204)
      let rest = try await onThread { try? stream.read(through: "never there") }
      #expect(rest == nil || rest?.isEmpty == true)
      stream.close()
      let device = relay.device("truck-7", token: Credentials.derived("truck-7"))
      #expect(try await device.get("/v1/status/events").status == 403)
      #expect(try await relay.reading.get("/v1/status/events?x=1").status == 422)
    }

    @Test("silence is broken by a comment, and a drain ends the stream")
    func silence() async throws {
      let relay = try await Relay.guarded(
        try TestUpstream(), more: ["events": ["heartbeatSeconds": 1] as [String: any Sendable]])
      let stream = try await open(relay, token: Credentials.read)
      _ = try await status(stream)
      #expect(try await onThread { try stream.read(through: "\n:\n\n") } != nil)
      relay.signal(SIGTERM)
      #expect(try await relay.ending() == .exit(0))
      stream.close()
    }
  }
}
