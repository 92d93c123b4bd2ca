import Foundation
import Testing

extension EndToEnd {
  @Suite("Backups", .serialized)
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
  }
}
