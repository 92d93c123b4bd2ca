import Foundation
import Glibc
import SQLite
import Testing

@testable import SQLiteStore

extension EndToEnd {
  @Suite("A full disk", .serialized, .ofFiles)
  struct FullDisk {
    private func readiness(_ disk: FailingDisk) async throws -> (status: Int, reason: String) {
      let answer = try await disk.relay.device("operator").get("/readyz")
      return (answer.status, (try answer.json()["reasons"] as? [String])?.first ?? "")
    }

    private func trouble(_ disk: FailingDisk) async throws -> String? {
      let status = try await disk.relay.device("operator").get("/status").json()
      return (status["store"] as? [String: Any])?["trouble"] as? String
    }

    @Test("below the reserve posts are refused early, deliveries go on, and it ends by itself")
    func reserve() async throws {
      let upstream = try TestUpstream { _ in .answer(503) }
      let disk = try await FailingDisk(
        upstream: upstream, limits: ["diskReserveBytes": 1 << 20, "bodyBytesMax": 100_000])
      #expect(try await disk.post(bytes: 100).status == 202)
      disk.shim.pretend(freeBytes: 1000)
      let small = try await disk.post(bytes: 100)
      #expect(small.status == 507 && small.problem == "disk-full")
      #expect(small["Retry-After"] != nil)
      let (status, reason) = try await readiness(disk)
      #expect(status == 503 && reason.contains("nearly full"))
      #expect(try await trouble(disk)?.contains("nearly full") == true)
      // What announces a large body is told before it sends it.
      let head = Array(
        "PUT /v1/relay/default/x HTTP/1.1\r\nHost: r\r\nWaystation-Client: c\r\n".utf8)
      let announced = try await disk.relay.device("big").raw(
        head + Array("Content-Length: 90000\r\nExpect: 100-continue\r\n\r\n".utf8))
      #expect(announced.status == 507)
      upstream.behave { _ in .answer(200) }
      try await disk.allArrived()
      disk.shim.pretend(freeBytes: nil)
      try await disk.isReady()
      #expect(try await disk.post(bytes: 9000).status == 202)
      try await disk.allArrived()
    }

    @Test("a reader that does not let go cannot make the log grow for ever")
    func log() async throws {
      let disk = try await FailingDisk(
        limits: ["storeLogBytesMax": 1_048_576, "spoolThresholdBytes": 100_000])
      let data = disk.relay.folder.path + "/data"
      #expect(try await disk.post(bytes: 100).status == 202)
      do {
        let reader = try Reader(
          database: DataFolder.database(in: data),
          bodies: BodyFiles(
            folder: data + "/bodies", room: DiskRoom(folder: data, limits: DiskLimits())))
        try reader.connection.execute("BEGIN; SELECT count(*) FROM envelope")
        var answer = try await disk.post(bytes: 50_000)
        var count = 0
        while answer.status == 202, count < 200 {
          answer = try await disk.post(bytes: 50_000)
          count += 1
        }
        #expect(answer.status == 507 && answer.problem == "disk-full")
        #expect(try await readiness(disk).reason.contains("storeLogBytesMax"))
        try await disk.allArrived()
        #expect(DataFolder.size(ofFile: DataFolder.database(in: data) + "-wal") < 8 << 20)
      }
      try await disk.isReady()
      #expect(try await disk.post(bytes: 50_000).status == 202)
      try await disk.allArrived()
    }

    @Test(
      "on a disk that is full to its last byte what was accepted is safe and is delivered",
      .enabled(if: SmallDisk.isAllowed, "mounting a file system takes root"))
    func smallDisk() async throws {
      let upstream = try TestUpstream { _ in .answer(503) }
      let mounted = Monitor<SmallDisk?>(nil)
      let disk = try await FailingDisk(upstream: upstream, limits: ["bodyBytesMax": 1 << 20]) {
        let disk = try SmallDisk(at: $0.folder.path + "/data", megabytes: 24)
        mounted.change { $0 = disk }
      }
      let small = try #require(mounted.read { $0 })
      defer { small.unmount() }
      var count = 0
      while try await disk.post(bytes: count % 5 == 4 ? 200_000 : 3000).status == 202, count < 2000
      {
        count += 1
      }
      #expect(count > 50 && count < 2000)
      #expect(try await readiness(disk).status == 503)
      // Another program takes what is left.
      try small.fill()
      #expect(try await disk.post(bytes: 3000).status == 507)
      upstream.behave { _ in .answer(200) }
      try await disk.allArrived()
      #expect(try await trouble(disk) != nil)
      // And over a restart, too.
      try await disk.relay.kill()
      small.empty()
      try await disk.relay.start()
      try await disk.isReady()
      #expect(try await disk.post(bytes: 3000).status == 202)
      try await disk.allArrived()
      print(
        "a full disk: \(count) envelopes taken on 24 MiB, all of them delivered while it was full")
      disk.relay.signal(SIGTERM)
      try await disk.relay.ending()
    }
  }
}

/// A file system in memory that is soon full.
final class SmallDisk: Sendable {
  /// Whether this machine lets us have one.
  static let isAllowed: Bool = {
    guard geteuid() == 0, let folder = try? TemporaryFolder() else { return false }
    guard let disk = try? SmallDisk(at: folder.path + "/probe", megabytes: 1) else { return false }
    disk.unmount()
    return true
  }()

  private let path: String

  init(at path: String, megabytes: Int) throws {
    self.path = path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    guard mount("tmpfs", path, "tmpfs", 0, "size=\(megabytes)m") == 0 else {
      throw SocketError(operation: "mount a small disk", code: errno)
    }
  }

  /// Takes all room that is left.
  func fill() throws {
    let file = open(path + "/filler", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    defer { close(file) }
    let bytes = [UInt8](repeating: 1, count: 4096)
    while write(file, bytes, bytes.count) > 0 {}
  }

  /// Gives it back.
  func empty() { unlink(path + "/filler") }

  /// Takes it away, though somebody may still use it.
  func unmount() { umount2(path, Int32(MNT_DETACH)) }
}
