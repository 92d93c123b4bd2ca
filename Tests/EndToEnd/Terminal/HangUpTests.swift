import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("SIGHUP for the commands", .serialized)
  struct HangUps {
    @Test("a command that listens goes on at a SIGHUP, which is meant for the relay")
    func events() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      let process = try ChildProcess(
        Waystation.path, ["events", "--follow", "--json"], environment: relay.address)
      try await process.output(holds: "snapshot")
      process.signal(SIGHUP)
      _ = try await relay.device().post(["path": "/a"])
      try await process.output(holds: "\"event\":\"delivered\"")
      process.signal(SIGTERM)
      #expect(try await process.ending() == .signal(SIGTERM))
    }

    @Test("a sink goes on at a SIGHUP, and stops at a SIGTERM as always")
    func sink() async throws {
      let process = try ChildProcess(Waystation.path, ["sink", "--listen", "127.0.0.1:0"])
      let line = try await process.firstLine()
      let port = try #require(line.split(separator: ":").last.flatMap { UInt16($0) })
      process.signal(SIGHUP)
      #expect(try await Device("d", port: port).get("/x").status == 200)
      process.signal(SIGTERM)
      #expect(try await process.ending() == .exit(0))
    }

    @Test("in a terminal a command goes on at a SIGHUP, and ends with the terminal")
    func terminal() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      let follow = "echo pid:$$:; exec '\(Waystation.path)' events --follow --json"
      let window = try ChildProcess(
        "script", ["--quiet", "--flush", "--command", follow, "/dev/null"],
        environment: relay.address.merging(["SHELL": "/bin/sh"]) { own, _ in own })
      try await window.output(holds: "snapshot")
      let number = try #require(
        window.output.components(separatedBy: "pid:").last?.split(separator: ":").first
          .flatMap { pid_t($0) })
      Glibc.kill(number, SIGHUP)
      _ = try await relay.device().post(["path": "/a"])
      try await window.output(holds: "\"event\":\"delivered\"")
      #expect(upstream.received.count == 1 && Self.isRunning(number))
      window.signal(SIGKILL)
      try await eventually("an end with the terminal") { Self.isRunning(number) ? nil : true }
    }

    /// Whether a process is there, and has not ended.
    private static func isRunning(_ number: pid_t) -> Bool {
      let text = try? String(contentsOfFile: "/proc/\(number)/stat", encoding: .utf8)
      guard let state = text?.components(separatedBy: ") ").last?.first else { return false }
      return state != "Z" && state != "X"
    }
  }
}
