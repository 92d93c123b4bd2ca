#if PostgreSQL
import Foundation
import Glibc
import PostgresTesting
import Testing

extension EndToEnd {
  @Suite(
    "The status of a relay whose database is away", .serialized, .ofDatabases,
    .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed"))
  struct StatusTrouble {
    private let upstream: TestUpstream
    private let proxy: LossyProxy
    private let relay: Relay

    init() async throws {
      upstream = try TestUpstream { $0.target == "/bad" ? .answer(422) : .answer(200) }
      let database = try TestDatabase.fresh()
      let port = try #require(URL(string: database.url)?.port)
      proxy = try LossyProxy(to: UInt16(port))
      let url = database.url.replacingOccurrences(of: ":\(port)/", with: ":\(proxy.port)/")
      relay = try Relay(
        upstreams: ["default": Relay.quick(upstream)],
        environment: ["WAYSTATION_POSTGRES_URL": url])
      try await relay.start()
      try await relay.device().post(["path": "/bad", "onFailure": "block"]).require(202)
      try await relay.device().post(["path": "/behind"]).require(202)
      try await eventually("the lane is blocked, and listed") {
        try await lists(of: status()) == [1, 1] ? true : nil
      }
    }

    /// The longest time that an answer may take, in seconds.
    ///
    /// Whoever waits for a connection that is silent, and for another one, waits for eight.
    private static let secondsMax = 5.0

    private func status() async throws -> [String: Any] {
      let clock = ContinuousClock()
      let begin = clock.now
      let answer = try await relay.device().get("/status")
      #expect(clock.now - begin < .seconds(Self.secondsMax))
      #expect(answer.status == 200, "\(answer)")
      return try answer.json()
    }

    private func lists(of status: [String: Any]) -> [Int?] {
      ["blockedLanes", "backlogs"].map { (status[$0] as? [Any])?.count }
    }

    private func kinds(in status: [String: Any]) -> [String] {
      (status["needs"] as? [[String: Any]])?.compactMap { $0["kind"] as? String } ?? []
    }

    @Test(
      "it is answered at once, with what is wrong and without what only the store knows",
      arguments: [false, true])
    func away(isSilent: Bool) async throws {
      let stream = try Connection(port: relay.port)
      try stream.write(Array("GET /v1/status/events HTTP/1.1\r\nHost: r\r\n\r\n".utf8))
      try await shown(by: stream) { $0["store"] is [String: Any] }
      if isSilent { proxy.fallSilent() } else { proxy.cut() }
      let away = try await eventually("the need is listed", seconds: 40) {
        let status = try await status()
        return kinds(in: status).contains("store-trouble") ? status : nil
      }
      let store = try #require(away["store"] as? [String: Any])
      #expect(store["trouble"] is String)
      #expect((store["relays"] as? [Any])?.count == 1)
      #expect((store["envelopes"] as? [String: Int])?["blocked"] == 1)
      #expect(away["blockedLaneCount"] as? Int == 1)
      #expect(lists(of: away) == [0, 0])
      #expect((away["upstreams"] as? [Any])?.count == 1)
      // From now on nothing is asked for, and nothing is waited for.
      let clock = ContinuousClock()
      let begin = clock.now
      for _ in 0..<10 { _ = try await status() }
      #expect(clock.now - begin < .seconds(Self.secondsMax))
      try await shown(by: stream) { ($0["store"] as? [String: Any])?["trouble"] is String }
      let printed = try await Waystation.run(
        "status", "--server", "http://127.0.0.1:\(relay.port)")
      #expect(printed.ending == .exit(0), "\(printed)")
      #expect(printed.output.contains("2 things need you:"), "\(printed)")

      proxy.mend()
      try await eventually("all is shown again", seconds: 40) {
        let status = try await status()
        return lists(of: status) == [1, 1] && kinds(in: status) == ["lanes-blocked"] ? true : nil
      }
      try await shown(by: stream) { self.lists(of: $0) == [1, 1] }
      stream.close()
    }

    /// Waits until the status stream has told of such a status.
    private func shown(
      by stream: Connection, where isWanted: @escaping @Sendable ([String: Any]) -> Bool
    ) async throws {
      try await onThread {
        while true {
          _ = try stream.read(through: "event: status\ndata: ")
          let data = try #require(try stream.read(through: "\n\n"))
          let status = try JSONSerialization.jsonObject(with: Data(data)) as? [String: Any]
          if let status, isWanted(status) { return }
        }
      }
    }
  }
}
#endif
