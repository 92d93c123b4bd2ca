#if PostgreSQL
import Glibc
import Postgres
import PostgresTesting
import Testing

extension EndToEnd {
  @Suite(
    "A start that a lock keeps from reading something", .serialized, .ofDatabases,
    .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed"))
  struct LateStarts {
    @Test("uploads that were open are taken up, and count, once the lock is gone")
    func uploads() async throws {
      let database = try TestDatabase.fresh()
      let relay = try Relay(
        upstreams: ["default": Relay.quick(TestUpstream())],
        more: ["limits": ["clientUploadsMax": 1]],
        environment: ["WAYSTATION_POSTGRES_URL": database.url])
      try await relay.start()
      try await relay.log(holds: "line taken up")
      func begin() async throws -> WireResponse {
        let fields = ["Waystation-Client": "device-1", "Upload-Complete": "?0"]
        return try await Device("device-1", port: relay.port).request(
          "POST", "/v1/relay/default/p", headers: fields, body: [1, 2])
      }
      try await begin().require(201)
      #expect(try await begin().status == 429)
      try await relay.kill()
      var connection = try database.connect()
      _ = try connection.run([
        PostgresCommand("SET idle_in_transaction_session_timeout = 0"), PostgresCommand("BEGIN"),
        PostgresCommand("LOCK TABLE upload"),
      ])
      try await relay.start()
      try await relay.log(holds: "a part of the start is left to be done")
      _ = try connection.run([PostgresCommand("COMMIT")])
      try await relay.log(holds: "what was left of the start is done")
      #expect(try await begin().status == 429)
    }

    @Test("a table that is locked for a while, when the store is taken, does not end the start")
    func upstreams() async throws {
      let database = try TestDatabase.fresh()
      let upstream = try TestUpstream()
      let relay = try Relay(
        upstreams: ["default": Relay.quick(upstream)],
        environment: ["WAYSTATION_POSTGRES_URL": database.url])
      try await relay.start()
      relay.signal(SIGTERM)
      #expect(try await relay.ending() == .exit(0))
      var connection = try database.connect()
      _ = try connection.run([
        PostgresCommand("SET idle_in_transaction_session_timeout = 0"), PostgresCommand("BEGIN"),
        PostgresCommand("LOCK TABLE upstream IN EXCLUSIVE MODE"),
      ])
      try relay.begin()
      try await relay.log(holds: "the start waits until it passes")
      relay.signal(SIGTERM)
      #expect(try await relay.ending(seconds: 10) == .exit(0), "nobody waits for the lock then")
      try relay.begin()
      try await relay.log(holds: "the start waits until it passes")
      _ = try connection.run([PostgresCommand("COMMIT")])
      try await relay.listens()
      try await relay.device().post(["path": "/"]).require(202)
      try await upstream.received(count: 1)
    }
  }
}
#endif
