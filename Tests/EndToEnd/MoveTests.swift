#if PostgreSQL
import Foundation
import Glibc
import Postgres
import PostgresTesting
import Testing

extension EndToEnd {
  @Suite(
    "Moving a store", .serialized, .ofFiles,
    .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed"))
  struct Moving {
    private let upstream: TestUpstream
    private let database: TestDatabase
    /// With its store in a folder.
    private let embedded: Relay
    /// With its store in the database.
    private let remote: Relay

    init() throws {
      upstream = try TestUpstream { request in
        switch request.target {
        case "/order": .answer(201, body: Array(#"{"id":"a7"}"#.utf8))
        case "/bad": .answer(422)
        default: .answer(200)
        }
      }
      database = try TestDatabase.fresh()
      let upstreams = ["default": Relay.quick(upstream)]
      embedded = try Relay(upstreams: upstreams)
      remote = try Relay(
        upstreams: upstreams, environment: ["WAYSTATION_POSTGRES_URL": database.url])
    }

    private var data: String { embedded.folder.path + "/data" }

    private func move(
      _ source: String, _ target: String
    ) async throws -> (ending: Ending, output: String, errors: String) {
      try await Waystation.run("store", "move", "--from", source, "--to", target)
    }

    private func stop(_ relay: Relay) async throws {
      relay.signal(SIGTERM)
      #expect(try await relay.ending() == .exit(0))
    }

    // MARK: - Content

    private func post(_ relay: Relay, _ envelope: [String: any Sendable]) async throws -> String {
      let answer = try await relay.device().post(envelope)
      #expect(answer.status == 202, "\(answer.text)")
      return try #require(answer.json()["id"] as? String)
    }

    private func ask(_ relay: Relay, _ target: String) async throws {
      #expect(try await relay.device().request("POST", target).status == 200, "\(target)")
    }

    private static let large = (0..<1_500_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }

    /// Fills a store with envelopes of all kinds.
    ///
    /// - Returns: Their ids.
    private func fill(_ relay: Relay) async throws -> [String] {
      let device = relay.device()
      var ids = [
        try await post(relay, ["path": "/order", "key": "order"]),
        try await post(relay, ["path": "/bad", "key": "bad"]),
      ]
      for id in ids { _ = try await device.end(of: id) }
      _ = try await device.request(
        "POST", "/v1/checkin", headers: ["Content-Type": "application/json"],
        body: Device.json(["client": device.name]))
      try await ask(relay, "/v1/upstreams/default/pause")
      try await ask(relay, "/v1/clients/\(device.name)/lanes/slow/pause")
      for number in 1...10 {
        ids.append(try await post(relay, ["path": "/a/\(number)", "key": "a-\(number)"]))
      }
      for number in [1, 2, 4] {
        ids.append(
          try await post(relay, ["path": "/n/\(number)", "lane": "n", "sequence": number]))
      }
      ids.append(try await post(relay, ["path": "/slow", "lane": "slow", "tag": "t"]))
      ids.append(try await post(relay, ["path": "/hold", "lane": "h", "hold": true]))
      for text in ["1", "2"] {
        ids.append(
          try await post(
            relay, ["path": "/state", "lane": "s", "coalesce": "s", "key": text, "body": text]))
      }
      ids.append(
        try await post(
          relay, ["path": "/of/{{response:order#/id}}", "references": true, "lane": "default"]))
      let posted = try await device.relay("PUT", "/large", body: Self.large)
      ids.append(try #require(try posted.json()["id"] as? String))
      return ids
    }

    /// What operators and devices see of these envelopes, and of what belongs to them.
    private func views(_ relay: Relay, _ ids: [String]) async throws -> [String] {
      let device = relay.device()
      let targets =
        [
          "/v1/envelopes?limit=100", "/v1/clients/\(device.name)", "/v1/audit",
          "/v1/envelopes?client=\(device.name)&tag=t", "/v1/envelopes?state=parked",
        ] + ids.flatMap { ["/v1/envelopes/\($0)", "/v1/envelopes/\($0)/response"] }
      var texts: [String] = []
      for target in targets {
        let answer = try await device.get(target)
        texts.append("\(target): \(answer.status) \(answer.text)")
      }
      return texts
    }

    /// Has everything delivered, and checks the order.
    private func deliver(_ ids: [String], by relay: Relay) async throws {
      let device = relay.device()
      let again = try await device.post(["path": "/a/3", "key": "a-3"]).json()
      #expect(again["result"] as? String == "duplicate")
      let old = try await device.post(["path": "/order", "key": "order"]).json()
      #expect(old["result"] as? String == "duplicate")
      let number = try await device.post(["path": "/n/2", "lane": "n", "sequence": 2]).json()
      #expect(number["result"] as? String == "duplicate")
      try await ask(relay, "/v1/upstreams/default/resume")
      try await ask(relay, "/v1/clients/\(device.name)/lanes/slow/resume")
      _ = try await post(relay, ["path": "/n/3", "lane": "n", "sequence": 3])
      _ = try await post(relay, ["path": "/last", "key": "last"])
      try await upstream.received("all of it") { requests in
        Set(["/last", "/n/4", "/slow", "/state"]).isSubset(of: requests.map(\.target))
      }
      let seen = upstream.received
      let lane = seen.map(\.target).filter { !$0.hasPrefix("/n/") }
      #expect(
        lane.filter { !["/slow", "/state"].contains($0) }
          == ["/order", "/bad"] + (1...10).map { "/a/\($0)" } + ["/of/a7", "/large", "/last"])
      #expect(
        seen.map(\.target).filter { $0.hasPrefix("/n/") } == (1...4).map { "/n/\($0)" })
      #expect(seen.first { $0.target == "/large" }?.body == Self.large)
      #expect(seen.first { $0.target == "/state" }?.message.text == "2")
      for (number, id) in zip(1...10, ids.dropFirst(2)) {
        let request = seen.first { $0.target == "/a/\(number)" }
        #expect(request?["Idempotency-Key"] == id)
      }
    }

    // MARK: - Tests

    @Test("all of it looks the same in the database, goes on there in its order, and comes back")
    func bothWays() async throws {
      try await embedded.start()
      let ids = try await fill(embedded)
      let listener = try await Listener(embedded)
      let place = try #require(try await listener.first("snapshot").id)
      let before = try await views(embedded, ids)
      try await stop(embedded)

      let moved = try await move(data, database.url)
      #expect(moved.ending == .exit(0), "\(moved)")
      #expect(moved.output.contains("20 envelopes, 18 of them wait"), "\(moved)")
      try embedded.begin()
      #expect(try await embedded.ending() == .exit(1))
      #expect(embedded.log.contains("it has been moved to postgresql://"))
      try await remote.start()
      #expect(try await views(remote, ids) == before)
      let goesOn = try await Listener(remote, lastID: place)
      try await goesOn.first("started")
      #expect(!goesOn.events.contains { $0.name == "snapshot" || $0.name == "forgotten" })
      try await stop(remote)

      let back = embedded.folder.path + "/back"
      let returned = try await move(database.url, back)
      #expect(returned.ending == .exit(0), "\(returned)")
      try remote.begin()
      #expect(try await remote.ending() == .exit(1))
      #expect(remote.log.contains("it has been moved to \(back)"))
      let check = try await Waystation.run("store", "check", "--data", back)
      #expect(check.ending == .exit(0), "\(check)")
      try embedded.configure(
        upstreams: ["default": Relay.quick(upstream)], more: ["data": back])
      try await embedded.start()
      #expect(try await views(embedded, ids) == before)
      try await deliver(ids, by: embedded)
    }

    @Test("what was moved into the database is delivered from there, in its order")
    func delivered() async throws {
      try await embedded.start()
      let ids = try await fill(embedded)
      try await stop(embedded)
      #expect(try await move(data, database.url).ending == .exit(0))
      try await remote.start()
      try await deliver(ids, by: remote)
    }

    @Test("a move that is killed, again and again, begins anew, and ends with everything")
    func killed() async throws {
      try await embedded.start()
      let device = embedded.device()
      try await ask(embedded, "/v1/upstreams/default/pause")
      for round in 0..<40 {
        let batch: [[String: any Sendable]] = (0..<500).map {
          ["path": "/\(round * 500 + $0)", "key": "k-\(round * 500 + $0)"]
        }
        #expect(try await device.post(batch: batch).status == 202)
      }
      try await stop(embedded)
      for table in ["store_move", "envelope", "line"] {
        let process = try ChildProcess(
          Waystation.path, ["store", "move", "--from", data, "--to", database.url])
        try await rows(in: table)
        process.signal(SIGKILL)
        try await process.ending()
      }
      try remote.begin()
      #expect(try await remote.ending() == .exit(1))
      #expect(remote.log.contains("is not finished. Run 'waystation store move' again"))
      let moved = try await move(data, database.url)
      #expect(moved.ending == .exit(0), "\(moved)")
      try await remote.start()
      let client = try await remote.device().get("/v1/clients/\(device.name)").json()
      #expect(client["waiting"] as? Int == 20_000)
      let again = try await remote.device().post(["path": "/7777", "key": "k-7777"]).json()
      #expect(again["result"] as? String == "duplicate")
    }

    /// Waits until a table of the database has a row.
    private func rows(in table: String) async throws {
      let database = database
      try await onThread {
        var connection = try database.connect()
        let end = Date().addingTimeInterval(60)
        while Date() < end {
          let isThere = try connection.run([
            PostgresCommand("SELECT to_regclass($1) IS NOT NULL", [.text(table)])
          ])[0].bool(0, 0)
          if isThere {
            let has = try connection.run([
              PostgresCommand(sql: "SELECT EXISTS (SELECT 1 FROM \(table))")
            ])
            if has[0].bool(0, 0) { return }
          }
        }
        throw StartFailure(description: "\(table) stays empty")
      }
    }

    @Test("a database whose commits wait for a standby that is away is not waited for")
    func standstill() async throws {
      try await embedded.start()
      try await stop(embedded)
      // The tests' server names a standby that does not exist.
      let url = database.url + "%20-csynchronous_commit%3Don"
      let refused = try await move(data, url)
      #expect(refused.ending == .exit(1))
      #expect(
        refused.errors.contains("wait for a standby of synchronous_standby_names"), "\(refused)")
      let config = embedded.folder.path + "/away.json"
      let content: [String: any Sendable] = [
        "upstreams": ["default": ["url": "http://127.0.0.1:1"]],
        "store": ["postgres": ["url": url]],
      ]
      try Data(Device.json(content)).write(to: URL(fileURLWithPath: config))
      let trial = try await Waystation.run("check", "--config", config, "--try-store")
      #expect(trial.ending == .exit(1) && trial.errors.contains("wait for a standby"), "\(trial)")
    }

    @Test("a store in use is not moved, nor anything into a store that is in use or not empty")
    func refusals() async throws {
      try await embedded.start()
      let inUse = try await move(data, database.url)
      #expect(inUse.ending == .exit(1))
      #expect(
        inUse.errors.contains("it is in use by process \(embedded.processNumber)"), "\(inUse)")
      try await stop(embedded)
      try await remote.start()
      let target = try await move(data, database.url)
      #expect(target.ending == .exit(1))
      #expect(target.errors.contains("a relay has it: waystation at 127.0.0.1"), "\(target)")
      let source = try await move(database.url, embedded.folder.path + "/new")
      #expect(source.ending == .exit(1) && source.errors.contains("a relay has it"), "\(source)")
      #expect(!FileManager.default.fileExists(atPath: embedded.folder.path + "/new"))
      try await stop(remote)
      let full = try await move(data, database.url)
      #expect(full.ending == .exit(1))
      #expect(full.errors.contains("it is not empty: there are rows in upstream"), "\(full)")
      let folder = try await move(database.url, data)
      #expect(folder.ending == .exit(1) && folder.errors.contains("it is not empty"), "\(folder)")
      let none = try await move(embedded.folder.path + "/none", database.url)
      #expect(none.ending == .exit(1) && none.errors.contains("there is no store"), "\(none)")
      let empty = try TestDatabase.fresh()
      let nothing = try await move(empty.url, embedded.folder.path + "/new")
      #expect(nothing.ending == .exit(1), "\(nothing)")
      #expect(nothing.errors.contains("there is no store in it"), "\(nothing)")
      #expect(!FileManager.default.fileExists(atPath: embedded.folder.path + "/new"))
      // Nor are tables made in it, which would say that there was one.
      let reopened = try await Waystation.run("store", "reopen", "--at", empty.url)
      #expect(reopened.ending == .exit(1), "\(reopened)")
      #expect(reopened.errors.contains("there is no store in it"), "\(reopened)")
      let again = try await move(empty.url, data)
      #expect(again.errors.contains("there is no store in it"), "\(again)")
      try await embedded.start()
    }

    @Test("a place may be the configuration of a relay, also for the password of its database")
    func byConfiguration() async throws {
      try await embedded.start()
      try await stop(embedded)
      let upstreams: [String: any Sendable] = ["default": Relay.quick(upstream)]
      let folder = embedded.folder
      try folder.write("password", "not asked for\n")
      let postgres = ["url": database.url, "passwordFile": folder.path + "/password"]
      for (name, place) in [
        "folder.json": ["data": data, "upstreams": upstreams] as [String: any Sendable],
        "database.json": ["store": ["postgres": postgres], "upstreams": upstreams],
      ] {
        try folder.write(name, String(decoding: Device.json(place), as: UTF8.self))
      }
      let moved = try await move(folder.path + "/folder.json", folder.path + "/database.json")
      #expect(moved.ending == .exit(0) && moved.output.contains("0 envelopes"), "\(moved)")
      let same = try await move(data, folder.path + "/other")
      #expect(same.ending == .exit(1) && same.errors.contains("both are folders"), "\(same)")
      try await remote.start()
    }

    @Test("what was moved is reopened on purpose, in a folder and in a database")
    func reopened() async throws {
      try await embedded.start()
      try await stop(embedded)
      #expect(try await move(data, database.url).ending == .exit(0))
      let folder = try await Waystation.run("store", "reopen", "--at", data)
      #expect(folder.ending == .exit(0) && folder.output.contains("postgresql://"), "\(folder)")
      try await embedded.start()
      let back = embedded.folder.path + "/back"
      #expect(try await move(database.url, back).ending == .exit(0))
      let reopened = try await Waystation.run("store", "reopen", "--at", database.url)
      #expect(reopened.ending == .exit(0) && reopened.output.contains(back), "\(reopened)")
      try await remote.start()
      let twice = try await Waystation.run("store", "reopen", "--at", back)
      #expect(twice.ending == .exit(1) && twice.errors.contains("was not moved away"), "\(twice)")
    }
  }
}
#endif
