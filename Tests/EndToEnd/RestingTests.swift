import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("Connections that wait for their next request", .serialized)
  struct Resting {
    /// What one may take of the relay's memory, in bytes; a device's may wait for days.
    private static let bytesMax = 8 << 10

    @Test("2,000 that have posted once take less than 8 KiB each, before and after the next one")
    func memory() async throws {
      let count = 2000
      let relay = try await Self.relay()
      // What the relay makes once, whatever the number of connections.
      for connection in try await Self.connections(to: relay, count: 100) { connection.close() }
      let before = try ProcessMemory.residentBytes(of: relay.processNumber)
      let connections = try await Self.connections(to: relay, count: count)
      let grown = try ProcessMemory.residentBytes(of: relay.processNumber) - before
      ProcessMemory.expect(grown, atMost: count * Self.bytesMax, "bytes for \(count)")
      try await onThread {
        for some in Self.groups(of: connections) { try Self.post(on: some, inPieces: true) }
      }
      let afterwards = try ProcessMemory.residentBytes(of: relay.processNumber) - before
      // Each has stored another envelope, too.
      ProcessMemory.expect(afterwards, atMost: count * Self.bytesMax, "bytes, asked twice")
    }

    @Test("the next request may come in pieces, after any wait")
    func pieces() async throws {
      let relay = try await Self.relay()
      try await onThread {
        let connection = try Connection(port: relay.port)
        for _ in 0..<3 {
          for byte in Wire.request("GET /healthz") {
            try connection.write([byte])
            // The relay has a turn for each of them.
            _ = connection.hasInput(withinMs: 1)
          }
          let answer = try connection.readResponse(to: "GET")
          #expect(answer.status == 200)
        }
      }
    }

    @Test("one is closed without a word once it has waited for too long, and not before")
    func idleTimeout() async throws {
      let timeoutMs = 400
      let relay = try await Self.relay(["idleTimeoutMs": timeoutMs])
      try await onThread {
        let connection = try Connection(port: relay.port)
        for _ in 0..<3 {
          #expect(!connection.hasInput(withinMs: timeoutMs / 4))
          try Self.post(on: [connection])
        }
        let began = Date()
        let rest = try connection.readToEnd()
        #expect(rest.isEmpty)
        #expect(Date().timeIntervalSince(began) >= Double(timeoutMs - 50) / 1000)
      }
    }

    @Test("all are let go when the relay stops, which waits for none of them")
    func stop() async throws {
      let relay = try await Self.relay()
      // Some have not asked for anything yet, and are taken before those that are answered.
      let silent = try (0..<20).map { _ in try Connection(port: relay.port) }
      let connections = try await Self.connections(to: relay, count: 200)
      let began = Date()
      relay.signal(SIGTERM)
      #expect(try await relay.ending() == .exit(0))
      // It would wait for 30 s for a request under way.
      #expect(Date().timeIntervalSince(began) < 15)
      try await onThread {
        for connection in connections + silent {
          let rest = try connection.readToEnd()
          #expect(rest.isEmpty)
        }
      }
    }

    @Test("the place of one that its peer has left is free again")
    func places() async throws {
      let relay = try await Self.relay(["connectionsMax": 50, "connectionsPerPeerMax": 50])
      for _ in 0..<3 {
        let connections = try await Self.connections(to: relay, count: 50)
        #expect(try await Self.status(of: relay) == 503)
        for connection in connections { connection.close() }
        try await eventually("room for another connection") {
          try await Self.status(of: relay) == 200 ? true : nil
        }
      }
    }

    /// A relay that keeps what it is sent.
    private static func relay(
      _ limits: [String: any Sendable] = [:]
    ) async throws -> Relay {
      let relay = try Relay(
        upstreams: ["default": ["url": "http://127.0.0.1:9", "startPaused": true]],
        more: ["limits": limits])
      try await relay.start()
      return relay
    }

    /// Connections that have posted once, a few at a time.
    private static func connections(to relay: Relay, count: Int) async throws -> [Connection] {
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      limit.rlim_cur = min(limit.rlim_max, max(limit.rlim_cur, 8192))
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      return try await onThread {
        try groups(of: Array(0..<count)).flatMap { numbers in
          let some = try numbers.map { _ in try Connection(port: relay.port) }
          try post(on: some)
          return some
        }
      }
    }

    /// So few that what is under way at once takes no memory to speak of, and so many that the disk
    /// is not waited for with each of them.
    private static func groups<Item>(of items: [Item]) -> [[Item]] {
      stride(from: 0, to: items.count, by: 20).map {
        Array(items[$0..<min($0 + 20, items.count)])
      }
    }

    /// Posts one envelope on each connection.
    ///
    /// - Parameter inPieces: Whether a part of the body comes by itself, so that it is waited for.
    private static func post(on connections: [Connection], inPieces: Bool = false) throws {
      let bytes = Wire.post(Array(#"{"client":"device-1","path":"/"}"#.utf8))
      let end = inPieces ? 8 : bytes.count
      if inPieces {
        for connection in connections { try connection.write(Array(bytes.dropLast(end))) }
        _ = connections.last?.hasInput(withinMs: 1)
      }
      for connection in connections { try connection.write(Array(bytes.suffix(end))) }
      for connection in connections {
        let status = try connection.readResponse(to: "POST").status
        #expect(status == 202)
      }
    }

    /// What a connection of its own is answered.
    private static func status(of relay: Relay) async throws -> Int {
      try await onThread {
        let connection = try Connection(port: relay.port)
        try? connection.write(Wire.request("GET /healthz"))
        return try connection.readResponse(to: "GET").status
      }
    }
  }
}
