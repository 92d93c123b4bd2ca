import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("Events at a limit", .serialized)
  struct EventLimits {
    private func started(_ events: [String: any Sendable]) async throws -> Relay {
      try await Relay.started(try TestUpstream(), more: ["events": events])
    }

    @Test("one listener too many is told to come back, and may once another has gone")
    func listenersMax() async throws {
      let relay = try await started(["listenersMax": 1])
      let first = try await Listener(relay)
      try await first.first("snapshot")
      let refused = try await relay.device().get("/v1/events")
      #expect(refused.status == 503 && refused.problem == "overloaded")
      #expect(refused["Retry-After"] != nil)
      #expect(try await relay.device().post(["path": "/"]).status == 202)
      // Nothing is written to it from here on: its end has to be noticed by itself.
      first.close()
      try await eventually("room for another listener") {
        try? await Listener(relay).first("snapshot")
      }
    }

    @Test("a listener that does not read is cut off, while others go on and memory stays")
    func slowReader() async throws {
      let relay = try await started(["readTimeoutSeconds": 2, "listenersMax": 2])
      let slow = try Self.slowConnection(port: relay.port)
      try slow.write(Array("GET /v1/events HTTP/1.1\r\nHost: relay\r\n\r\n".utf8))
      let other = try await Listener(relay)
      try await other.first("snapshot")
      let before = try ProcessMemory.residentBytes(of: relay.processNumber)
      // Long names, so that little has to be posted until no buffer has room for more.
      let client = String(repeating: "c", count: 128)
      let lane = String(repeating: "l", count: 128)
      let batch = [[String: any Sendable]](
        repeating: ["path": "/", "lane": lane, "client": client, "hold": true], count: 1000)
      for _ in 0..<25 { #expect(try await relay.device().post(batch: batch).status == 202) }
      try await other.events("every acceptance", seconds: 40) {
        $0.count { $0.name == "accepted" } == 25_000
      }
      try await eventually("a place that the slow one has left") {
        try? await Listener(relay).first("snapshot")
      }
      let grown = try ProcessMemory.residentBytes(of: relay.processNumber) - before
      ProcessMemory.expect(grown, atMost: 48 << 20, "bytes more than before")
      #expect(relay.log.contains("a listener that does not read is cut off"))
      slow.close()
    }

    /// A connection that holds little of what is sent to it.
    static func slowConnection(port: UInt16) throws -> Connection {
      let descriptor = try Connection.socket()
      var bytes: Int32 = 4096
      setsockopt(
        descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
      guard withLoopback(port: port, { Glibc.connect(descriptor, $0, $1) }) == 0 else {
        throw SocketError(operation: "connect to port \(port)", code: errno)
      }
      return Connection(descriptor: descriptor)
    }

    @Test("a relay that shuts down ends the streams at once, and properly")
    func drain() async throws {
      let relay = try await started([:])
      let listener = try await Listener(relay)
      try await listener.first("snapshot")
      let began = Date()
      relay.signal(SIGTERM)
      try await listener.over()
      #expect(try await relay.ending() == .exit(0))
      #expect(listener.isEnded)
      #expect(Date().timeIntervalSince(began) < 10)
    }

    @Test("a quiet connection shows signs of life, which move on what is to be given back")
    func signs() async throws {
      let relay = try await started(["heartbeatSeconds": 1])
      let listener = try await Listener(relay, "?client=nobody")
      let start = try await listener.first("snapshot").id
      _ = try await relay.device().post(["path": "/"])
      try await listener.signs(count: 2)
      #expect(listener.lastID != start)
      #expect(listener.changes.isEmpty)
    }

    @Test("how far a long attempt has come is told now and then, beside the log")
    func progress() async throws {
      let upstream = try TestUpstream { _ in .answer(200, delayMs: 2500) }
      let relay = try await Relay.started(upstream)
      let listener = try await Listener(relay, "?client=device-1")
      try await listener.first("snapshot")
      let answer = try await relay.device().post(["path": "/", "body": "twelve bytes"])
      let told = try await listener.first("progress")
      #expect(told.id == nil)
      #expect(try told["id"] == answer.json()["id"] as? String)
      #expect(told["state"] == "delivering" && told["lane"] == "default")
      let progress = try told.json()["progress"] as? [String: Any]
      #expect(progress?["sentBytes"] as? Int == 12 && progress?["bodyBytes"] as? Int == 12)
      try await listener.first("delivered")
    }
  }
}
