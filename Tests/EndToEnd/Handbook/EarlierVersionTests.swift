import Foundation
import Testing

@testable import SQLiteStore

extension EndToEnd {
  /// Stores that Waystation itself wrote when it was younger: `Tests/Stores`.
  @Suite("Stores of earlier versions", .serialized, .ofFiles)
  struct EarlierVersions {
    /// What waits in both of them, in each lane's order.
    private static let lanes = [
      ["/readings/3", "/readings/4", "/readings/5"], ["/photos/1", "/photos/2"], ["/large/1"],
    ]

    /// Lays a store out as it was, with its one body in a file.
    private func lay(_ schema: Int, _ folder: String, more: String = "") throws {
      let sql = try String(
        contentsOfFile: "\(ShellDocument.repository)/Tests/Stores/schema-\(schema).sql",
        encoding: .utf8)
      try FileManager.default.createDirectory(
        atPath: folder + "/bodies", withIntermediateDirectories: true)
      try DatabaseFile.prepare(
        path: DataFolder.database(in: folder), pageBytes: 8192,
        migrations: [Migration(version: Int64(schema), sql: "\(sql)\n\(more)")])
      let row = try #require(sql.firstMatch(of: /INSERT INTO body_file VALUES\(9,'([0-9a-f]+)'/))
      try String(repeating: "x", count: 300_000).write(
        toFile: "\(folder)/bodies/\(row.1)", atomically: true, encoding: .utf8)
    }

    @Test("a store of an earlier schema is opened, and goes on where it was", arguments: [1, 9])
    func goesOn(schema: Int) async throws {
      let upstream = try TestUpstream()
      let kept: [String: any Sendable] = [
        "deliveredSeconds": 1_000_000_000, "failedSeconds": 1_000_000_000,
      ]
      let quick = Relay.quick(upstream)
      let relay = try Relay(
        upstreams: ["default": quick, "away": quick], more: ["retention": kept])
      try lay(schema, relay.folder.path + "/data")
      try await relay.start()
      let isYoung = schema == 1
      if !isYoung {
        // It was paused when it was younger, and still is.
        let resumed = try await relay.device().request("POST", "/v1/clients/truck-9/resume")
        #expect(resumed.status == 200)
      }
      let received = try await upstream.received(count: isYoung ? 6 : 7)
      for lane in Self.lanes {
        #expect(received.map(\.target).filter { lane.contains($0) } == lane)
      }
      #expect(received.first { $0.target == "/large/1" }?.body.count == 300_000)
      #expect(received.first { $0.target == "/readings/3" }?["X-Unit"] == "spare")
      if !isYoung {
        #expect(received.filter { $0.target == "/position" }.map { $0.body } == [Array("new".utf8)])
      }
      try await past(relay)
      try await next(relay, upstream, isYoung: isYoung)
      relay.signal(SIGTERM)
      try await relay.ending()
      let check = try await Waystation.run("store", "check", "--data", relay.folder.path + "/data")
      #expect(check.ending == .exit(0), "\(check)")
    }

    @Test(
      "one that makes no sense is refused, and the version that wrote it still opens it",
      arguments: [
        (1, "UPDATE ledger SET last_serial = 1"), (9, "UPDATE ledger SET last_serial = 1"),
        (9, "DELETE FROM ledger"),
        (9, "INSERT INTO token VALUES ('t', 7, NULL, x'', NULL, 1, NULL)"),
        (9, "INSERT INTO paused VALUES (7, 1)"),
        (9, "UPDATE line SET standing = 9 WHERE serial = (SELECT max(serial) FROM line)"),
      ])
    func refused(schema: Int, damage: String) async throws {
      let quick = Relay.quick(try TestUpstream())
      let relay = try Relay(upstreams: ["default": quick, "away": quick])
      let data = relay.folder.path + "/data"
      try lay(schema, data, more: damage)
      let refusal = await #expect(throws: StartFailure.self) { try await relay.start() }
      #expect(refusal?.description.contains("Nothing was changed") == true, "\(refusal as Any)")
      try DatabaseFile.prepare(
        path: DataFolder.database(in: data), pageBytes: 8192,
        migrations: [Migration(version: Int64(schema), sql: "")])
    }

    /// What ended before, and keys, are remembered.
    private func past(_ relay: Relay) async throws {
      let device = relay.device("truck-7")
      for (state, answer) in [("delivered", "200"), ("failed", "422")] {
        let list = try await device.get("/v1/envelopes?state=\(state)&upstream=default").json()
        let found = try #require((list["envelopes"] as? [[String: Any]])?.first)
        let id = try #require(found["id"] as? String)
        #expect(found["state"] as? String == state)
        let response = try await device.get("/v1/envelopes/\(id)/response")
        #expect(response.status == 200 && response["Waystation-Upstream-Status"] == answer)
      }
      // A repeat, byte for byte.
      let again = try await device.post(
        json: Array(
          #"""
          {"client": "truck-7", "upstream": "away", "path": "/readings/3", "key": "reading-3",
          "body": {"t": 3}, "headers": {"X-Unit": "spare"}, "tag": "reading",
          "expiresAt": "2199-01-01T00:00:00Z"}
          """#.utf8))
      #expect(try again.json()["result"] as? String == "duplicate", "\(again)")
    }

    /// What was held, or waited for a number, goes on; and so does what comes from now on.
    private func next(_ relay: Relay, _ upstream: TestUpstream, isYoung: Bool) async throws {
      let device = relay.device("truck-8")
      let held = try await device.get("/v1/envelopes?client=truck-8&state=held").json()
      let id = try #require((held["envelopes"] as? [[String: Any]])?.first?["id"] as? String)
      #expect(try await device.request("POST", "/v1/envelopes/\(id)/run").status < 300)
      #expect(try await device.end(of: id)["state"] as? String == "delivered")
      let third = try await device.post([
        "path": "/photos/3", "upstream": "away", "lane": "photos", "sequence": 3, "body": "p3",
      ])
      #expect(third.status == 202, "\(third)")
      let received = try await upstream.received(count: isYoung ? 8 : 10)
      let photos = received.map(\.target).filter { $0.hasPrefix("/photos") }
      #expect(photos == (1...(isYoung ? 3 : 4)).map { "/photos/\($0)" })
    }
  }
}
