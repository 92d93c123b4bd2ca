#if PostgreSQL
import Foundation
import Glibc
import Postgres
import PostgresTesting
import Testing

extension EndToEnd {
  @Suite(
    "A spare whose password is changed", .serialized, .ofDatabases,
    .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed"))
  struct SparePassword {
    private static let role = PostgresServer.roleWithChangingPassword
    private let upstream: TestUpstream
    private let database: TestDatabase
    private let folder: TemporaryFolder
    private let passwordFile: String

    init() throws {
      upstream = try TestUpstream()
      database = try TestDatabase.fresh()
      folder = try TemporaryFolder()
      passwordFile = folder.path + "/password"
    }

    private func relay() throws -> Relay {
      let url = database.url.replacingOccurrences(of: "//postgres@", with: "//\(Self.role)@")
      let postgres = ["url": url, "passwordFile": passwordFile]
      return try Relay(
        upstreams: ["default": Relay.quick(upstream)], more: ["store": ["postgres": postgres]],
        environment: ["WAYSTATION_POSTGRES_URL": ""])
    }

    private func execute(_ script: String) throws {
      var connection = try database.connect()
      try connection.execute(script: script)
    }

    @Test("it bears the refusal, and is a spare again; one that starts so ends at once")
    func changes() async throws {
      try execute("CREATE ROLE \(Self.role) LOGIN PASSWORD 'former'")
      try execute("GRANT ALL ON SCHEMA \(database.name) TO \(Self.role)")
      try folder.write("password", "former\n")
      let (first, second, third) = (try relay(), try relay(), try relay())
      try await first.start()
      try second.begin()
      try await second.log(holds: "this one waits as a spare")

      try execute("ALTER ROLE \(Self.role) PASSWORD 'later'")
      try execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '\(Self.role)'")
      try await second.log(holds: "the store refuses this spare, which it did not before")
      try third.begin()
      #expect(try await third.ending() == .exit(1))
      #expect(third.log.contains("password authentication failed"), "\(third.log)")

      try folder.write("password", "later\n")
      try await first.kill()
      try await second.listens()
      try await second.device().post(["path": "/"]).require(202)
      try await upstream.received(count: 1)
    }
  }
}
#endif
