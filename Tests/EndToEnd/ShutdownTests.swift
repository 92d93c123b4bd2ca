import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("Shutting down", .serialized)
  struct Shutdown {
    @Test("an attempt in flight finishes within the grace period")
    func finishes() async throws {
      let gate = Monitor(false)
      let upstream = try TestUpstream { _ in
        _ = gate.block(seconds: 30) { $0 ? true : nil }
        return .answer(200)
      }
      let relay = try await Relay.started(upstream)
      let posted = try await relay.device().post(["path": "/"])
      try await upstream.received(count: 1)
      relay.signal(SIGTERM)
      try await portIsClosed(relay.port)
      gate.change { $0 = true }
      #expect(try await relay.ending() == .exit(0))

      try await relay.start()
      let id = try #require(posted.json()["id"] as? String)
      #expect(try await relay.device().end(of: id)["state"] as? String == "delivered")
      #expect(upstream.received.count == 1)
    }

    @Test("past the grace period it is cut off, and delivered after the next start")
    func cutOff() async throws {
      let upstream = try TestUpstream { _ in .never }
      let relay = try await Relay.started(upstream, more: ["shutdownGraceSeconds": 1])
      let device = relay.device()
      let first = try await device.post(["path": "/first"])
      _ = try await device.post(["path": "/second"])
      try await upstream.received(count: 1)
      relay.signal(SIGTERM)
      #expect(try await relay.ending() == .exit(0))

      upstream.behave { _ in .answer(200) }
      try await relay.start()
      let received = try await upstream.received(count: 3)
      #expect(received.map(\.target) == ["/first", "/first", "/second"])
      #expect(received[0]["Idempotency-Key"] == received[1]["Idempotency-Key"])
      let id = try #require(first.json()["id"] as? String)
      #expect(try await relay.device().end(of: id)["state"] as? String == "delivered")
    }

    @Test("a second signal ends it at once, and loses nothing")
    func secondSignal() async throws {
      let upstream = try TestUpstream { _ in .never }
      let relay = try await Relay.started(upstream)
      _ = try await relay.device().post(["path": "/"])
      try await upstream.received(count: 1)
      relay.signal(SIGTERM)
      try await portIsClosed(relay.port)
      let began = Date()
      relay.signal(SIGTERM)
      #expect(try await relay.ending() == .exit(1))
      #expect(Date().timeIntervalSince(began) < 10)

      upstream.behave { _ in .answer(200) }
      try await relay.start()
      try await upstream.received(count: 2)
    }

    @Test("a post that was under way at the signal is answered, or was never taken")
    func senders() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      let port = relay.port
      let bodies = try (0..<6).map {
        try Device.json(["client": "device-\($0)", "path": "/\($0)"])
      }
      let senders = try await onThread {
        try bodies.map { body in
          let sender = try Connection(port: port)
          try sender.write(
            Array(
              ("POST /v1/envelopes HTTP/1.1\r\nHost: relay\r\nContent-Type: application/json\r\n"
                + "Content-Length: \(body.count)\r\nExpect: 100-continue\r\n\r\n").utf8))
          // The relay waits for the body: the post is under way.
          let asked = String(decoding: try sender.read(through: "\r\n\r\n") ?? [], as: UTF8.self)
          #expect(asked.hasPrefix("HTTP/1.1 100 "))
          try sender.write(Array(body.prefix(10)))
          return sender
        }
      }
      relay.signal(SIGINT)
      try await portIsClosed(port)
      let statuses = try await onThread {
        // The last two go away instead.
        for sender in senders.suffix(2) { sender.close() }
        return try zip(senders, bodies).dropLast(2).map { sender, body in
          try sender.write(Array(body.dropFirst(10)))
          return try sender.readResponse(to: "POST").status
        }
      }
      #expect(statuses == [202, 202, 202, 202])
      #expect(try await relay.ending() == .exit(0))
      try await relay.start()
      // Of one that had been taken, this would be behind.
      _ = try await relay.device("device-5").post(["path": "/last"])
      let received = try await upstream.received("all of them") { $0.count >= 5 }
      #expect(Set(received.map(\.target)) == ["/0", "/1", "/2", "/3", "/last"])
    }

    @Test("who waits for an envelope's end is answered at the signal, and not cut off later")
    func waits() async throws {
      let upstream = try TestUpstream { _ in .never }
      let relay = try await Relay.started(upstream, more: ["shutdownGraceSeconds": 20])
      let began = Monitor<Date?>(nil)
      async let waited = relay.device().relay("POST", "/", headers: ["Prefer": "wait=60"], body: [])
      // What the upstream has got, its sender waits for.
      try await upstream.received(count: 1)
      began.change { $0 = Date() }
      relay.signal(SIGTERM)
      let answer = try await waited
      #expect(answer.status == 202 && answer["Waystation-State"] != nil)
      let tookSeconds = began.read { $0.map { Date().timeIntervalSince($0) } } ?? .infinity
      #expect(tookSeconds < 15)
      relay.signal(SIGTERM)
      try await relay.ending()
    }
  }
}
