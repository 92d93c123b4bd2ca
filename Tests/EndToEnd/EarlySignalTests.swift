import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("Signals in the first moments of a start", .serialized, .ofNoStore)
  struct EarlySignals {
    /// Beside the test program, where SwiftPM puts it.
    private static let shim: String = {
      let test =
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
      return (test as NSString).deletingLastPathComponent + "/libSignalShim.so"
    }()

    /// A relay that is sent a signal once its libraries are there, and before its `main`.
    private func relay(_ upstream: TestUpstream, sent signal: Int32) throws -> Relay {
      try Relay(
        upstreams: ["default": Relay.quick(upstream)],
        environment: ["LD_PRELOAD": Self.shim, "WAYSTATION_EARLY_SIGNAL": "\(signal)"])
    }

    @Test("a SIGHUP has it read its configuration once more, and it runs")
    func hangUp() async throws {
      let upstream = try TestUpstream()
      let relay = try relay(upstream, sent: SIGHUP)
      try await relay.start()
      try await relay.log(holds: "configuration read again: nothing has changed")
      try await relay.device().post(["path": "/1"]).require(202)
      try await upstream.received(count: 1)
      relay.signal(SIGTERM)
      #expect(try await relay.ending() == .exit(0))
    }

    @Test("a SIGTERM or SIGINT ends it as at any other time", arguments: [SIGTERM, SIGINT])
    func stop(signal: Int32) async throws {
      let relay = try relay(try TestUpstream(), sent: signal)
      try relay.begin()
      #expect(try await relay.ending() == .exit(0))
    }

    @Test(
      "a command that is not the relay is ended by it",
      arguments: [["version"], ["serve", "--help"]])
    func command(_ words: [String]) async throws {
      let process = try ChildProcess(
        Waystation.path, words,
        environment: ["LD_PRELOAD": Self.shim, "WAYSTATION_EARLY_SIGNAL": "\(SIGTERM)"])
      #expect(try await process.ending() == .signal(SIGTERM))
    }
  }
}
