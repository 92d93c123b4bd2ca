#if PostgreSQL
import Foundation
import Glibc
import PostgresTesting
import Testing

extension EndToEnd {
  @Suite(
    "The listeners of a spare", .serialized, .ofDatabases,
    .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed"))
  struct SpareListening {
    private let upstream: TestUpstream
    private let variables: [String: String]
    private let first: Relay

    init() async throws {
      upstream = try TestUpstream()
      variables = ["WAYSTATION_POSTGRES_URL": try TestDatabase.fresh().url]
      first = try Relay(
        upstreams: ["default": Relay.quick(upstream)], environment: variables)
      try await first.start()
    }

    private func spare(_ arguments: String...) throws -> Relay {
      try Relay(
        upstreams: ["default": Relay.quick(upstream)], arguments: arguments,
        environment: variables)
    }

    @Test("an address that is in use is told at the start, and is taken once it is free")
    func inUse() async throws {
      let second = try spare("--listen", "127.0.0.1:\(first.port)")
      try second.begin()
      try await second.log(holds: "this one waits as a spare")
      #expect(second.log.contains("this relay could not listen now"), "\(second.log)")
      #expect(second.log.contains("the address is in use"), "\(second.log)")
      first.signal(SIGTERM)
      #expect(try await first.ending() == .exit(0))
      try await second.listens()
    }

    @Test(
      "a place that it cannot have, whoever has the store, ends its start",
      arguments: ["unix:/no/such/folder/socket", "unix:/etc/passwd"])
    func impossible(place: String) async throws {
      let second = try spare("--listen", place)
      try second.begin()
      #expect(try await second.ending() == .exit(1))
      #expect(second.log.contains("cannot listen on \(place)"), "\(second.log)")
    }
  }
}
#endif
