import Foundation
import Glibc
import Testing

extension EndToEnd {
  /// A running relay whose data folder, or what is in it, is taken away.
  @Suite("A store whose files are gone", .serialized, .ofFiles)
  struct LostStore {
    /// What happens to the files.
    enum Loss: String, CaseIterable, Sendable {
      case deleted, logDeleted, replaced, folderDeleted, folderRenamed, mountedOver

      /// Whether bodies in files are gone as well.
      var takesBodies: Bool { self == .folderDeleted }

      static var possible: [Loss] { allCases.filter { $0 != .mountedOver || SmallDisk.isAllowed } }
    }

    private let upstream: TestUpstream
    private let relay: Relay
    private let data: String

    init() async throws {
      upstream = try TestUpstream()
      upstream.stop()
      relay = try await Relay.started(
        upstream, more: ["limits": ["spoolThresholdBytes": 2048] as [String: any Sendable]])
      data = relay.folder.path + "/data"
    }

    private static let large = String(repeating: "large ", count: 2000)

    /// Hands over three small envelopes and three whose bodies are in files, each kind in a lane.
    private func accept() async throws -> [String] {
      var ids: [String] = []
      for number in 0..<3 {
        for (lane, body) in [("small", "small"), ("large", Self.large)] {
          let answer = try await relay.device().post([
            "path": "/\(lane)/\(number)", "lane": lane, "body": body,
          ])
          #expect(answer.status == 202)
          ids.append(try #require(try answer.json()["id"] as? String))
        }
      }
      return ids
    }

    private func lose(_ loss: Loss) throws -> SmallDisk? {
      let database = data + "/waystation.sqlite3"
      switch loss {
      case .deleted: for end in ["", "-wal", "-shm"] { unlink(database + end) }
      case .logDeleted: unlink(database + "-wal")
      case .replaced:
        try FileManager.default.copyItem(atPath: database, toPath: database + ".older")
        try #require(rename(database + ".older", database) == 0)
      case .folderDeleted: try FileManager.default.removeItem(atPath: data)
      case .folderRenamed: try #require(rename(data, data + ".away") == 0)
      case .mountedOver: return try SmallDisk(at: data, megabytes: 4)
      }
      return nil
    }

    /// Whatever would be written into those files is refused, and everybody is told.
    private func isRefused(_ id: String) async throws {
      let device = relay.device()
      // The very first post after the loss, before anybody has asked how the relay is.
      let calls = [
        try await device.post(["path": "/lost", "body": "x"]),
        try await device.request("DELETE", "/v1/envelopes/\(id)"),
        try await device.request("POST", "/v1/upstreams/default/pause"),
        try await device.relay("POST", "/lost", body: Array(Self.large.utf8)),
      ]
      for answer in calls {
        #expect(answer.status == 503 && answer.problem == "store-unavailable", "\(answer)")
        #expect(answer["Retry-After"] != nil)
      }
      let ready = try await device.get("/readyz")
      let reason = try #require((try ready.json()["reasons"] as? [String])?.first)
      #expect(ready.status == 503 && reason.contains("waystation store rescue"), "\(reason)")
      #expect(try await device.get("/healthz").status == 200)
      let status = try await device.get("/status").json()
      #expect((status["store"] as? [String: Any])?["trouble"] as? String == reason)
      let metrics = try await device.get("/metrics")
      #expect(
        String(decoding: metrics.body, as: UTF8.self).contains("waystation_store_trouble 1\n"))
      try await relay.log(holds: "the store's files are not in their places")
    }

    private func rescue(to folder: String) async throws -> [String: Any] {
      let made = try await Waystation.run(
        "store", "rescue", "--to", folder, "--server", "http://127.0.0.1:\(relay.port)", "--json")
      #expect(made.ending == .exit(0), "\(made)")
      return try #require(OperatorCommands.json(made.output))
    }

