import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("Damaged stores", .serialized, .ofFiles)
  struct DamagedStores {
    private let upstream: TestUpstream
    private let relay: Relay

    init() async throws {
      upstream = try TestUpstream()
      relay = try Relay(upstreams: ["default": Relay.quick(upstream)])
    }

    private var data: String { relay.folder.path + "/data" }
    private var database: String { data + "/waystation.sqlite3" }

    private func stop() async throws {
      relay.signal(SIGTERM)
      try await relay.ending()
    }

    /// Zeroes pages in which a text stands, behind the first so many of them.
    private func damage(_ text: String, pages count: Int = 1, behind first: Int = 0) throws {
      let path = URL(fileURLWithPath: database)
      var bytes = try Data(contentsOf: path)
      var from = bytes.startIndex
      for index in 0..<first + count {
        let place = try #require(bytes.range(of: Data(text.utf8), in: from..<bytes.endIndex))
        let page = place.lowerBound / 8192 * 8192
        if index >= first { bytes.replaceSubrange(page..<page + 8192, with: Data(count: 8192)) }
        from = page + 8192
      }
      try bytes.write(to: path)
    }

    private func id(_ answer: WireResponse) throws -> String {
      try #require(try answer.json()["id"] as? String)
    }

    private func blockedLanes() async throws -> [[String: Any]] {
      let status = try await relay.device().get("/status").json()
      return status["blockedLanes"] as? [[String: Any]] ?? []
    }

    /// Three envelopes of a device whose first body will be damaged, and three of another one.
    private func accepted(_ body: String) async throws -> [String] {
      upstream.stop()
      try await relay.start()
      var ids: [String] = []
      for name in ["hit", "sound"] {
        for index in 0..<3 {
          let text = name == "hit" && index == 0 ? body : "small"
          let envelope = ["path": "/\(name)/\(index)", "body": text]
          ids.append(try id(await relay.device(name).post(envelope)))
        }
      }
      try await stop()
      try upstream.start()
      return ids
    }

    @Test("an envelope whose page is damaged blocks its lane alone, until it is discarded")
    func quarantined() async throws {
      let ids = try await accepted(String(repeating: "the body that is hit ", count: 5000))
      // Its beginning lies on the page that holds the others as well.
      try damage("the body that is hit", pages: 3, behind: 1)
      try await relay.start()
      let received = try await upstream.received(count: 3)
      #expect(received.map(\.target) == ["/sound/0", "/sound/1", "/sound/2"])
      let device = relay.device("hit")
      let shown = try await device.get("/v1/envelopes/\(ids[0])?wait=20").json()
      #expect(shown["state"] as? String == "blocked", "\(shown)")
      #expect((shown["reason"] as? String)?.hasPrefix("quarantined") == true)
      #expect(try await blockedLanes().map { $0["envelope"] as? String } == [ids[0]])
      let store = try await device.get("/status").json()["store"] as? [String: Any]
      let damage = try #require(store?["damage"] as? [String: Any])
      #expect(damage["quarantined"] as? Int == 1)
      let ready = try await device.get("/readyz")
      let warnings = try ready.json()["warnings"] as? [String]
      #expect(ready.status == 200 && warnings?.count == 1)
      let list = try await device.get("/v1/envelopes?client=hit").json()
      #expect((list["envelopes"] as? [[String: Any]])?.count == 3)
      try await stop()
      try await relay.start()
      let resolved = try await relay.device("hit").request(
        "POST", "/v1/envelopes/\(ids[0])/resolve", headers: ["Content-Type": "application/json"],
        body: Device.json(["action": "discard"]))
      #expect(resolved.status == 200)
      let left = try await relay.device("hit").get("/v1/envelopes/\(ids[0])").json()
      #expect(left["state"] as? String == "failed" && left["client"] as? String == "hit")
      let all = try await upstream.received(count: 5)
      #expect(all.suffix(2).map(\.target) == ["/hit/1", "/hit/2"])
    }

    /// Flips one bit of a text's fifth byte, wherever in a file the text stands.
    private func flip(_ text: String, in path: String) throws {
      var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
      var from = bytes.startIndex
      while let place = bytes.range(of: Data(text.utf8), in: from..<bytes.endIndex) {
        bytes[place.lowerBound + 4] ^= 1
        from = place.upperBound
      }
      try #require(from > bytes.startIndex)
      try bytes.write(to: URL(fileURLWithPath: path))
    }

    @Test(
      "a bit that has flipped in a path or a body quarantines the envelope, and is sent to nobody",
      arguments: ["path", "body", "file"])
    func flipped(_ place: String) async throws {
      let body = "the body that is flipped"
      let ids = try await accepted(
        place == "file" ? body + String(repeating: "x", count: 600_000) : body)
      switch place {
      case "path": try flip("/hit/0", in: database)
      case "body": try flip(body, in: database)
      default:
        let name = try FileManager.default.contentsOfDirectory(atPath: data + "/bodies")
        try flip(body, in: "\(data)/bodies/\(try #require(name.first))")
      }
      try await relay.start()
      let received = try await upstream.received(count: 3)
      #expect(received.map(\.target) == ["/sound/0", "/sound/1", "/sound/2"])
      let device = relay.device("hit")
      let shown = try await device.get("/v1/envelopes/\(ids[0])?wait=20").json()
      #expect(shown["state"] as? String == "blocked", "\(shown)")
      #expect((shown["reason"] as? String)?.hasPrefix("quarantined") == true)
      let steps: [(action: String, state: String, receivedCount: Int)] = [
        ("retry", "blocked", 3), ("discard", "failed", 5),
      ]
      for step in steps {
        let resolved = try await device.request(
          "POST", "/v1/envelopes/\(ids[0])/resolve",
          headers: ["Content-Type": "application/json"],
          body: Device.json(["action": step.action]))
        #expect(resolved.status == 200)
        try await eventually("\(step.state) after \(step.action)") {
          let left = try await device.get("/v1/envelopes/\(ids[0])?wait=20").json()
          return left["state"] as? String == step.state ? true : nil
        }
        let all = try await upstream.received(count: step.receivedCount)
        #expect(all.count == step.receivedCount)
      }
      let last = try await upstream.received(count: 5)
      #expect(last.suffix(2).map(\.target) == ["/hit/1", "/hit/2"])
    }

    @Test("a body whose file has changed since its acceptance is sent to nobody, without a restart")
    func changedBody() async throws {
      try await relay.start()
      let device = relay.device("hit")
      let body = "the body that is flipped" + String(repeating: "x", count: 600_000)
      let posted = try await device.post(["path": "/hit/0", "hold": true, "body": body])
      let id = try #require(posted.json()["id"] as? String)
      let name = try FileManager.default.contentsOfDirectory(atPath: data + "/bodies")
      try flip("the body that is flipped", in: "\(data)/bodies/\(try #require(name.first))")
      #expect(try await device.request("POST", "/v1/envelopes/\(id)/run").status == 200)
      let shown = try await device.get("/v1/envelopes/\(id)?wait=20").json()
      #expect(shown["state"] as? String == "blocked", "\(shown)")
      #expect((shown["reason"] as? String)?.hasPrefix("quarantined") == true)
      #expect(upstream.received.isEmpty)
    }

    @Test("a body's file that is missing sets its envelope apart until it is put back")
    func missingBody() async throws {
      let ids = try await accepted(String(repeating: "x", count: 600_000))
      let bodies = data + "/bodies/"
      let name = try #require(try FileManager.default.contentsOfDirectory(atPath: bodies).first)
      try FileManager.default.moveItem(atPath: bodies + name, toPath: relay.folder.path + "/kept")
      try await relay.start()
      _ = try await upstream.received(count: 3)
      let device = relay.device("hit")
      let shown = try await device.get("/v1/envelopes/\(ids[0])?wait=20").json()
      #expect(shown["state"] as? String == "blocked")
      try FileManager.default.moveItem(atPath: relay.folder.path + "/kept", toPath: bodies + name)
      let resolved = try await device.request(
        "POST", "/v1/envelopes/\(ids[0])/resolve", headers: ["Content-Type": "application/json"],
        body: Device.json(["action": "retry"]))
      #expect(resolved.status == 200)
      let all = try await upstream.received(count: 6)
      #expect(all.suffix(3).map(\.target) == ["/hit/0", "/hit/1", "/hit/2"])
      #expect(all[3].body.count == 600_000)
      let store = try await device.get("/status").json()["store"] as? [String: Any]
      #expect((store?["damage"] as? [String: Any])?["quarantined"] as? Int ?? 0 == 0)
    }

    @Test("a store whose first page is gone is refused, salvaged whole, and goes on where it was")
    func salvaged() async throws {
      let ids = try await accepted("small as well")
      let whole = try #require(FileManager.default.contents(atPath: database))
      try damage("CREATE TABLE")
      let refused = try await Waystation.run(
        "serve", "--data", data, "--listen", "127.0.0.1:0", "--upstream", "default=\(upstream.url)")
      #expect(refused.ending == .exit(1))
      #expect(refused.errors.contains("waystation store check"), "\(refused.errors)")
      let check = try await Waystation.run("store", "check", "--data", data, "--json")
      #expect(check.ending == .exit(1) && check.output.contains("\"sound\":false"))
      let new = relay.folder.path + "/new"
      let salvage = try await Waystation.run("store", "salvage", "--data", data, "--to", new)
      #expect(salvage.ending == .exit(0), "\(salvage.errors)")
      #expect(salvage.output.contains("6 envelopes, 6 of them wait"), "\(salvage.output)")
      let sound = try await Waystation.run("store", "check", "--data", new)
      #expect(sound.ending == .exit(0), "\(sound.output)")
      #expect(FileManager.default.contents(atPath: database) != whole)
      try relay.configure(upstreams: ["default": Relay.quick(upstream)], more: ["data": new])
      try await relay.start()
      let received = try await upstream.received(count: 6)
      for name in ["hit", "sound"] {
        #expect(
          received.map(\.target).filter { $0.hasPrefix("/\(name)") }
            == (0..<3).map { "/\(name)/\($0)" })
      }
      #expect(try await relay.device().get("/v1/envelopes/\(ids[5])").status == 200)
    }

    @Test("a damaged store is set aside when that is asked for, and /status says where it is")
    func setAside() async throws {
      _ = try await accepted("small as well")
      try damage("SQLite format 3")
      let process = try ChildProcess(
        Waystation.path,
        [
          "serve", "--data", data, "--listen", "127.0.0.1:0", "--upstream",
          "default=\(upstream.url)", "--set-aside-damaged", "--allow-anonymous",
        ], environment: ["WAYSTATION_HOSTS": "relay"])
      let line = try await process.firstLine()
      let port = try #require(UInt16(line.split(separator: ":").last ?? ""))
      let store = try await Device("d", port: port).get("/status").json()["store"]
      let folder = try #require((store as? [String: Any])?["setAside"] as? String)
      #expect(folder.contains("/damaged-") && process.errors.contains("set aside"))
      #expect(FileManager.default.fileExists(atPath: folder + "/waystation.sqlite3"))
      process.signal(SIGTERM)
      #expect(try await process.ending() == .exit(0))
    }
  }
}
