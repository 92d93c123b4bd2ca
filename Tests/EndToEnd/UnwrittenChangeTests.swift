import Foundation
import Glibc
import SQLite
import SQLitePages
import Testing

@testable import SQLiteStore

extension EndToEnd {
  @Suite("Changes that a damaged store cannot write", .serialized, .ofFiles)
  struct UnwrittenChanges {
    private static let bulkCount = 400

    private let upstream: TestUpstream
    private let relay: Relay

    init() async throws {
      upstream = try TestUpstream()
      // One slot: whoever keeps it keeps everybody.
      relay = try Relay(upstreams: ["default": Relay.quick(upstream, ["maxConcurrent": 1])])
    }

    private func id(_ answer: WireResponse) throws -> String {
      try #require(try answer.json()["id"] as? String)
    }

    private func deliverBulk(_ round: Int) async throws {
      let batch = (0..<Self.bulkCount).map { index -> [String: any Sendable] in
        ["path": "/bulk/\(round)/\(index)", "lane": "l\(index % 16)"]
      }
      _ = try await relay.device("bulk").post(batch: batch)
    }

    /// The first page of a table, by the schema, which begins on the first page of all.
    private func root(of table: String, _ image: DatabaseImage) -> Int? {
      var pages = [1]
      while let page = pages.popLast() {
        guard let tree = image.tree(page) else { continue }
        pages += tree.cells.compactMap { $0?.child } + (tree.lastChild.map { [$0] } ?? [])
        for cell in tree.cells {
          let values = (cell.flatMap { StoredRecord(Array($0.local)) })?.values ?? []
          guard values.count > 3, values[1] == .text(table) else { continue }
          return values[3].integer.map { Int($0) }
        }
      }
      return nil
    }

    /// Zeroes the page of a table on which an envelope's row is, or would be written.
    private func damage(_ table: String, at serial: Int64) throws {
      let path = relay.folder.path + "/data/waystation.sqlite3"
      let image = try DatabaseImage(path: path, indexTrust: .hint)
      var page = try #require(root(of: table, image))
      while let tree = image.tree(page), tree.kind.isInterior {
        let cell = tree.cells.compactMap { $0 }.first { ($0.row ?? 0) >= serial }
        page = try #require(cell?.child ?? tree.lastChild)
      }
      let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
      try file.seek(toOffset: UInt64((page - 1) * image.pageBytes))
      try file.write(contentsOf: Data(count: image.pageBytes))
      try file.close()
    }

    private func command(_ name: String, _ id: String, _ text: [String: String]? = nil) async throws
      -> WireResponse
    {
      try await relay.device("hit").request(
        "POST", "/v1/envelopes/\(id)/\(name)",
        headers: text == nil ? [:] : ["Content-Type": "application/json"],
        body: try text.map { try Device.json($0) })
    }

    @Test("what cannot be written is quarantined: deadlines, slots and turns of others go on")
    func othersGoOn() async throws {
      try await relay.start()
      try await deliverBulk(1)
      let hit = relay.device("hit")
      var ids: [String] = []
      for index in 0..<3 {
        ids.append(try id(await hit.post(["path": "/hit/\(index)", "hold": index == 0])))
      }
      try await deliverBulk(2)
      _ = try await upstream.received(count: 2 * Self.bulkCount)
      relay.signal(SIGTERM)
      try await relay.ending()
      try damage("ended", at: Int64(Self.bulkCount + 1))
      try await relay.start()

      // A deadline behind a head, which cannot be written.
      let soon = ISO8601DateFormatter().string(from: Date(timeIntervalSinceNow: 1))
      let patched = try await relay.device("hit").request(
        "PATCH", "/v1/envelopes/\(ids[1])",
        headers: ["Content-Type": "application/merge-patch+json"],
        body: Device.json(["expiresAt": soon]))
      #expect(patched.status == 200)
      // Nor can what became of the head.
      #expect(try await command("run", ids[0]).status == 200)
      let shown = try await relay.device("hit").get("/v1/envelopes/\(ids[0])?wait=20").json()
      #expect(shown["state"] as? String == "blocked", "\(shown)")
      #expect((shown["reason"] as? String)?.contains("has taken it") == true, "\(shown)")
      // The one slot is free, and deadlines of others are kept.
      let sound = relay.device("sound")
      let held = try id(
        await sound.post([
          "path": "/never", "hold": true, "lane": "held",
          "expiresAt": ISO8601DateFormatter().string(from: Date(timeIntervalSinceNow: 3)),
        ]))
      let sent = try id(await sound.post(["path": "/sound"]))
      #expect(try await sound.end(of: sent)["state"] as? String == "delivered")
      #expect(try await sound.end(of: held)["state"] as? String == "expired")
      // Who asks for what cannot be written is told so at once, each time.
      for _ in 0..<2 {
        let refused = try await command("resolve", ids[0], ["action": "discard"])
        #expect(refused.status == 503 && refused["Retry-After"] != nil)
        #expect(
          try refused.json()["type"] as? String == "urn:waystation:problem:store-unavailable")
      }
      let status = try await sound.get("/status").json()
      let damage = (status["store"] as? [String: Any])?["damage"] as? [String: Any]
      #expect(damage?["quarantined"] as? Int == 1 && damage?["unwritten"] as? Int == 4)
      let blocked = status["blockedLanes"] as? [[String: Any]]
      #expect(blocked?.map { $0["envelope"] as? String } == [ids[0]])
      #expect(upstream.received.map(\.target).filter { $0.hasPrefix("/hit") } == ["/hit/0"])
    }

