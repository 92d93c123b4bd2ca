import Foundation
import Testing

extension EndToEnd {
  /// Devices divided among several stores, by nginx with the configuration in `deploy/cells`.
  @Suite(
    "Cells", .serialized, .ofNoStore,
    .enabled(if: TestNginx.isThere, "nginx is not installed"))
  struct Cells {
    private static let names = ["cell-1", "cell-2"]
    private let upstream: TestUpstream
    private let relays: [Relay]

    init() throws {
      upstream = try TestUpstream()
      relays = try Self.names.enumerated().map { [upstream] number, name in
        try Relay(
          upstreams: ["default": Relay.quick(upstream)],
          more: [
            "access": [
              "operators": Credentials.operators,
              "clientKeys": [name: ["secrets": Self.secret(number), "clients": "*"]],
            ] as [String: any Sendable]
          ])
      }
    }

    private static func secret(_ number: Int) -> String {
      String(repeating: "\(number + 1)c", count: 32)
    }

    /// The token of a device, which names its cell: the first one has those of even numbers.
    private static func token(_ number: Int) -> String {
      let cell = number % 2
      return Credentials.derived("truck-\(number)", key: names[cell], secret: secret(cell))
    }

    private func device(_ number: Int, by balancer: Balancer) -> Device {
      Device("truck-\(number)", port: balancer.port, token: Self.token(number))
    }

    private func started() async throws -> Balancer {
      for relay in relays { try await relay.start() }
      return try await Balancer(to: relays.map(\.port))
    }

    /// The clients that a cell knows.
    private func clients(of relay: Relay) async throws -> Set<String> {
      let list = try await relay.reading.get("/v1/clients?limit=200").json()
      let clients = try #require(list["clients"] as? [[String: Any]])
      return Set(clients.compactMap { $0["client"] as? String })
    }

    @Test("each device comes to its own cell, with all that it asks, and in its order")
    func divided() async throws {
      let balancer = try await started()
      for number in 1...10 {
        let device = device(number, by: balancer)
        for sequence in 1...3 {
          let posted = try await device.post([
            "lane": "l", "sequence": sequence, "key": "k-\(sequence)",
            "path": "/\(number)/\(sequence)",
          ])
          #expect(posted.status == 202, "\(posted)")
        }
        let end = try await device.get("/v1/clients/truck-\(number)/envelopes/k-3?wait=20").json()
        #expect(end["state"] as? String == "delivered", "\(end)")
      }
      #expect(try await clients(of: relays[0]) == Set([2, 4, 6, 8, 10].map { "truck-\($0)" }))
      #expect(try await clients(of: relays[1]) == Set([1, 3, 5, 7, 9].map { "truck-\($0)" }))
      for number in 1...10 {
        let paths = upstream.received.map(\.target).filter { $0.hasPrefix("/\(number)/") }
        #expect(paths == (1...3).map { "/\(number)/\($0)" })
      }
    }

    @Test("a token in a field of its own counts, and not the upstream's credentials beside it")
    func ownField() async throws {
      let balancer = try await started()
      let answer = try await Device("truck-1", port: balancer.port).request(
        "POST", "/v1/relay/default/a",
        headers: [
          "Waystation-Authorization": "bearer \(Self.token(1))", "Idempotency-Key": "k-1",
          "Authorization": "Bearer wsk_cell-1.00.00",
        ], body: Array("x".utf8))
      #expect(answer.status == 202, "\(answer)")
      #expect(try await clients(of: relays[1]) == ["truck-1"])
    }

    @Test("who has no token of a cell, or another cell's, is told so, and nothing is stored")
    func noCell() async throws {
      let balancer = try await started()
      for token in [nil, "wst_5d41402abc4b2a76_93dbab50", "wsk_cell-3.61.00"] {
        let answer = try await Device("truck-1", port: balancer.port, token: token)
          .post(["client": "truck-1", "path": "/"])
        #expect(answer.status == 401, "\(answer)")
        #expect(answer["Content-Type"] == "application/problem+json")
        #expect(try answer.json()["fix"] is String)
      }
      let wrong = Device("truck-1", port: relays[0].port, token: Self.token(1))
      #expect(try await wrong.post(["path": "/"]).status == 401)
      for relay in relays { #expect(try await clients(of: relay).isEmpty) }
    }

    @Test("a cell that is killed holds up its own devices alone, until it is back")
    func killed() async throws {
      let balancer = try await started()
      let (own, other) = (device(2, by: balancer), device(1, by: balancer))
      #expect(try await own.post(["key": "a", "path": "/own/1"]).status == 202)
      try await relays[0].kill()
      let refused = try await own.post(["key": "b", "path": "/own/2"])
      #expect([502, 504].contains(refused.status), "\(refused)")
      #expect(try await other.post(["key": "a", "path": "/other/1"]).status == 202)
      try await upstream.received("what the other has posted") {
        $0.contains { $0.target == "/other/1" }
      }
      try await relays[0].start()
      #expect(try await own.post(["key": "b", "path": "/own/2"]).status == 202)
      try await upstream.received("what the killed cell took later") {
        $0.contains { $0.target == "/own/2" }
      }
    }
  }
}

/// nginx with the configuration that is shipped.
private final class Balancer: Sendable {
  private let nginx: TestNginx
  var port: UInt16 { nginx.port }

  init(to relays: [UInt16]) async throws {
    nginx = try await TestNginx { _, port in
      var cells = try String(
        contentsOfFile: ShellDocument.repository + "/deploy/cells/balancer.conf.template",
        encoding: .utf8)
      cells = cells.replacingOccurrences(of: "${BALANCER_LISTEN}", with: "127.0.0.1:\(port)")
      for (number, relay) in relays.enumerated() {
        cells = cells.replacingOccurrences(of: "${CELL_\(number + 1)}", with: "127.0.0.1:\(relay)")
      }
      return "access_log off;\n" + cells
    }
  }
}
