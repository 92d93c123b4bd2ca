import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("What all callers share", .serialized)
  struct Shares {
    private func truck(_ number: Int, of relay: Relay) -> Device {
      relay.device("truck-\(number)", token: Credentials.derived("truck-\(number)"))
    }

    /// Opens event streams until one is refused.
    private func streams(
      of truck: Int, _ relay: Relay
    ) async throws -> (open: [Listener], refusal: WireResponse) {
      var open: [Listener] = []
      while let listener = try? await Listener(
        relay, token: Credentials.derived("truck-\(truck)"))
      {
        open.append(listener)
        try #require(open.count <= 128)
      }
      return (open, try await self.truck(truck, of: relay).get("/v1/events"))
    }

    /// Fails unless a share is used up, and the answer says which.
    private func expectUsedUp(
      _ answer: WireResponse, _ words: String, _ place: SourceLocation = #_sourceLocation
    ) {
      #expect(
        answer.status == 503 && answer.problem == "overloaded" && answer["Retry-After"] != nil
          && answer.text.contains(words), "\(answer)", sourceLocation: place)
    }

    @Test("one device's streams keep no other device, and no operator, from theirs")
    func events() async throws {
      let relay = try await Relay.guarded(try TestUpstream())
      let first = try await streams(of: 1, relay)
      #expect(first.open.count == 16)
      expectUsedUp(first.refusal, "16 event streams may be open for one client")
      try await Listener(relay, token: Credentials.derived("truck-2")).first("snapshot")
      var all = first.open
      for number in 2...6 { all += try await streams(of: number, relay).open }
      // A fleet behind one address has most of them, and not all.
      #expect(all.count == 96)
      expectUsedUp(
        try await truck(7, of: relay).get("/v1/events"),
        "96 event streams may be open from one address")
      for token in [Credentials.read, Credentials.steer] {
        try await Listener(relay, token: token).first("snapshot")
        let page = try Connection(port: relay.port)
        try await onThread {
          try page.write(
            Array(
              "GET /v1/status/events HTTP/1.1\r\nHost: r\r\nAuthorization: Bearer \(token)\r\n\r\n"
                .utf8))
          _ = try #require(try page.read(through: "event: status\n"))
        }
        page.close()
      }
      // Who goes makes room for its own kind.
      all[0].close()
      try await eventually("room for another one of the same device") {
        try? await Listener(relay, token: Credentials.derived("truck-1")).first("snapshot")
      }
    }

    @Test("where nobody shows a credential, devices leave the page its own stream")
    func open() async throws {
      let relay = try await Relay.started(
        try TestUpstream(), more: ["events": ["listenersMax": 16] as [String: any Sendable]])
      var open: [Listener] = []
      while let listener = try? await Listener(relay) { open.append(listener) }
      #expect(open.count == 12)
      let page = try Connection(port: relay.port)
      try await onThread {
        try page.write(Array("GET /v1/status/events HTTP/1.1\r\nHost: r\r\n\r\n".utf8))
        _ = try #require(try page.read(through: "event: status\n"))
      }
      page.close()
    }

    @Test(
      "one device's waits keep no other's from waiting, and its posts are accepted all the same")
    func waits() async throws {
      let upstream = try TestUpstream { _ in .never }
      let relay = try await Relay.guarded(
        upstream, more: ["limits": ["connectionsMax": 50] as [String: any Sendable]])
      let token = Credentials.derived("truck-1")
      let posted = try await truck(1, of: relay).post(["path": "/x"])
      let id = try #require(try posted.json()["id"] as? String)
      try await withThrowingTaskGroup(of: WireResponse.self) { group in
        for _ in 0..<10 {
          group.addTask {
            try await relay.device("truck-1", token: token).get("/v1/envelopes/\(id)?wait=15")
          }
        }
        for _ in 0..<4 {
          let refused = try #require(try await group.next())
          expectUsedUp(refused, "6 requests may wait for an outcome for one client")
        }
        // Six wait. A post with a preference is accepted, and answered at once.
        let relayed = try await truck(1, of: relay).relay(
          "POST", "/y", headers: ["Prefer": "wait=15"])
        #expect(relayed.status == 202 && relayed["Preference-Applied"] == nil)
        let mine = try await truck(2, of: relay).relay("POST", "/z", headers: ["Prefer": "wait=1"])
        #expect(mine.status == 202 && mine["Preference-Applied"] == "wait")
        #expect(try await relay.reading.get("/v1/envelopes/\(id)?wait=1").status == 200)
        // Nobody has to wait for the time that they have left.
        relay.signal(SIGKILL)
        while (try? await group.next()) != nil {}
      }
    }

    @Test("one client's runs leave others theirs")
    func runs() async throws {
      let upstream = try TestUpstream { _ in .never }
      let relay = try await Relay.guarded(upstream)
      for number in [1, 2] {
        let batch = (0..<12).map {
          ["path": "/\($0)", "lane": "l\($0)", "tag": "t\($0)"] as [String: any Sendable]
        }
        try await truck(number, of: relay).post(batch: batch).require(202)
      }
      @Sendable func run(_ device: Device, _ client: Int, _ tag: Int, wait: Int) async throws
        -> WireResponse
      {
        try await device.request(
          "POST", "/v1/clients/truck-\(client)/run?wait=\(wait)",
          headers: ["Content-Type": "application/json"], body: Device.json(["tag": "t\(tag)"]))
      }
      try await withThrowingTaskGroup(of: WireResponse.self) { group in
        for tag in 0..<12 {
          let device = truck(1, of: relay)
          group.addTask { try await run(device, 1, tag, wait: 15) }
        }
        for _ in 0..<4 {
          expectUsedUp(
            try #require(try await group.next()),
            "8 runs may be under way for one client")
        }
        #expect(try await run(truck(2, of: relay), 2, 0, wait: 0).status == 200)
        #expect(try await run(relay.steering, 1, 11, wait: 0).status == 200)
        relay.signal(SIGKILL)
        while (try? await group.next()) != nil {}
      }
    }

    @Test("one device's listings leave others the store's readers")
    func listings() async throws {
      let relay = try await Relay.guarded(try TestUpstream { _ in .never })
      let batch = [[String: any Sendable]](repeating: ["path": "/", "hold": true], count: 1000)
      for _ in 0..<20 { try await truck(1, of: relay).post(batch: batch).require(202) }
      let target = "/v1/envelopes?tag=none"
      let connections = try (0..<40).map { _ in try Connection(port: relay.port) }
      let request = Array(
        """
        GET \(target) HTTP/1.1\r\nHost: relay\r\n\
        Authorization: Bearer \(Credentials.derived("truck-1"))\r\n\r\n
        """.utf8)
      let answers = try await onThread {
        for connection in connections { try connection.write(request) }
        return try connections.map { try $0.readResponse(to: "GET") }
      }
      let refused = answers.filter { $0.status != 200 }
      #expect(!refused.isEmpty && refused.count <= 24)
      for answer in refused { expectUsedUp(answer, "16 listings may be made for one client") }
      #expect(try await truck(2, of: relay).get(target).status == 200)
      for connection in connections { connection.close() }
    }

    /// Connects from another address of this machine.
    private func connect(from address: UInt32, to port: UInt16) throws -> Connection {
      let descriptor = try Connection.socket()
      var own = sockaddr_in()
      own.sin_family = sa_family_t(AF_INET)
      own.sin_addr.s_addr = address.bigEndian
      let bound = withUnsafePointer(to: &own) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      guard bound == 0, withLoopback(port: port, { Glibc.connect(descriptor, $0, $1) }) == 0 else {
        throw SocketError(operation: "connect to port \(port)", code: errno)
      }
      return Connection(descriptor: descriptor)
    }

    private static let health = Array("GET /healthz HTTP/1.1\r\nHost: r\r\n\r\n".utf8)

    @Test("one address cannot have all connections, though nobody has set a limit for it")
    func connections() async throws {
      let relay = try await Relay.started(
        try TestUpstream(), more: ["limits": ["connectionsMax": 8] as [String: any Sendable]])
      let port = relay.port
      let (statuses, other) = try await onThread {
        var statuses: [Int] = []
        var kept: [Connection] = []
        for _ in 0..<8 {
          let connection = try Connection(port: port)
          try? connection.write(Self.health)
          statuses.append(try connection.readResponse(to: "GET").status)
          kept.append(connection)
        }
        let other = try connect(from: 0x7F00_0002, to: port)
        try other.write(Self.health)
        return (statuses, try other.readResponse(to: "GET").status)
      }
      #expect(statuses == [200, 200, 200, 200, 200, 200, 503, 503])
      #expect(other == 200)
    }

    @Test("one address that begins handshakes without end cuts off its own, and nobody else's")
    func handshakes() async throws {
      let secured = try await SecuredRelay.started(
        limits: ["handshakesMax": 8, "handshakeTimeoutMs": 60_000])
      let port = secured.port
      let answer = try await onThread {
        let slow = try connect(from: 0x7F00_0002, to: port)
        var flood: [Connection] = []
        for _ in 0..<40 { flood.append(try Connection(port: port)) }
        // The first of the flood were cut off by those behind them.
        for connection in flood[..<34] { #expect(try connection.readToEnd().isEmpty) }
        try slow.write(Self.health)
        return String(decoding: try slow.readToEnd(), as: UTF8.self)
      }
      #expect(answer.contains("This port speaks TLS"))
    }
  }
}
