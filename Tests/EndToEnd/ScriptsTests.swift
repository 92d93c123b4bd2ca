import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("The scripts", .serialized)
  struct Scripts {
    private let top = #filePath.components(separatedBy: "/Tests/")[0]

    @Test("with UPSTREAM, make run forwards there and starts no sink")
    func upstream() async throws {
      let upstream = try TestUpstream()
      let folder = try TemporaryFolder()
      let process = try ChildProcess(
        top + "/scripts/run", [],
        environment: [
          "WAYSTATION_BINARY": Waystation.path, "UPSTREAM": upstream.url,
          "LISTEN": "127.0.0.1:0", "DATA": folder.path + "/data", "WAYSTATION_HOSTS": "relay",
        ])
      let line = try await process.firstLine()
      let port = try #require(line.split(separator: ":").last.flatMap { UInt16($0) })
      let device = Device("d", port: port)
      #expect(try await device.relay("GET", "/x", headers: ["Prefer": "wait=20"]).status == 200)
      #expect(upstream.received.map(\.target) == ["/x"])
      process.signal(SIGTERM)
      #expect(try await process.ending() == .exit(0))
      #expect(!(process.output + process.errors).contains("sink"))
    }

    @Test("without Swift, the set-up says what is missing and where to get it")
    func noSwift() async throws {
      let folder = try TemporaryFolder()
      for tool in ["bash", "dirname"] {
        let found = ["/usr/bin/", "/bin/"].map { $0 + tool }
          .first { FileManager.default.isExecutableFile(atPath: $0) }
        try FileManager.default.createSymbolicLink(
          atPath: folder.path + "/" + tool, withDestinationPath: #require(found))
      }
      let setup = try ChildProcess(
        top + "/scripts/setup", ["build"], environment: ["PATH": folder.path])
      #expect(try await setup.ending() == .exit(1))
      #expect(setup.errors.contains("Swift"))
      #expect(setup.errors.contains("https://www.swift.org/install"))
    }
  }
}
