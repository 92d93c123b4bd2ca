#if PostgreSQL
import Foundation
import Glibc
import PostgresTesting
import Testing

extension EndToEnd {
  @Suite(
    "What is told of a store that is moved", .serialized, .ofFiles,
    .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed"))
  struct MoveAdvice {
    private let upstream: TestUpstream
    private let database: TestDatabase
    private let relay: Relay

    init() throws {
      upstream = try TestUpstream { _ in .answer(200) }
      database = try TestDatabase.fresh()
      relay = try Relay(upstreams: ["default": Relay.quick(upstream)])
    }

    private var data: String { relay.folder.path + "/data" }

    private func move(
      _ source: String, _ target: String, environment: [String: String] = [:]
    ) async throws -> (ending: Ending, output: String, errors: String) {
      try await Waystation.run(
        "store", "move", "--from", source, "--to", target, environment: environment)
    }

    /// Has a store made in the folder, with one large body in it.
    private func fill() async throws {
      try await relay.start()
      let device = relay.device()
      #expect(try await device.request("POST", "/v1/upstreams/default/pause").status == 200)
      let posted = try await device.relay("PUT", "/large", body: Self.large)
      #expect(posted.status == 202)
      relay.signal(SIGTERM)
      #expect(try await relay.ending() == .exit(0))
    }

    private static let large = (0..<1_500_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

    private func check(
      _ place: [String: any Sendable], _ more: String...
    ) async throws -> (ending: Ending, output: String, errors: String) {
      let path = relay.folder.path + "/checked.json"
      var config = place
      config["upstreams"] = ["default": Relay.quick(upstream)]
      try relay.folder.write("checked.json", String(decoding: Device.json(config), as: UTF8.self))
      let process = try ChildProcess(Waystation.path, ["check", "--config", path] + more)
      return (try await process.ending(), process.output, process.errors)
    }

    @Test("a check fails for a folder and for a database that were moved away")
    func checked() async throws {
      try await fill()
      let folder: [String: any Sendable] = ["data": data]
      let remote: [String: any Sendable] = ["store": ["postgres": ["url": database.url]]]
      #expect(try await check(folder).ending == .exit(0))
      #expect(try await move(data, database.url).ending == .exit(0))
      #expect(try await check(remote, "--try-store").ending == .exit(0))
      let moved = try await check(folder)
      #expect(moved.ending == .exit(1), "\(moved)")
      #expect(moved.errors.contains("it has been moved to postgresql://"), "\(moved)")
      let back = relay.folder.path + "/back"
      #expect(try await move(database.url, back).ending == .exit(0))
      let left = try await check(remote, "--try-store")
      #expect(left.ending == .exit(1), "\(left)")
      #expect(left.errors.contains("it has been moved to \(back)"), "\(left)")
      #expect(left.errors.contains("the store cannot be used"), "\(left)")
    }

    @Test("a finished move that is run again ends with 0, and says that nothing is left to do")
    func repeated() async throws {
      try await fill()
      #expect(try await move(data, database.url).ending == .exit(0))
      let again = try await move(data, database.url)
      #expect(again.ending == .exit(0), "\(again)")
      #expect(again.output.contains("nothing is left to do"), "\(again)")
    }

    @Test("a copy of a store that was moved away is made, with a warning")
    func copied() async throws {
      try await fill()
      #expect(try await move(data, database.url).ending == .exit(0))
      let copy = try await Waystation.run(
        "store", "backup", "--data", data, "--to", relay.folder.path + "/copy")
      #expect(copy.ending == .exit(0), "\(copy)")
      #expect(copy.errors.contains("has been moved to postgresql://"), "\(copy)")
    }

    @Test("a disk that takes a part of a body is told by its error, and the same command goes on")
    func cutBody() async throws {
      try await fill()
      #expect(try await move(data, database.url).ending == .exit(0))
      let back = relay.folder.path + "/back"
      // In half KiB: not a multiple of the pieces, so that one is written in part.
      let process = try ChildProcess(
        "/bin/sh",
        [
          "-c", "trap '' XFSZ; ulimit -f 2049; exec \"$@\"", "sh", Waystation.path, "store", "move",
          "--from", database.url, "--to", back,
        ])
      #expect(try await process.ending() == .exit(1))
      #expect(process.errors.contains("File too large"), "\(process.errors)")
      #expect(process.errors.contains("is as it was"), "\(process.errors)")
      #expect(process.errors.contains("Run the same command again"), "\(process.errors)")
      #expect(try await move(database.url, back).ending == .exit(0))
    }

    @Test(
      "a mark belongs to the folder's owner, who may have to lift it", .enabled(if: geteuid() == 0))
    func owner() async throws {
      try await fill()
      #expect(chown(data, 65_534, 65_534) == 0)
      #expect(try await move(data, database.url).ending == .exit(0))
      var status = stat()
      #expect(stat(data + "/moved", &status) == 0 && status.st_uid == 65_534)
    }

    @Test("what names no store is called what it is: a file, nothing, or another's variable")
    func places() async throws {
      try await fill()
      let folder = relay.folder
      try folder.write("notes", "hello\n")
      let file = try await move(data, folder.path + "/notes")
      #expect(file.ending == .exit(1))
      #expect(file.errors.contains("is a file, and no configuration of a relay"), "\(file)")
      let none = try await Waystation.run("store", "reopen", "--at", folder.path + "/none")
      #expect(none.ending == .exit(1) && none.errors.contains("No such file"), "\(none)")
      let both = try await move(
        folder.path + "/config.json", database.url,
        environment: ["WAYSTATION_POSTGRES_URL": database.url])
      #expect(both.ending == .exit(1))
      #expect(both.errors.contains("WAYSTATION_POSTGRES_URL is set"), "\(both)")
      let help = try await Waystation.run("store", "move", "--help")
      #expect(!help.output.contains("--data"), "\(help)")
    }
  }
}
#endif