    /// Has another process say something to the store.
    private func beside(_ sql: String) async throws {
      let process = try ChildProcess(
        try #require(ChildProcess.program("python3")),
        [
          "-c", "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute(sys.argv[2])",
          relay.folder.path + "/data/waystation.sqlite3", sql,
        ])
      #expect(try await process.ending() == .exit(0), "\(process.errors)")
    }

    @Test(
      "counts and events that cannot be written keep nobody, and it is said what to do",
      .enabled(if: ChildProcess.program("python3") != nil, "python3 has the relay look anew"))
    func goesOnWithout() async throws {
      try await relay.start()
      try await deliverBulk(1)
      _ = try await upstream.received(count: Self.bulkCount)
      try await beside("PRAGMA wal_checkpoint(TRUNCATE)")
      for table in ["ledger", "event_log"] { try damage(table, at: .max) }
      // A commit of somebody else's: what the relay has kept of the file counts no longer.
      try await beside("PRAGMA user_version = \(Migration.latest)")
      let device = relay.device("sound")
      for index in 0..<3 {
        let sent = try id(await device.post(["path": "/sound/\(index)"]))
        #expect(try await device.end(of: sent)["state"] as? String == "delivered")
      }
      try await relay.log(holds: "goes on without a part of it")
      let ready = try await device.get("/readyz")
      let warnings = try ready.json()["warnings"] as? [String]
      #expect(ready.status == 200 && warnings?.first?.contains("store salvage") == true)
      let store = try await device.get("/status").json()["store"] as? [String: Any]
      let damage = store?["damage"] as? [String: Any]
      #expect(damage?["leftOut"] as? [String] == ["counts", "events"])
      #expect((store?["envelopes"] as? [String: Int])?["delivered"] == Self.bulkCount + 3)
      #expect(try await device.get("/v1/events").status == 503)
    }

    @Test("an envelope whose very row is lost is quarantined, and later posts stand behind it")
    func lostRow() async throws {
      try await relay.start()
      try await deliverBulk(1)
      let hit = relay.device("hit")
      let later = ISO8601DateFormatter().string(from: Date(timeIntervalSinceNow: 4))
      let draft: [String: any Sendable] = ["path": "/hit", "notBefore": later, "coalesce": "level"]
      #expect(try await hit.post(draft).status == 202)
      // What came ahead of its gap, of two devices; one of them lies on the page.
      let parked: [String: any Sendable] = ["path": "/gap/2", "sequence": 2]
      #expect(try await relay.device("gap").post(parked).status == 202)
      try await deliverBulk(2)
      #expect(try await relay.device("whole").post(parked).status == 202)
      _ = try await upstream.received(count: 2 * Self.bulkCount)
      relay.signal(SIGTERM)
      try await relay.ending()
      try damage("envelope", at: Int64(Self.bulkCount + 1))
      try await relay.start()

      try await relay.log(holds: "lane is blocked")
      let next = try await relay.device("hit").post(["path": "/next", "coalesce": "level"])
      #expect(next.status == 202)
      #expect(try next.json()["position"] as? Int == 2)
      for name in ["gap", "whole"] {
        let first = try await relay.device(name).post(["path": "/gap/1", "sequence": 1])
        #expect(first.status == 202, "\(first)")
        #expect(
          try await relay.device(name).end(of: id(first))["state"] as? String == "delivered")
      }
      let all = try await upstream.received(count: 2 * Self.bulkCount + 3)
      #expect(all.suffix(3).map(\.target) == ["/gap/1", "/gap/1", "/gap/2"])
      let status = try await relay.device("x").get("/status").json()
      let blocked = try #require((status["blockedLanes"] as? [[String: Any]])?.first)
      #expect((blocked["reason"] as? String)?.hasPrefix("quarantined:") == true)
      let damage = (status["store"] as? [String: Any])?["damage"] as? [String: Any]
      #expect(damage?["quarantined"] as? Int == 2)
      let lost = try #require(blocked["envelope"] as? String)
      let listed = try await relay.device("x").get("/v1/envelopes?client=gap").json()
      let shown = listed["envelopes"] as? [[String: Any]] ?? []
      #expect(shown.contains { $0["state"] as? String == "parked" }, "\(listed)")
      let resolved = try await relay.device("hit").request(
        "POST", "/v1/envelopes/\(lost)/resolve", headers: ["Content-Type": "application/json"],
        body: Device.json(["action": "discard"]))
      #expect(resolved.status == 200)
      let requeued = try await relay.device("hit").request(
        "POST", "/v1/envelopes/\(lost)/requeue")
      #expect(requeued.status == 409, "\(requeued)")
      let ended = try await relay.device("x").get("/v1/envelopes?client=hit&state=failed").json()
      #expect((ended["envelopes"] as? [[String: Any]])?.count == 1, "\(ended)")
      let delivered = try await relay.device("hit").end(of: id(next))
      #expect(delivered["state"] as? String == "delivered")
    }
  }
}
