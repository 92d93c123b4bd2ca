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

    @Test("a post that was under way is answered, or was never taken")
    func senders() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      let device = relay.device()
      #expect(try await device.post(["path": "/before"]).status == 202)
      relay.signal(SIGINT)
      #expect(try await relay.ending() == .exit(0))
      #expect(try await upstream.received(count: 1).map(\.target) == ["/before"])
    }
  }
}
