import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("Several listeners", .serialized, .ofNoStore)
  struct Listeners {
    @Test("each has the routes of those it is for, and others' are not there")
    func routes() async throws {
      let upstream = try TestUpstream()
      let relay = try Relay(
        upstreams: ["default": Relay.quick(upstream)],
        listen: [
          ["address": "127.0.0.1:0", "for": "devices"],
          ["address": "127.0.0.1:0", "for": "operators"],
          "127.0.0.1:0",
        ] as [any Sendable])
      try await relay.start()
      let (devices, operators, all) = (
        Device("device-1", port: relay.port(of: 0)), Device("device-1", port: relay.port(of: 1)),
        Device("device-1", port: relay.port(of: 2))
      )
      let posted = try await devices.post(["path": "/"])
      #expect(posted.status == 202)
      let id = try #require(posted.json()["id"] as? String)
      for device in [devices, operators, all] {
        for target in ["/healthz", "/readyz", "/v1/envelopes/\(id)", "/v1/clients/device-1"] {
          #expect(try await device.get(target).status == 200, "\(target)")
        }
      }
      for (method, target) in [
        ("GET", "/status"), ("GET", "/metrics"), ("POST", "/v1/upstreams/default/pause"),
        ("POST", "/v1/upstreams/default/resume"), ("POST", "/v1/upstreams/default/probe"),
        ("POST", "/v1/clients/device-1/pause"), ("POST", "/v1/clients/device-1/lanes/a/pause"),
      ] {
        let hidden = try await devices.request(method, target)
        #expect(hidden.status == 404 && hidden.problem == "not-found", "\(method) \(target)")
      }
      #expect(try await operators.get("/status").status == 200)
      #expect(try await all.get("/status").status == 200)
      #expect(try await operators.relay("POST", "/x").status == 404)
      #expect(try await operators.request("POST", "/v1/checkin", body: []).status == 404)
      let handed = try await operators.post(["path": "/"])
      #expect(handed.status == 405)
      #expect(handed["Allow"]?.contains("POST") == false)
      #expect(try await all.relay("POST", "/x").status == 202)
      try await upstream.received(count: 2)
    }

    @Test("a Unix socket has the mode that was asked for, answers, and is gone afterwards")
    func unixSocket() async throws {
      let folder = try TemporaryFolder(isForSockets: true)
      let path = folder.path + "/relay.sock"
      let upstream = try TestUpstream()
      let relay = try Relay(
        upstreams: ["default": Relay.quick(upstream)],
        listen: [
          ["unix": path, "mode": "0660", "for": "operators"] as [String: any Sendable],
          "127.0.0.1:0",
        ])
      try await relay.start()
      #expect(try mode(of: path) == 0o660)
      let (status, body) = try await curl(path, "/status")
      #expect(status == 200 && body.contains("upstreams"))
      let health = try await Waystation.run("health", "--server", "unix:" + path)
      #expect(health.ending == .exit(0), "\(health.errors)")
      relay.signal(SIGTERM)
      #expect(try await relay.ending() == .exit(0))
      #expect(!FileManager.default.fileExists(atPath: path))
      let gone = try await Waystation.run("health", "--server", "unix:" + path)
      #expect(gone.ending == .exit(1))
      #expect(gone.errors.contains("No such file"))
    }

    @Test("a socket that a killed relay has left behind is taken over; one that answers is not")
    func takeover() async throws {
      let folder = try TemporaryFolder(isForSockets: true)
      let path = folder.path + "/relay.sock"
      let upstream = try TestUpstream()
      let listen: [any Sendable] = ["unix:" + path, "127.0.0.1:0"]
      let relay = try Relay(upstreams: ["default": Relay.quick(upstream)], listen: listen)
      try await relay.start()
      #expect(try mode(of: path) == 0o600)
      let second = try Relay(upstreams: ["default": Relay.quick(upstream)], listen: listen)
      let failure = await #expect(throws: StartFailure.self) { try await second.start() }
      #expect(failure?.description.contains("somebody answers there") == true)
      #expect(try await curl(path, "/healthz").status == 200)
      try await relay.kill()
      #expect(FileManager.default.fileExists(atPath: path))
      try await second.start()
      #expect(try await curl(path, "/healthz").status == 200)
      // The first one comes back, and cannot take what is not its own any more.
      await #expect(throws: StartFailure.self) { try await relay.start() }
      #expect(try await curl(path, "/healthz").status == 200)
    }

    @Test("a file that is no socket stays as it is, and the relay says so")
    func noSocket() async throws {
      let folder = try TemporaryFolder(isForSockets: true)
      let path = try folder.write("file", "precious")
      for (place, words) in [
        (path, "there is a file that is no socket"),
        (folder.path + "/nowhere/a.sock", "the folder does not exist"),
      ] {
        let relay = try Relay(
          upstreams: ["default": ["url": "http://127.0.0.1:1"]], listen: ["unix:" + place])
        let failure = await #expect(throws: StartFailure.self) { try await relay.start() }
        #expect(failure?.description.contains(words) == true, "\(String(describing: failure))")
      }
      #expect(try String(contentsOfFile: path, encoding: .utf8) == "precious")
    }

    private func mode(of path: String) throws -> Int {
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      return (attributes[.posixPermissions] as? NSNumber)?.intValue ?? 0
    }

    /// Asks over a Unix socket.
    private func curl(_ path: String, _ target: String) async throws -> (status: Int, body: String)
    {
      let process = try ChildProcess(
        "curl", ["-sS", "--unix-socket", path, "-w", "\n%{http_code}", "http://relay\(target)"])
      try await process.ending()
      let lines = process.output.split(separator: "\n", omittingEmptySubsequences: false)
      return (lines.last.flatMap { Int($0) } ?? 0, lines.dropLast().joined(separator: "\n"))
    }
  }
}
