import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("Under a service manager", .serialized)
  struct UnderServiceManager {
    @Test("the relay says when it is ready, lives, reads its configuration again, and stops")
    func notes() async throws {
      let notes = try NotifySocket()
      let upstream = try TestUpstream()
      let relay = try Relay(
        upstreams: ["default": Relay.quick(upstream)],
        environment: ["NOTIFY_SOCKET": notes.path, "WATCHDOG_USEC": "100000"])
      try await relay.start()
      let ready = try await notes.wait("readiness") { $0.hasPrefix("READY=1") }
      #expect(ready.contains("STATUS=listening on http://127.0.0.1:\(relay.port)"))
      try await notes.wait("two signs of life", count: 2) { $0 == "WATCHDOG=1" }
      relay.signal(SIGHUP)
      let reloading = try await notes.wait("a reload") { $0.hasPrefix("RELOADING=1") }
      #expect(reloading.contains("\nMONOTONIC_USEC="))
      try await notes.wait("readiness after it", count: 2) { $0.hasPrefix("READY=1") }
      try relay.configure(upstreams: ["default": ["url": "nonsense"]])
      relay.signal(SIGHUP)
      try await notes.wait("the refusal") { note in
        note.hasPrefix("READY=1")
          && note.contains("; the configuration was refused: upstreams.default.url: expected")
      }
      relay.signal(SIGTERM)
      try await notes.wait("its end") { $0.hasPrefix("STOPPING=1") }
      #expect(try await relay.ending() == .exit(0))
    }

    @Test("nobody who comes while it is restarted is refused, at an address or a Unix socket")
    func activation() async throws {
      let upstream = try TestUpstream()
      let web = try ListeningSocket(port: 0)
      let place = try TemporaryFolder(isForSockets: true)
      let ops = try ListeningSocket(path: place.path + "/ops")
      let listen: [any Sendable] = [
        "systemd:web", ["systemd": "ops", "for": "operators"] as [String: any Sendable],
      ]
      let folder = try configured(upstream, listen: listen)
      for round in 1...2 {
        // They ask before there is a relay, and their answers come once there is one.
        let early = try Connection(port: web.port)
        let request = Array("GET /healthz HTTP/1.1\r\nHost: relay\r\n\r\n".utf8)
        try early.write(request)
        let process = try handedOver([web, ops], named: "web:ops", folder)
        let lines = try await process.outputLines(count: 2)
        #expect(lines.first == "listening on http://127.0.0.1:\(web.port)")
        #expect(lines.last == "listening on unix:\(ops.path)")
        let answer = try await onThread { try early.readResponse(to: "GET") }
        #expect(answer.status == 200, "round \(round)")
        let shown = try await Waystation.run("health", "--server", "unix:\(ops.path)")
        #expect(shown.ending == .exit(0), "\(shown.errors)")
        early.close()
        process.signal(SIGTERM)
        #expect(try await process.ending() == .exit(0))
        #expect(FileManager.default.fileExists(atPath: ops.path))
      }
    }

    @Test("a socket that is not there, or that nobody names, is spoken of by its name")
    func names() async throws {
      let web = try ListeningSocket(port: 0)
      let folder = try configured(try TestUpstream(), listen: ["systemd:wbe"])
      let missing = try handedOver([web], named: "web", folder)
      #expect(try await missing.ending() == .exit(1))
      #expect(
        missing.errors.contains(
          "cannot listen on systemd:wbe: the service manager has handed over no socket of that"))
      let twice = try handedOver([web, web], named: "wbe:wbe", folder)
      #expect(try await twice.ending() == .exit(1))
      #expect(twice.errors.contains("there are several sockets of that name"))
      let more = try handedOver([web, web], named: "wbe:other", folder)
      _ = try await more.firstLine()
      try await more.errors(hold: "a socket that no listener names")
      more.signal(SIGTERM)
      #expect(try await more.ending() == .exit(0))
    }

    private func configured(
      _ upstream: TestUpstream, listen: [any Sendable]
    ) throws -> TemporaryFolder {
      let folder = try TemporaryFolder()
      let config: [String: any Sendable] = [
        "listen": listen, "data": folder.path + "/data", "access": ["anonymous": "allow"],
        "upstreams": ["default": ["url": upstream.url]],
      ]
      try folder.write("config.json", String(decoding: Device.json(config), as: UTF8.self))
      return folder
    }

    /// Starts a relay as systemd would: with sockets from the third descriptor on.
    private func handedOver(
      _ sockets: [ListeningSocket], named names: String, _ folder: TemporaryFolder
    ) throws -> ChildProcess {
      // Only the shell knows the number that the relay will have.
      let script = "LISTEN_PID=$$ LISTEN_FDS=\(sockets.count) LISTEN_FDNAMES=\(names) exec \"$@\""
      return try ChildProcess(
        "sh",
        [
          "-c", script, "sh", Waystation.path, "serve", "--config", folder.path + "/config.json",
        ],
        descriptors: sockets.map(\.descriptor))
    }
  }
}
