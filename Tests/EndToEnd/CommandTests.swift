import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("The command", .serialized)
  struct Command {
    @Test("version prints the version of the contract")
    func version() async throws {
      let (ending, output, _) = try await Waystation.run("version")
      #expect(ending == .exit(0))
      #expect(output.contains("0.1.0"))
    }

    @Test("there is help for it and for each command")
    func help() async throws {
      for command in ["serve", "sink", "check", "health", "version"] {
        let (ending, output, _) = try await Waystation.run("help", command)
        #expect(ending == .exit(0))
        #expect(output.contains("waystation \(command)"), "\(output)")
      }
      let (ending, output, _) = try await Waystation.run("help")
      #expect(ending == .exit(0))
      #expect(output.contains("serve"))
      let unknown = try await Waystation.run("sevre")
      #expect(unknown.ending != .exit(0))
      #expect(unknown.errors.contains("sevre"))
    }

    @Test("check says whether a configuration is good, and what is wrong with it")
    func check() async throws {
      let folder = try TemporaryFolder()
      let good = try folder.write(
        "good.json",
        """
        {"listen": "127.0.0.1:0", "data": "\(folder.path)/data", "upstreams": {"default": {
          "url": "https://api.example.com/base",
          "headers": {"Authorization": "Bearer ${API_TOKEN}"},
          "connectTimeoutMs": 10000, "attemptTimeoutMs": 120000, "maxConcurrent": 64,
          "retry": {"firstDelayMs": 1000, "maxDelayMs": 900000, "factor": 2},
          "onFailure": "skip", "deadlineSeconds": 604800,
          "outcomes": {"retry": [408, 425, 429, "5xx"], "deliver": ["2xx"]}}},
          "limits": {"bodyBytesMax": 10485760, "connectionsMax": 10000},
          "retention": {"deliveredSeconds": 86400, "failedSeconds": 2592000}}
        """)
      let token = ["API_TOKEN": "very-secret"]
      let fine = try await Waystation.run("check", "--config", good, environment: token)
      #expect(fine.ending == .exit(0), "\(fine.errors)")
      #expect(!(fine.output + fine.errors).contains("very-secret"))
      let missing = try await Waystation.run("check", "--config", good)
      #expect(missing.ending != .exit(0))
      #expect(missing.errors.contains("API_TOKEN"))
      let bad = try folder.write(
        "bad.json",
        #"{"upstreams": {"default": {"url": "http://a"}}, "limits": {"bodyBytesMax": "x"}}"#)
      let wrong = try await Waystation.run("check", "--config", bad)
      #expect(wrong.ending != .exit(0))
      #expect(wrong.errors.contains("limits.bodyBytesMax"))
      #expect(!FileManager.default.fileExists(atPath: folder.path + "/data"))
    }

    @Test("a file of authorities that cannot be used is refused by check and at the start")
    func authorities() async throws {
      let folder = try TemporaryFolder()
      let empty = try folder.write("empty.pem", "no certificate\n")
      let faults = [
        ("/nowhere/ca.pem", "cannot be read: No such file or directory"),
        (empty, "holds no certificate in PEM form"),
      ]
      for (path, reason) in faults {
        let authorities = "\"certificateAuthorities\": \"\(path)\""
        let upstreams = "\"default\": {\"url\": \"https://127.0.0.1:1\""
        let files = [
          "upstreams.default": "{\"upstreams\": {\(upstreams), \(authorities)}}}",
          "tracing": "{\"upstreams\": {\(upstreams)}}, \"tracing\": {\(authorities)}}",
        ]
        for (section, text) in files {
          let file = try folder.write("config.json", text)
          let checked = try await Waystation.run("check", "--config", file)
          #expect(checked.ending == .exit(1))
          let problem = "\(section).certificateAuthorities: \(path): \(reason)"
          #expect(checked.errors.contains(problem), "\(checked.errors)")
          let served = try await Waystation.run(
            "serve", "--config", file, "--listen", "127.0.0.1:0", "--data",
            folder.path + "/data")
          #expect(served.ending == .exit(1) && served.errors.contains("\(path): \(reason)"))
        }
      }
    }

    @Test("flags beat variables, and variables beat the file")
    func precedence() async throws {
      let upstream = try TestUpstream()
      let folder = try TemporaryFolder()
      let config = try folder.write(
        "config.json",
        """
        {"listen": "127.0.0.1:1", "data": "\(folder.path)/file",
         "upstreams": {"default": {"url": "http://127.0.0.1:1"}}}
        """
      )
      let process = try ChildProcess(
        Waystation.path,
        [
          "serve", "--config", config, "--listen", "127.0.0.1:0", "--upstream",
          "default=\(upstream.url)",
        ],
        environment: [
          "WAYSTATION_LISTEN": "127.0.0.1:2", "WAYSTATION_DATA": folder.path + "/variable",
          "WAYSTATION_UPSTREAMS": "default=http://127.0.0.1:2", "WAYSTATION_HOSTS": "relay",
        ])
      let line = try await process.firstLine()
      let port = try #require(line.split(separator: ":").last.flatMap { UInt16($0) })
      let device = Device("d", port: port)
      #expect(try await device.relay("GET", "/x", headers: ["Prefer": "wait=20"]).status == 200)
      #expect(FileManager.default.fileExists(atPath: folder.path + "/variable"))
      #expect(!FileManager.default.fileExists(atPath: folder.path + "/file"))

      let url = "http://127.0.0.1:\(port)"
      #expect(try await Waystation.run("health", "--server", url).ending == .exit(0))
      process.signal(SIGTERM)
      #expect(try await process.ending() == .exit(0))
      #expect(try await Waystation.run("health", "--server", url).ending != .exit(0))
    }

    @Test("a sink prints what reaches it, and fails as it is told")
    func sink() async throws {
      let sink = try ChildProcess(
        Waystation.path,
        ["sink", "--listen", "127.0.0.1:0", "--fail-with", "503", "--delay", "1ms"])
      let line = try await sink.firstLine()
      #expect(line.hasPrefix("listening on http://127.0.0.1:"))
      let port = try #require(line.split(separator: ":").last.flatMap { UInt16($0) })
      let answer = try await Device("d", port: port).request(
        "POST", "/readings", headers: ["Content-Type": "text/plain"], body: Array("hello".utf8))
      #expect(answer.status == 503)
      try await sink.output(holds: "POST /readings")
      try await sink.output(holds: "hello")
      sink.signal(SIGTERM)
      #expect(try await sink.ending() == .exit(0))
    }

    @Test("no body and no credential is ever in the log")
    func quietLog() async throws {
      let upstream = try TestUpstream { _ in .answer(400) }
      let headers: [String: any Sendable] = ["Authorization": "Bearer upstream-secret"]
      let log: [String: any Sendable] = ["level": "debug", "format": "json"]
      let relay = try await Relay.started(
        upstream, upstreamMore: ["headers": headers], more: ["log": log])
      let device = relay.device()
      let posted = try await device.post([
        "path": "/", "body": "body-secret",
        "headers": ["X-Token": "header-secret"] as [String: any Sendable],
      ])
      _ = try await device.end(of: try #require(posted.json()["id"] as? String))
      relay.signal(SIGTERM)
      #expect(try await relay.ending() == .exit(0))
      #expect(!relay.log.contains("secret"), "\(relay.log)")
      #expect(upstream.received.first?["Authorization"] == "Bearer upstream-secret")
      for line in relay.log.split(separator: "\n") where !line.hasPrefix("listening on") {
        #expect(
          (try? JSONSerialization.jsonObject(with: Data(line.utf8))) is [String: Any], "\(line)")
      }
    }
  }
}
