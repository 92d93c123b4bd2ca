#if PostgreSQL
import Foundation
import Glibc
import PostgresTesting
import Testing

extension EndToEnd {
  @Suite(
    "Relays that share a store in PostgreSQL", .serialized, .ofDatabases,
    .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed"))
  struct SpareRelays {
    private let upstream: TestUpstream
    private let proxy: LossyProxy
    /// By the proxy.
    private let first: Relay
    private let second: Relay

    init() throws {
      upstream = try TestUpstream()
      let database = try TestDatabase.fresh()
      let port = try #require(URL(string: database.url)?.port)
      proxy = try LossyProxy(to: UInt16(port))
      let byProxy = database.url.replacingOccurrences(of: ":\(port)/", with: ":\(proxy.port)/")
      let upstreams = ["default": Relay.quick(upstream)]
      first = try Relay(
        upstreams: upstreams, environment: ["WAYSTATION_POSTGRES_URL": byProxy])
      second = try Relay(
        upstreams: upstreams, environment: ["WAYSTATION_POSTGRES_URL": database.url])
    }

    private func startBoth() async throws {
      try await first.start()
      try second.begin()
      try await second.log(holds: "this one waits as a spare")
    }

    /// Posts to a lane, one after the other.
    private func post(_ numbers: ClosedRange<Int>, to relay: Relay) async throws {
      for number in numbers {
        try await relay.device().post(["path": "/\(number)", "key": "key-\(number)"]).require(202)
      }
    }

    /// The paths in the order of their first attempts.
    private var firstAttempts: [String] {
      var seen: Set<String> = []
      return upstream.received.map(\.target).filter { seen.insert($0).inserted }
    }

    @Test("a spare takes over what waits from one that is killed, in its order")
    func killed() async throws {
      upstream.behave { _ in .answer(503) }
      try await startBoth()
      try await post(1...20, to: first)
      try await upstream.received(count: 1)
      try await first.kill()
      upstream.behave { _ in .answer(200) }
      try await second.listens()
      try await post(21...25, to: second)
      try await upstream.received("the last one") { $0.last?.target == "/25" }
      #expect(firstAttempts == (1...25).map { "/\($0)" })
      let again = try await second.device().post(["path": "/3", "key": "key-3"])
      #expect(try again.json()["result"] as? String == "duplicate")
    }

    @Test("one that is stopped gives its store to the spare")
    func stopped() async throws {
      try await startBoth()
      try await post(1...3, to: first)
      try await upstream.received(count: 3)
      first.signal(SIGTERM)
      #expect(try await first.ending() == .exit(0))
      try await second.listens()
      try await post(4...5, to: second)
      try await upstream.received(count: 5)
      #expect(upstream.received.map(\.target) == (1...5).map { "/\($0)" })
    }

    @Test("one that was frozen for longer than its lease ends, and has written nothing")
    func frozen() async throws {
      upstream.behave { _ in .never }
      try await startBoth()
      try await post(1...5, to: first)
      try await upstream.received(count: 1)
      first.signal(SIGSTOP)
      upstream.behave { _ in .answer(200) }
      try await second.listens()
      try await upstream.received("the last one") { $0.last?.target == "/5" }
      first.signal(SIGCONT)
      #expect(try await first.ending() == .exit(1))
      #expect(first.log.contains("another relay has the store: this one ends"))
      #expect(firstAttempts == (1...5).map { "/\($0)" })
      let names = Dictionary(grouping: upstream.received, by: \.target)
      for (_, requests) in names { #expect(Set(requests.map { $0["Idempotency-Key"] }).count == 1) }
      // The upstream has got the last one before its end is on record.
      let last = try await second.device().post(["path": "/5", "key": "key-5"]).json()
      let id = try #require(last["id"] as? String)
      #expect(try await second.device().end(of: id)["state"] as? String == "delivered")
      let listed = try await second.device().get("/v1/envelopes?state=delivered").json()
      #expect((listed["envelopes"] as? [Any])?.count == 5)
    }

    @Test("one that cannot reach the database breaks off, turns posts away, and ends once it can")
    func cutOff() async throws {
      // The spare may begin as soon as the other one has noticed that it is cut off.
      let arrivals = Monitor(0)
      upstream.behave { _ in
        arrivals.change { count in
          count += 1
          return count == 1 ? .never : .answer(200)
        }
      }
      try await startBoth()
      try await post(1...2, to: first)
      try await upstream.received(count: 1)
      proxy.cut()
      try await first.log(holds: "nothing is attempted until it can")
      let refused = try await first.device().post(["path": "/3"])
      #expect(refused.status == 503 && refused.problem == "store-unavailable")
      #expect(try await first.device().get("/readyz").status == 503)
      try await second.listens()
      try await upstream.received("the last one") { $0.last?.target == "/2" }
      proxy.mend()
      #expect(try await first.ending() == .exit(1))
      #expect(firstAttempts == ["/1", "/2"])
    }

    @Test("without a spare, it goes on where it stood once the database is back")
    func goesOn() async throws {
      upstream.behave { _ in .never }
      try await first.start()
      try await post(1...2, to: first)
      try await upstream.received(count: 1)
      proxy.cut()
      try await first.log(holds: "nothing is attempted until it can")
      upstream.behave { _ in .answer(200) }
      #expect(upstream.received.count == 1)
      proxy.mend()
      try await upstream.received("the last one") { $0.last?.target == "/2" }
      #expect(upstream.received.map(\.target) == ["/1", "/1", "/2"])
      try await first.log(holds: "attempts go on")
    }

    @Test("a large body is sent from the database, also by the one that takes over")
    func largeBody() async throws {
      upstream.behave { _ in .answer(503) }
      try await startBoth()
      let body = (0..<1_500_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
      let posted = try await first.device().relay("POST", "/large", body: body)
      #expect(posted.status == 202)
      try await upstream.received(count: 1)
      try await first.kill()
      upstream.behave { _ in .answer(200) }
      try await second.listens()
      let id = try #require(try posted.json()["id"] as? String)
      #expect(try await second.device().end(of: id)["state"] as? String == "delivered")
      for request in upstream.received { #expect(request.body == body) }
    }

    @Test("a spare says to its service manager that it runs, lives, and stops at once")
    func serviceManager() async throws {
      let notes = try NotifySocket()
      try await first.start()
      second.setEnvironment(["NOTIFY_SOCKET": notes.path, "WATCHDOG_USEC": "100000"])
      try second.begin()
      let ready = try await notes.wait("readiness") { $0.hasPrefix("READY=1") }
      #expect(ready.contains("STATUS=a spare: another relay has the store"))
      try await notes.wait("two signs of life", count: 2) { $0 == "WATCHDOG=1" }
      second.signal(SIGTERM)
      #expect(try await second.ending() == .exit(0))
    }

    @Test("a database that refuses the relay ends the start, and says why")
    func refused() async throws {
      let database = try TestDatabase.fresh()
      let port = try #require(URL(string: database.url)?.port)
      let relay = try Relay(
        upstreams: ["default": Relay.quick(upstream)],
        environment: [
          "WAYSTATION_POSTGRES_URL":
            "postgresql://postgres:not-to-be-seen@127.0.0.1:\(port)/no-such-database"
        ])
      try relay.begin()
      #expect(try await relay.ending() == .exit(1))
      #expect(relay.log.contains(#"database "no-such-database" does not exist"#), "\(relay.log)")
      #expect(!relay.log.contains("not-to-be-seen"))
    }
  }
}
#endif