    @Test(
      "nothing is acknowledged any more, and what was is rescued and delivered",
      arguments: Loss.possible)
    func rescued(loss: Loss) async throws {
      let ids = try await accept()
      let mounted = try lose(loss)
      defer { mounted?.unmount() }
      try await isRefused(ids[0])
      let folder = relay.folder.path + "/rescued"
      let report = try await rescue(to: folder)
      #expect(report["bodyFiles"] as? Int == (loss.takesBodies ? 0 : 3))
      #expect(report["missingBodyFiles"] as? Int == (loss.takesBodies ? 3 : 0))
      try await relay.kill()
      let check = try await Waystation.run("store", "check", "--data", folder)
      #expect(check.ending == .exit(loss.takesBodies ? 1 : 0), "\(check)")
      try upstream.start()
      let restored = try Relay(
        upstreams: ["default": Relay.quick(upstream)], more: ["data": folder])
      try await restored.start()
      let received = try await upstream.received(count: loss.takesBodies ? 3 : 6)
      for lane in loss.takesBodies ? ["small"] : ["small", "large"] {
        let own = received.filter { $0.target.hasPrefix("/\(lane)/") }
        #expect(own.map(\.target) == (0..<3).map { "/\(lane)/\($0)" })
        #expect(own.allSatisfy { $0.body == Array((lane == "small" ? lane : Self.large).utf8) })
      }
      restored.signal(SIGTERM)
      try await restored.ending()
      #expect(upstream.received.count == (loss.takesBodies ? 3 : 6), "nothing that was refused")
    }

    @Test("what was accepted goes on being delivered, and all is well once the folder is back")
    func back() async throws {
      let ids = try await accept()
      try #require(try lose(.folderRenamed) == nil)
      try await isRefused(ids[0])
      try upstream.start()
      let received = try await upstream.received(count: 6)
      #expect(received.count { $0.body == Array(Self.large.utf8) } == 3)
      try #require(rename(data + ".away", data) == 0)
      let device = relay.device()
      try await eventually("a relay that is ready again") {
        try await device.get("/readyz").status == 200 ? true : nil
      }
      #expect(try await device.post(["path": "/after", "body": "x"]).status == 202)
      #expect(try await upstream.received(count: 7).last?.target == "/after")
      let refused = try await device.request(
        "POST", "/v1/store/rescue", headers: ["Content-Type": "application/json"],
        body: Device.json(["to": relay.folder.path + "/rescued"]))
      #expect(refused.status == 409 && refused.problem == "store-in-place")
      #expect(!FileManager.default.fileExists(atPath: relay.folder.path + "/rescued"))
      relay.signal(SIGTERM)
      try await relay.ending()
      let check = try await Waystation.run("store", "check", "--data", data)
      #expect(check.ending == .exit(0), "\(check)")
    }

    @Test("a rescue names what it cannot do, and does not write over anything")
    func refusals() async throws {
      _ = try await accept()
      _ = try lose(.deleted)
      let server = "http://127.0.0.1:\(relay.port)"
      for folder in [data, "/proc/rescued"] {
        let made = try await Waystation.run(
          "store", "rescue", "--to", folder, "--server", server)
        #expect(made.ending == .exit(1) && made.errors.contains(folder), "\(made)")
      }
      let device = relay.device()
      for body in ["{}", #"{"to": "here"}"#, #"{"to": 1}"#, #"{"to": "/x", "and": 1}"#] {
        let answer = try await device.request(
          "POST", "/v1/store/rescue", headers: ["Content-Type": "application/json"],
          body: Array(body.utf8))
        #expect(answer.status == 422, "\(body): \(answer)")
      }
    }

    @Test("a file system that has gone read-only is said so, and gone on with once it is mended")
    func readOnly() async throws {
      let disk = try await FailingDisk(upstream: try TestUpstream())
      #expect(try await disk.post(bytes: 100).status == 202)
      disk.shim.fail(.unsyncedChanges, with: EROFS)
      for bytes in [100, 9000] {
        let answer = try await disk.post(bytes: bytes)
        #expect(answer.status == 503 && answer.problem == "store-unavailable", "\(answer)")
      }
      #expect(try await disk.relay.device("operator").get("/readyz").status == 503)
      disk.shim.heal()
      try await disk.isReady()
      #expect(try await disk.post(bytes: 9000).status == 202)
      try await disk.allArrived()
    }
  }
}
