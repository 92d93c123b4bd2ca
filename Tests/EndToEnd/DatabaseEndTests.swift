#if PostgreSQL
import Foundation
import Glibc
import PostgresTesting
import Testing

extension EndToEnd {
  @Suite(
    "Ending without the database", .serialized, .ofDatabases,
    .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed"))
  struct DatabaseEnd {
    private let upstream: TestUpstream
    private let proxy: LossyProxy
    private let relay: Relay

    init() throws {
      upstream = try TestUpstream { _ in .never }
      let database = try TestDatabase.fresh()
      let port = try #require(URL(string: database.url)?.port)
      proxy = try LossyProxy(to: UInt16(port))
      let url = database.url.replacingOccurrences(of: ":\(port)/", with: ":\(proxy.port)/")
      relay = try Relay(
        upstreams: ["default": Relay.quick(upstream)], more: ["shutdownGraceSeconds": 4],
        environment: ["WAYSTATION_POSTGRES_URL": url])
    }

    @Test(
      "a post whose commit is not answered is told so before the grace period ends")
    func postUnderWay() async throws {
      try await relay.start()
      let device = relay.device()
      try await device.post(["path": "/first"]).require(202)
      try await upstream.received(count: 1)
      proxy.cut(behind: "the-last-one")
      let last: [String: any Sendable] = ["path": "/the-last-one", "key": "the-key"]
      async let answer = device.post(last)
      try await relay.log(holds: "nothing is attempted until it can")
      relay.signal(SIGTERM)
      let refused = try await answer
      #expect(refused.status == 503 && refused.problem == "store-unavailable")
      let problem = try refused.json()
      #expect((problem["detail"] as? String)?.contains("it may be") == true, "\(problem)")
      #expect((problem["fix"] as? String)?.contains("with the same key") == true, "\(problem)")
      #expect(try await relay.ending(seconds: 8) == .exit(0))
      #expect(relay.log.contains("is waited for no longer: the relay ends without it"))

      proxy.mend()
      try await relay.start()
      let again = try await relay.device().post(last)
      #expect(try again.json()["result"] as? String == "duplicate")
    }

    @Test("lists that are asked of a database that stands still are answered together, and in time")
    func lists() async throws {
      try await relay.start()
      let device = relay.device()
      try await device.get("/v1/envelopes").require(200)
      proxy.fallSilent()
      // Each by itself takes eight seconds, and a device gives up after thirty.
      try await withThrowingTaskGroup { group in
        for _ in 1...24 {
          group.addTask {
            let answer = try await relay.device().get("/v1/envelopes")
            #expect(answer.problem == "store-unavailable")
          }
        }
        try await group.waitForAll()
      }
      proxy.mend()
      try await eventually("a list") {
        try await device.get("/v1/envelopes").status == 200 ? true : nil
      }
    }
  }
}
#endif
