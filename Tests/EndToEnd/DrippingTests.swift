import Foundation
import Testing

extension EndToEnd {
  @Suite("Bodies that drip", .serialized, .timeLimit(.minutes(2)), .ofNoStore)
  struct Dripping {
    /// As many dripping posts of 98 KB as fill the memory that large requests may have, and more.
    private static let count = 12

    /// A relay with little memory, which would wait for slow bodies for longer than any test.
    private static func relay(
      _ upstream: TestUpstream, access: [String: any Sendable] = [:]
    ) async throws -> Relay {
      let limits: [String: any Sendable] = [
        "memoryInFlightBytesMax": 2 << 20, "batchBytesMax": 700_000, "bodyBytesMax": 1 << 20,
        "bodyTimeoutMs": 600_000,
      ]
      return try await Relay.started(
        upstream, more: access.merging(["limits": limits]) { given, _ in given })
    }

    /// Begins posts of 98 KB that never end, until one of them finds no room.
    private func drip(_ relay: Relay, token: String? = nil) async throws -> [Connection] {
      let authorization = token.map { ["Authorization: Bearer \($0)"] } ?? []
      let head = Wire.bytes(
        (["POST /v1/envelopes HTTP/1.1", "Host: relay", "Content-Type: application/json"]
          + authorization + ["Content-Length: 98000"]).joined(separator: "\r\n") + "\r\n\r\n")
      let body = [UInt8](repeating: UInt8(ascii: " "), count: 90_000)
      let drips = try await onThread {
        try (0..<Self.count).map { _ in
          let connection = try Connection(port: relay.port)
          try? connection.write(head + body)
          return connection
        }
      }
      return try await eventually("a post that finds no room") {
        drips.contains { $0.hasInput(withinMs: 0) } ? drips : nil
      }
    }

    /// A post of 100 KB and some more.
    private static func post(_ client: String, token: String? = nil) throws -> [UInt8] {
      let body = try Device.json([
        "client": client, "path": "/large", "body": String(repeating: "x", count: 100_000),
      ])
      return Wire.post(body, token.map { ["Authorization: Bearer \($0)"] } ?? [])
    }

    /// Those of the dripping posts that were answered say that they had to give way, and close.
    private func expectCut(_ drips: [Connection], atLeast count: Int) async throws {
      let answers = try await onThread {
        try drips.filter { $0.hasInput(withinMs: 0) }.map { try $0.readResponse(to: "POST") }
      }
      let cut = answers.filter { $0.text.contains("had to give way") }
      #expect(cut.count >= count, "\(answers)")
      for answer in cut {
        #expect(answer.status == 503)
        #expect(answer.problem == "overloaded")
        #expect(answer["Connection"] == "close")
        #expect(answer["Retry-After"].flatMap { Int($0) } ?? 0 > 0)
      }
    }

    @Test("posts of another address are taken while one holds all the memory by dripping")
    func otherSource() async throws {
      let upstream = try TestUpstream()
      let relay = try await Self.relay(upstream)
      let drips = try await drip(relay)
      for index in 0..<3 {
        let answer = try await onThread {
          let connection = try Connection(port: relay.port, from: 2)
          try connection.write(try Self.post("other-\(index)"))
          return try connection.readResponse(to: "POST")
        }
        #expect(answer.status == 202, "\(answer)")
      }
      try await expectCut(drips, atLeast: 1)
    }

    @Test("posts of another client are taken from the same address, as behind a proxy")
    func otherClient() async throws {
      let upstream = try TestUpstream()
      let relay = try await Self.relay(upstream, access: Credentials.configuration)
      let greedy = try await relay.token(["client": "greedy"]).text
      let modest = try await relay.token(["client": "modest"]).text
      let drips = try await drip(relay, token: greedy)
      let answer = try await relay.device().raw(
        try Self.post("modest", token: modest), method: "POST")
      #expect(answer.status == 202, "\(answer)")
      try await expectCut(drips, atLeast: 1)
    }

    @Test("posts that nothing tells from the dripping ones are taken once those are known as slow")
    func nobodyElse() async throws {
      let upstream = try TestUpstream()
      let relay = try await Self.relay(upstream)
      let drips = try await drip(relay)
      try await eventually("room for a post that comes at once") {
        let answer = try await relay.device().raw(try Self.post("same"), method: "POST")
        return answer.status == 202 ? true : nil
      }
      try await expectCut(drips, atLeast: 1)
    }
  }
}
