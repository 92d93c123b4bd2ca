import Foundation
import SQLite
import Testing

extension EndToEnd {
  @Suite("What was acknowledged, and is in the log alone", .serialized, .ofFiles)
  struct LostLogs {
    private let upstream: TestUpstream
    private let relay: Relay

    init() async throws {
      upstream = try TestUpstream()
      relay = try Relay(upstreams: ["default": Relay.quick(upstream)])
    }

    private var data: String { relay.folder.path + "/data" }
    private var database: String { data + "/waystation.sqlite3" }

    /// Has the relay accept 20 envelopes, and kills it.
    private func acceptAndKill() async throws {
      upstream.stop()
      try await relay.start()
      for index in 0..<20 {
        #expect(try await relay.device().post(["path": "/\(index)"]).status == 202)
      }
      try await relay.kill()
    }

    /// Starts the relay on a folder, where all of them are delivered.
    private func requireAll(in data: String) async throws {
      try relay.configure(upstreams: ["default": Relay.quick(upstream)], more: ["data": data])
      try upstream.start()
      try await relay.start()
      let received = try await upstream.received(count: 20)
      #expect(received.map(\.target) == (0..<20).map { "/\($0)" })
    }

    /// What may happen to a killed relay's log.
    enum Loss: CaseIterable {
      case deleted, deletedWithIndex, emptied, cutOff, lastByteChanged
    }

    private func lose(_ loss: Loss) throws {
      let path = URL(fileURLWithPath: database + "-wal")
      var log = try Data(contentsOf: path)
      switch loss {
      case .deletedWithIndex:
        try FileManager.default.removeItem(atPath: database + "-shm")
        fallthrough
      case .deleted: return try FileManager.default.removeItem(at: path)
      case .emptied: log = Data()
      case .cutOff: log.removeLast(log.count / 2)
      case .lastByteChanged: log[log.endIndex - 1] ^= 1
      }
      try log.write(to: path)
    }

    @Test("a killed relay's log that lost its end is refused, and not taken for a shorter one")
    func lostEnd() async throws {
      try await acceptAndKill()
      let kept = relay.folder.path + "/kept"
      try FileManager.default.copyItem(atPath: data, toPath: kept)
      for loss in Loss.allCases {
        try FileManager.default.removeItem(atPath: data)
        try FileManager.default.copyItem(atPath: kept, toPath: data)
        try lose(loss)
        let backup = try await Waystation.run(
          "store", "backup", "--data", data, "--to", relay.folder.path + "/copy-\(loss)")
        #expect(backup.ending == .exit(1), "\(loss): \(backup.output)")
        #expect(backup.errors.contains("its log was cut off"), "\(loss): \(backup.errors)")
        let refused = try await Waystation.run(
          "serve", "--data", data, "--listen", "127.0.0.1:0", "--upstream",
          "default=\(upstream.url)")
        #expect(refused.ending == .exit(1), "\(loss)")
        #expect(refused.errors.contains("its log was cut off"), "\(loss): \(refused.errors)")
        #expect(refused.errors.contains("/acknowledged"), "\(loss): \(refused.errors)")
        let check = try await Waystation.run("store", "check", "--data", data)
        #expect(check.ending == .exit(1) && check.output.contains("its end is lost"), "\(loss)")
        let new = relay.folder.path + "/new-\(loss)"
        let salvage = try await Waystation.run("store", "salvage", "--data", data, "--to", new)
        #expect(salvage.ending == .exit(0) && salvage.errors.contains("the log is cut off"))
        #expect(try await Waystation.run("store", "check", "--data", new).ending == .exit(0))
      }
      // Nobody has touched it: it starts where it was.
      try await requireAll(in: kept)
    }

    @Test("a log that another program has copied into the database is missed by nobody")
    func copiedByOthers() async throws {
      try await acceptAndKill()
      do {
        // Its index is in its own memory: what the relay's index says is left as it was.
        let other = try SQLite.Connection(path: database, access: .readWrite)
        try other.execute("PRAGMA locking_mode = EXCLUSIVE")
        #expect(try other.number("SELECT count(*) FROM line") == 20)
      }
      #expect(!FileManager.default.fileExists(atPath: database + "-wal"))
      #expect(FileManager.default.fileExists(atPath: database + "-shm"))
      #expect(try await Waystation.run("store", "check", "--data", data).ending == .exit(0))
      try await requireAll(in: data)
    }

    @Test("an index that is older than the log, as a snapshot of the disk has it, is no loss")
    func olderIndex() async throws {
      upstream.stop()
      try await relay.start()
      #expect(try await relay.device().post(["path": "/0"]).status == 202)
      let index = try Data(contentsOf: URL(filePath: database + "-shm"))
      // At its end all of the log is copied, and the next one is another.
      relay.signal(SIGTERM)
      try await relay.ending()
      try await relay.start()
      for number in 1..<20 {
        #expect(try await relay.device().post(["path": "/\(number)"]).status == 202)
      }
      try await relay.kill()
      try index.write(to: URL(filePath: database + "-shm"))
      #expect(try await Waystation.run("store", "check", "--data", data).ending == .exit(0))
      try await requireAll(in: data)
    }

    @Test("an older copy of the store is refused until somebody says that it is wanted")
    func olderCopy() async throws {
      upstream.stop()
      try await relay.start()
      #expect(try await relay.device().post(["path": "/0"]).status == 202)
      relay.signal(SIGTERM)
      try await relay.ending()
      let older = try Data(contentsOf: URL(filePath: database))
      try await relay.start()
      for number in 1..<20 {
        #expect(try await relay.device().post(["path": "/\(number)"]).status == 202)
      }
      relay.signal(SIGTERM)
      try await relay.ending()
      try older.write(to: URL(filePath: database))
      let refused = try await #require(throws: StartFailure.self) { try await relay.start() }
      #expect(refused.description.contains("older copy"), "\(refused)")
      try FileManager.default.removeItem(atPath: data + "/acknowledged")
      try await relay.start()
      try upstream.start()
      try await upstream.received(count: 1)
    }

    @Test("a salvage of an older copy with its log has all of both, whatever a newer index says")
    func olderCopyWithLog() async throws {
      try await acceptAndKill()
      let kept = relay.folder.path + "/kept"
      try FileManager.default.copyItem(atPath: data, toPath: kept)
      try await relay.start()
      for number in 20..<40 {
        #expect(try await relay.device().post(["path": "/\(number)"]).status == 202)
      }
      try await relay.kill()
      for end in ["", "-wal"] {
        try FileManager.default.removeItem(atPath: database + end)
        try FileManager.default.copyItem(
          atPath: kept + "/waystation.sqlite3" + end, toPath: database + end)
      }
      let check = try await Waystation.run("store", "check", "--data", data)
      #expect(check.ending == .exit(1), "\(check)")
      let new = relay.folder.path + "/new"
      let salvage = try await Waystation.run("store", "salvage", "--data", data, "--to", new)
      #expect(salvage.ending == .exit(0), "\(salvage)")
      try await requireAll(in: new)
    }

    @Test("a start that cannot note what is acknowledged says so, and serves")
    func unwritableMark() async throws {
      try FileManager.default.createDirectory(
        atPath: data + "/acknowledged", withIntermediateDirectories: true)
      try await relay.start()
      try await relay.log(holds: "/acknowledged cannot be written")
      #expect(try await relay.device().post(["path": "/0"]).status == 202)
    }
  }
}
