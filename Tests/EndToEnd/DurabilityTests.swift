#if PostgreSQL
import Foundation
import Glibc
import PostgresTesting
import Testing

extension EndToEnd {
  @Suite(
    "A store in PostgreSQL that is less safe than it is to be", .serialized, .ofDatabases,
    .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed"))
  struct Durability {
    private let upstream: TestUpstream
    private let pair: PostgresPair
    private let database: DatabaseAsker

    init() async throws {
      upstream = try TestUpstream()
      pair = try await onThread { try PostgresPair() }
      database = DatabaseAsker(pair)
    }

    private func relay(_ durability: String, by url: String? = nil) throws -> Relay {
      try Relay(
        upstreams: ["default": Relay.quick(upstream)],
        more: ["store": ["postgres": ["durability": durability]]],
        environment: ["WAYSTATION_POSTGRES_URL": url ?? pair.url])
    }

    /// The URL of a role that may do what a relay has to, and see nothing else.
    private func limitedURL() async throws -> String {
      try await database.ask("CREATE ROLE limited LOGIN")
      try await database.ask("CREATE SCHEMA limited AUTHORIZATION limited")
      return pair.url.replacingOccurrences(of: "//postgres@", with: "//limited@")
    }

    /// Waits until the relay says that it is ready, or is not, and why: it looks every ten seconds,
    /// and may need two looks.
    @discardableResult
    private func readiness(_ status: Int, of relay: Relay) async throws -> [String: Any] {
      try await eventually("\(status) of /readyz", seconds: 60) {
        let answer = try await relay.device().get("/readyz")
        return answer.status == status ? try answer.json() : nil
      }
    }

    private func need(of relay: Relay) async throws -> [String: Any]? {
      let needs = try await relay.device().get("/status").json()["needs"] as? [[String: Any]]
      return needs?.first { $0["kind"] as? String == "durability-low" }
    }

    private func gauge(of relay: Relay) async throws -> String? {
      let metrics = try await relay.device().get("/metrics")
      return String(decoding: metrics.body, as: UTF8.self).split(separator: "\n")
        .first { $0.hasPrefix("waystation_store_durability_low ") }.map { String($0.suffix(1)) }
    }

    @Test("a standby that is lost in silence is told, posts go on, and all is well once it is back")
    func standby() async throws {
      let relay = try relay("quorum")
      try await relay.start()
      #expect(try await relay.device().get("/readyz").status == 200)
      #expect(try await need(of: relay) == nil)
      try await onThread { try pair.loseStandby() }

      let refusal = try await readiness(503, of: relay)
      #expect(refusal["status"] as? String == "durability-low")
      let reason = try #require((refusal["reasons"] as? [String])?.first)
      #expect(reason.hasPrefix("synchronous_standby_names is empty: "), "\(reason)")
      let need = try #require(try await need(of: relay))
      #expect(need["severity"] as? String == "critical" && need["cause"] as? String == reason)
      let acts = try #require(need["acts"] as? [[String: Any]])
      #expect((acts.first?["command"] as? [String])?.last == "--try-store")
      #expect(try await gauge(of: relay) == "1")
      try await relay.device().post(["path": "/meanwhile"]).require(202)
      try await upstream.received(count: 1)

      try await onThread { try pair.addStandby() }
      try await readiness(200, of: relay)
      #expect(try await self.need(of: relay) == nil)
      #expect(try await gauge(of: relay) == "0")
      let lines = relay.log.split(separator: "\n").filter { $0.contains("durability-low") }
      #expect(lines.count == 2, "one line at each change: \(lines)")
      #expect(lines.last?.contains("somebody is needed no more") == true)
    }

    @Test("a role that may not see standbys leaves the relay ready, and the GRANT is named")
    func role() async throws {
      let relay = try relay("quorum", by: try await limitedURL())
      try await relay.start()
      #expect(try await relay.device().get("/readyz").status == 200)
      let need = try #require(try await need(of: relay))
      #expect(need["severity"] as? String == "warning")
      let grant = "GRANT pg_read_all_stats TO limited"
      #expect((need["cause"] as? String)?.hasSuffix(grant) == true, "\(need)")
      try await relay.log(holds: grant)
      #expect(try await gauge(of: relay) == "0")
      try await database.ask(grant)
      try await eventually("the end of the need", seconds: 30) {
        try await self.need(of: relay) == nil ? true : nil
      }
    }

    @Test("of a managed database, commits that wait for no disk are told")
    func managed() async throws {
      try await onThread { try pair.loseStandby() }
      let relay = try relay("managed")
      try await relay.start()
      #expect(try await relay.device().get("/readyz").status == 200)
      try await commit("off")
      let reason = try #require(
        (try await readiness(503, of: relay)["reasons"] as? [String])?.first)
      #expect(reason.hasPrefix("synchronous_commit is off: "), "\(reason)")
      try await commit("remote_write")
      try await readiness(200, of: relay)
    }

    /// Has the server commit in another way, and waits until sessions that begin do so.
    private func commit(_ setting: String) async throws {
      try await database.ask("ALTER SYSTEM SET synchronous_commit = \(setting)")
      try await database.ask("SELECT pg_reload_conf()")
      try await eventually("the other setting") {
        let asking = "SELECT current_setting('synchronous_commit')"
        return try await database.ask(asking, columns: 1) == [[setting]] ? true : nil
      }
    }

    @Test(
      "the session that writes is told though those that were begun before are as they should be")
    func session() async throws {
      let relay = try relay("quorum")
      try await relay.start()
      try await database.ask("ALTER ROLE postgres SET synchronous_commit = off")
      try await database.ask("SELECT pg_terminate_backend(backend) FROM seat")
      let posted = try await relay.device().post(["path": "/"])
      let id = try #require(posted.json()["id"] as? String)
      let refusal = try await relay.device().get("/readyz")
      #expect(refusal.status == 503)
      #expect(try refusal.json()["status"] as? String == "durability-low")
      // Nothing is written after that: the relay finds by itself that it is well again.
      _ = try await relay.device().end(of: id)
      try await database.ask("ALTER ROLE postgres RESET synchronous_commit")
      try await database.ask("SELECT pg_terminate_backend(backend) FROM seat")
      try await readiness(200, of: relay)
    }

    @Test("a spare says what the relay with the store says")
    func spare() async throws {
      try await commit("off")
      let cluster = try await RelayCluster(
        2, on: pair, for: Relay.quick(upstream), durability: "managed")
      try await cluster.start()
      for relay in cluster.relays {
        let answer = try await Device("device-1", port: relay.port(of: 0)).get("/readyz")
        #expect(answer.status == 503)
        #expect(try answer.json()["status"] as? String == "durability-low")
      }
    }

    @Test("check says whether the database is as safe as it is to be")
    func check() async throws {
      let good = try await tried(pair.url)
      #expect(good.ending == .exit(0) && good.text.contains("as safe as quorum wants"), "\(good)")
      let limited = try await limitedURL()
      let unseen = try await tried(limited)
      #expect(unseen.ending == .exit(0), "\(unseen)")
      #expect(unseen.text.contains("warning: store "), "\(unseen)")
      #expect(unseen.text.contains("GRANT pg_read_all_stats TO limited"), "\(unseen)")
      try await database.ask("REVOKE SELECT ON pg_stat_replication FROM PUBLIC")
      let refused = try await tried(limited)
      #expect(refused.ending == .exit(0), "\(refused)")
      #expect(refused.text.contains("permission denied for view pg_stat_replication"))
      #expect(refused.text.contains("GRANT SELECT ON pg_stat_replication TO limited"))
      try await onThread { try pair.loseStandby() }
      let alone = try await tried(pair.url)
      #expect(alone.ending == .exit(1), "\(alone)")
      #expect(alone.text.contains("synchronous_standby_names is empty: "), "\(alone)")
    }

    private func tried(_ url: String) async throws -> (ending: Ending, text: String) {
      let folder = try TemporaryFolder()
      let config: [String: any Sendable] = [
        "upstreams": ["default": ["url": "http://127.0.0.1:1"]],
        "store": ["postgres": ["url": url, "durability": "quorum"]],
      ]
      try folder.write("config.json", String(decoding: Device.json(config), as: UTF8.self))
      let found = try await Waystation.run(
        "check", "--config", folder.path + "/config.json", "--try-store")
      return (found.ending, found.output + found.errors)
    }
  }
}
#endif
