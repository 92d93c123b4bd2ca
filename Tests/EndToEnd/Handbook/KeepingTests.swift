import Foundation
import Glibc
import Testing

extension EndToEnd {
  /// What docs/operating.md says of the store: copies, other versions, damage, a full disk.
  @Suite("The handbook, on keeping a store", .serialized, .ofFiles)
  struct Keeping {
    @Test("a relay is upgraded with a backup behind it, and what waits goes on")
    func upgrade() async throws {
      let book = try await Handbook.installed()
      book.upstream.stop()
      let id = try await book.send("/before")
      try FileManager.default.copyItem(
        atPath: Waystation.path, toPath: book.stand.folder.path + "/waystation")
      let said = try await book.stand.run(book.blocks("Upgrade")[0])
      #expect(said.contains("sound copy") && said.contains("1 envelope waits"), "\(said)")
      try book.upstream.start()
      try await book.envelope(id, is: "delivered")
    }

    @Test("a copy of a running relay takes the place of its store, and delivers what it holds")
    func restore() async throws {
      let book = try await Handbook.installed()
      book.upstream.stop()
      let kept = try await book.send("/kept")
      let blocks = try book.blocks("Back up and restore", count: 2)
      #expect(try await book.stand.run(blocks[0]).contains("1 envelope, 1 of them waits"))
      let later = try await book.send("/later")
      let said = try await book.stand.run(blocks[1])
      #expect(said.contains("1 envelope waits"), "\(said)")
      let unknown = try await book.stand.run("waystation envelopes show \(later)", code: 1)
      #expect(!unknown.contains(later))
      try book.upstream.start()
      try await book.envelope(kept, is: "delivered")
    }

    @Test("a store is packed, and goes on where it was on a machine that had none")
    func moved() async throws {
      let book = try await Handbook.installed()
      book.upstream.stop()
      let id = try await book.send("/kept")
      let blocks = try book.blocks("Move to another machine", count: 2)
      try await book.stand.run(blocks[0])
      try FileManager.default.moveItem(atPath: book.data, toPath: book.data + ".old")
      let said = try await book.stand.run(blocks[1])
      #expect(said.contains("1 envelope waits"), "\(said)")
      try book.upstream.start()
      try await book.envelope(id, is: "delivered")
    }

    @Test("what a clock has expired is put back in line")
    func expired() async throws {
      let book = try await Handbook.installed(upstreamMore: #", "deadlineSeconds": 1"#)
      book.upstream.stop()
      let id = try await book.send("/late")
      try await book.envelope(id, is: "expired")
      try book.upstream.start()
      let said = try await book.stand.run(book.blocks("Clocks")[0])
      #expect(said.contains(id), "\(said)")
      try await book.envelope(id, is: "delivered")
    }

    @Test("a damaged store is copied, looked at, salvaged, and goes on")
    func salvaged() async throws {
      let book = try await Handbook.installed()
      book.upstream.stop()
      let id = try await book.send("/kept")
      let blocks = try book.blocks("When the store is damaged", count: 4)
      try await book.stand.run(blocks[0])
      try damage(book)
      let check = try await book.stand.run(blocks[1], code: 1)
      #expect(check.contains("damaged"), "\(check)")
      try book.upstream.start()
      let said = try await book.stand.run(blocks[2])
      #expect(said.contains("1 envelope, 1 of them waits"), "\(said)")
      try await book.envelope(id, is: "delivered")
    }

    @Test("a damaged store is set aside by hand, and the service goes on with a new one")
    func setAside() async throws {
      let book = try await Handbook.installed()
      let blocks = try book.blocks("When the store is damaged", count: 4)
      try await book.stand.run(blocks[0])
      try damage(book)
      let once = try book.stand.start(blocks[3])
      try await once.output(holds: "listening on")
      let status = try await book.stand.run("waystation status --json")
      #expect(status.contains("damaged-"), "\(status)")
      once.signal(SIGINT)
      try await once.ending()
      try await book.stand.run("sudo systemctl start waystation\nwaystation health")
    }

    /// Zeroes the first page.
    private func damage(_ book: Handbook) throws {
      let file = open(book.data + "/waystation.sqlite3", O_WRONLY)
      defer { close(file) }
      let zeroes = [UInt8](repeating: 0, count: 8192)
      try #require(pwrite(file, zeroes, zeroes.count, 0) == zeroes.count)
    }

    @Test("a full disk is seen, and ends without a restart")
    func fullDisk() async throws {
      let book = try await Handbook.installed()
      let shim = try DiskShim(watching: book.data)
      let variables = shim.environment(isRecorded: false).map { "export \($0.key)='\($0.value)'\n" }
      try book.stand.folder.write("relay.env", variables.joined())
      try await book.stand.run("sudo systemctl restart waystation")
      shim.pretend(freeBytes: 1000)
      let device = Device("truck-7", port: book.port, token: book.token)
      #expect(try await device.post(["path": "/a"]).status == 507)
      let said = try await book.stand.run(book.blocks("When the disk is full")[0])
      #expect(said.contains("nearly full") && said.contains("/var/waystation"), "\(said)")
      shim.pretend(freeBytes: nil)
      try await eventually("a relay that is ready") {
        try await device.get("/readyz").status == 200 ? true : nil
      }
      _ = try await book.send("/after")
    }
  }
}
