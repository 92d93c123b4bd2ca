import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("Backups", .serialized, .ofFiles)
  struct Backups {
    @Test("a copy that was taken beside a busy relay is restored, and delivers all that it holds")
    func restoring() async throws {
      let upstream = try TestUpstream()
      upstream.stop()
      let relay = try await Relay.started(
        upstream, more: ["limits": ["spoolThresholdBytes": 2048] as [String: any Sendable]])
      let device = relay.device("c-1")
      let large = String(repeating: "x", count: 100_000)
      for number in 1...20 {
        _ = try await device.post(["path": "/before/\(number)", "body": large])
      }
      let busy = Task {
        for number in 1...200 {
          let answer = try await relay.device("c-2").post([
            "path": "/meanwhile/\(number)", "body": number % 2 == 0 ? large : "small",
          ])
          #expect(answer.status == 202)
        }
      }
      let copy = relay.folder.path + "/copy"
      let made = try await Waystation.run(
        "store", "backup", "--data", relay.folder.path + "/data", "--to", copy, "--json")
      try await busy.value
      #expect(made.ending == .exit(0), "\(made)")
      let report = try #require(OperatorCommands.json(made.output))
      #expect(report["inUse"] as? Bool == true && report["sound"] as? Bool == true)
      #expect(report["bodyFiles"] as? Int ?? 0 >= 20)
      try await relay.kill()
      try upstream.start()
      try await restore(copy, count: report["waiting"] as? Int ?? 0, upstream)
    }

    private func restore(_ copy: String, count: Int, _ upstream: TestUpstream) async throws {
      let restored = try Relay(
        upstreams: ["default": Relay.quick(upstream)], more: ["data": copy])
      try await restored.start()
      let received = try await upstream.received(count: count)
      let first = received.filter { $0.target.hasPrefix("/before/") }
      #expect(first.map(\.target) == (1...20).map { "/before/\($0)" })
      #expect(first.allSatisfy { $0.body.count == 100_000 })
      let others = received.filter { $0.target.hasPrefix("/meanwhile/") }.map(\.target)
      #expect(others == (0..<others.count).map { "/meanwhile/\($0 + 1)" }, "a prefix, in order")
    }

    @Test("a store is not copied over anything, and nothing is made where there is none")
    func refusals() async throws {
      let folder = try TemporaryFolder()
      try folder.write("there", "x")
      let none = try await Waystation.run(
        "store", "backup", "--data", folder.path, "--to", folder.path + "/copy")
      #expect(none.ending == .exit(1) && none.errors.contains("there is no store"), "\(none)")
      #expect(!FileManager.default.fileExists(atPath: folder.path + "/copy"))
      let relay = try await Relay.started(try TestUpstream())
      let full = try await Waystation.run(
        "store", "backup", "--data", relay.folder.path + "/data", "--to", folder.path)
      #expect(full.ending == .exit(1) && full.errors.contains("not empty"), "\(full)")
    }

    @Test(
      "what is left of a store is not taken for a copy that was cut off", arguments: [true, false])
    func remains(isBegun: Bool) async throws {
      let (relay, body) = try await stopped()
      let data = relay.folder.path + "/data"
      let remains = relay.folder.path + "/remains"
      try FileManager.default.copyItem(atPath: data, toPath: remains)
      let kept = isBegun ? ["begun", "bodies", "lock"] : ["bodies", "lock"]
      for name in try #require(names(in: remains)) where !kept.contains(name) {
        try FileManager.default.removeItem(atPath: "\(remains)/\(name)")
      }
      let made = try await Waystation.run("store", "backup", "--data", data, "--to", remains)
      #expect(made.ending == .exit(1) && made.errors.contains("not empty"), "\(made)")
      #expect(names(in: remains) == kept)
      #expect(names(in: remains + "/bodies") == [(body as NSString).lastPathComponent])
    }

    /// What a complete copy consists of.
    private static let whole = ["begun", "bodies", "lock", "waystation.sqlite3"]

    /// The names in a folder, sorted; nil if it is not there.
    private func names(in folder: String) -> [String]? {
      try? FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    }

    /// A relay that has stopped, with one body in a file of its own.
    private func stopped() async throws -> (relay: Relay, body: String) {
      let upstream = try TestUpstream()
      upstream.stop()
      let relay = try await Relay.started(
        upstream, more: ["limits": ["spoolThresholdBytes": 2048] as [String: any Sendable]])
      _ = try await relay.device("c-1").post([
        "path": "/large", "body": String(repeating: "x", count: 100_000),
      ])
      relay.signal(SIGTERM)
      try await relay.ending()
      let bodies = relay.folder.path + "/data/bodies"
      let name = try #require(names(in: bodies)?.first)
      return (relay, "\(bodies)/\(name)")
    }

    /// Starts a copy, and sends it a signal while it reads a body.
    private func interrupted(
      _ relay: Relay, _ body: String, to copy: String, by signal: Int32
    ) async throws -> Ending {
      let kept = relay.folder.path + "/kept"
      try FileManager.default.moveItem(atPath: body, toPath: kept)
      try #require(mkfifo(body, 0o600) == 0)
      let process = try ChildProcess(
        Waystation.path,
        ["store", "backup", "--data", relay.folder.path + "/data", "--to", copy])
      // Open once the command has opened its other end.
      let end = try await onThread { Glibc.open(body, O_WRONLY | O_CLOEXEC) }
      try #require(end >= 0)
      try #require(write(end, "x", 1) == 1)
      process.signal(signal)
      close(end)
      let ending = try await process.ending()
      try FileManager.default.removeItem(atPath: body)
      try FileManager.default.moveItem(atPath: kept, toPath: body)
      return ending
    }

    @Test("an interrupted copy leaves nothing behind", arguments: [SIGTERM, SIGINT])
    func interruption(signal: Int32) async throws {
      let (relay, body) = try await stopped()
      let copy = relay.folder.path + "/copy"
      #expect(try await interrupted(relay, body, to: copy, by: signal) == .signal(signal))
      #expect(names(in: copy) == nil)
      // A folder that was there stays, and is empty again.
      try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
      #expect(try await interrupted(relay, body, to: copy, by: signal) == .signal(signal))
      #expect(names(in: copy) == [])
    }

    @Test("a copy takes the place of one that was killed, and holds nothing else")
    func afterKill() async throws {
      let (relay, body) = try await stopped()
      let copy = relay.folder.path + "/copy"
      #expect(try await interrupted(relay, body, to: copy, by: SIGKILL) == .signal(SIGKILL))
      #expect(names(in: copy) == ["bodies", "lock", "waystation.sqlite3.part"])
      try "x".write(toFile: copy + "/bodies/stranger", atomically: true, encoding: .utf8)
      let data = relay.folder.path + "/data"
      let made = try await Waystation.run("store", "backup", "--data", data, "--to", copy)
      #expect(made.ending == .exit(0) && made.output.contains("1 body in a file"), "\(made)")
      #expect(names(in: copy) == Self.whole)
      #expect(names(in: copy + "/bodies") == [(body as NSString).lastPathComponent])
      let again = try await Waystation.run("store", "backup", "--data", data, "--to", copy)
      #expect(again.ending == .exit(1) && again.errors.contains("not empty"), "\(again)")
    }

    @Test("a copy for which there is no room leaves nothing behind")
    func noRoom() async throws {
      let (relay, _) = try await stopped()
      let copy = relay.folder.path + "/copy"
      let shim = try DiskShim(watching: copy)
      shim.fail(.write, with: ENOSPC, ofPath: "waystation.sqlite3.part")
      let made = try await Waystation.run(
        "store", "backup", "--data", relay.folder.path + "/data", "--to", copy,
        environment: shim.environment(isRecorded: false))
      #expect(made.ending == .exit(1) && made.errors.contains("full"), "\(made)")
      #expect(shim.injectedCount > 0)
      #expect(names(in: copy) == nil)
    }
  }
}
