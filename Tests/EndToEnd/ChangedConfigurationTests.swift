import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("With another configuration", .serialized)
  struct ChangedConfiguration {
    @Test("an upstream that is taken out keeps its backlog, and delivers it once it is put back")
    func removedUpstream() async throws {
      let kept = try TestUpstream()
      let removed = try TestUpstream()
      removed.stop()
      let both = ["kept": Relay.quick(kept), "removed": Relay.quick(removed)]
      let relay = try Relay(upstreams: both)
      try await relay.start()
      var ids: [String] = []
      for index in 0..<3 {
        let answer = try await relay.device().post(["path": "/\(index)", "upstream": "removed"])
        ids.append(try #require(answer.json()["id"] as? String))
      }
      relay.signal(SIGTERM)
      #expect(try await relay.ending() == .exit(0))

      try relay.configure(upstreams: ["kept": Relay.quick(kept)])
      try removed.start()
      try await relay.start()
      let device = relay.device("another")
      let refused = try await device.post(["path": "/", "upstream": "removed"])
      #expect(refused.problem == "unknown-upstream")
      #expect(
        try await device.relay("GET", "/x", upstream: "kept", headers: ["Prefer": "wait=20"])
          .status == 200)
      let shown = try #require(
        try await device.get("/status").json()["upstreams"] as? [[String: Any]])
      let gone = try #require(shown.first { $0["name"] as? String == "removed" })
      #expect(gone["configured"] as? Bool == false)
      #expect(gone["waiting"] as? Int == 3)
      #expect(removed.received.isEmpty)
      relay.signal(SIGTERM)
      #expect(try await relay.ending() == .exit(0))

      try relay.configure(upstreams: both)
      try await relay.start()
      for id in ids {
        #expect(try await relay.device().end(of: id)["state"] as? String == "delivered")
      }
      #expect(removed.received.map(\.target) == ["/0", "/1", "/2"])
    }

    @Test("it listens on several addresses, IPv6 among them, and names each")
    func addresses() async throws {
      let folder = try TemporaryFolder()
      let process = try ChildProcess(
        Waystation.path,
        [
          "serve", "--listen", "[::1]:0", "--listen", "127.0.0.1:0", "--data",
          folder.path + "/data", "--upstream", "default=http://127.0.0.1:1",
        ])
      let first = try await process.firstLine()
      if first.isEmpty, process.errors.contains("[::1]") { return }  // A machine without IPv6.
      #expect(first.hasPrefix("listening on http://[::1]:"))
      try await process.output(holds: "listening on http://127.0.0.1:")
      for line in process.output.split(separator: "\n") {
        let url = String(line.dropFirst("listening on ".count))
        #expect(try await Waystation.run("health", "--server", url).ending == .exit(0), "\(url)")
      }
      process.signal(SIGTERM)
      #expect(try await process.ending() == .exit(0))
    }
  }
}
