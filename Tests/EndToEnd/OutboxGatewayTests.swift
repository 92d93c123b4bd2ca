import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("The example of a gateway", .serialized, .ofNoStore)
  struct OutboxGateways {
    /// A gateway that reads from a pipe.
    struct Run {
      let process: ChildProcess
      let input: FileHandle

      init(
        _ stand: OutboxStand, _ url: String, _ more: [String], disk: DiskShim? = nil
      ) throws {
        let pipe = stand.folder.path + "/lines-" + UUID().uuidString
        guard mkfifo(pipe, 0o600) == 0 else {
          throw SocketError(operation: "mkfifo", code: errno)
        }
        process = try ChildProcess(
          "sh",
          [
            "-c", "exec \"$0\" \"$@\" < \"$FIFO\"", TestGateway.program, "--folder",
            Run.folder(stand), "--relay", url, "--client", OutboxStand.client, "--lane",
            "readings", "--acknowledge",
          ] + more,
          environment: (disk?.environment(isRecorded: false) ?? [:])
            .merging(["FIFO": pipe]) { _, given in given })
        // Waits for the shell to open its end.
        input = try FileHandle(forWritingTo: URL(fileURLWithPath: pipe))
      }

      static func folder(_ stand: OutboxStand) -> String { stand.folder.path + "/gateway" }

      func write(_ numbers: Range<Int>) throws {
        let lines = numbers.map { "{\"reading\": \($0)}\n" }.joined()
        try input.write(contentsOf: Data(lines.utf8))
      }

      /// How many lines it has acknowledged.
      var keptCount: Int { process.output.split(separator: "\n").count }
    }

    private static func readings(_ stand: OutboxStand) -> [Int] {
      stand.upstream.received.compactMap { request in
        (try? request.message.json())?["reading"] as? Int
      }
    }

    @Test("a line that is too long is left out as a whole, and those behind it are kept")
    func tooLong() async throws {
      let stand = try OutboxStand()
      try await stand.relay.start()
      let run = try Run(stand, "http://127.0.0.1:\(stand.relay.port)", [])
      try run.write(0..<1)
      try run.input.write(contentsOf: Data(repeating: 0x20, count: 3 << 20) + Data("7}\n".utf8))
      try run.write(1..<3)
      try await stand.upstream.received(count: 3)
      // A little too long, and all of its end comes at once.
      let long = Data(repeating: 0x20, count: (1 << 20) + 30_000) + Data("8\n".utf8)
      try run.input.write(contentsOf: long)
      try run.input.close()
      #expect(try await run.process.ending() == .exit(1))
      let told = run.process.errors.split(separator: "\n").filter {
        $0.hasPrefix("left out: a line has more than 1048576 bytes")
      }
      #expect(told.count == 2, "\(run.process.errors)")
      #expect(run.keptCount == 3)
      #expect(stand.upstream.received.count == 3 && Self.readings(stand) == [0, 1, 2])
    }

    @Test("each acknowledged line arrives once and in order, over kill -9 and without a network")
    func acknowledged() async throws {
      let stand = try OutboxStand()
      try await stand.relay.start()
      let link = try NetworkLink(to: stand.relay.port)
      let first = try Run(stand, link.url, [])
      try first.write(0..<100)
      try await stand.upstream.received(count: 50)
      link.stop()
      try first.write(100..<200)
      _ = try await first.process.outputLines(count: 150)
      first.process.signal(SIGKILL)
      try await first.process.ending()
      // What was kept and not acknowledged any more may have come as well.
      let kept = first.keptCount
      #expect(kept >= 150)
      try link.start()
      let second = try Run(stand, link.url, ["--drain", "60"])
      try second.write(1000..<1100)
      try second.input.close()
      #expect(try await second.process.ending(seconds: 70) == .exit(0), "\(second.process.errors)")
      let arrived = Self.readings(stand)
      let old = arrived.filter { $0 < 1000 }
      #expect(old == Array(0..<old.count) && old.count >= kept)
      #expect(Array(arrived.dropFirst(old.count)) == Array(1000..<1100))
      #expect(second.process.errors.contains("delivered"))
    }

    @Test("what is left after the time for draining makes it end with 1")
    func left() async throws {
      let stand = try OutboxStand()
      let run = try Run(stand, "http://127.0.0.1:\(try ReservedPort.kept())", ["--drain", "1"])
      try run.write(0..<3)
      try run.input.close()
      #expect(try await run.process.ending() == .exit(1))
      #expect(run.keptCount == 3 && run.process.errors.contains("3 are left"))
    }

    private static func receipting() throws -> OutboxStand {
      try OutboxStand(
        { _ in .answer(503) }, more: ["receipts": ["issuer": "https://relay.example"]])
    }

    @Test("with custody receipt a body leaves the device once the relay has signed for it")
    func proof() async throws {
      let stand = try Self.receipting()
      try await stand.relay.start()
      let run = try Run(
        stand, "http://127.0.0.1:\(stand.relay.port)", ["--custody", "receipt"])
      try run.write(0..<3)
      try await run.process.errors(hold: "signed for readings up to 3")
      run.process.signal(SIGKILL)
      try await run.process.ending()
      let outbox = try OutboxCopy(of: Run.folder(stand))
      #expect(outbox.held.isEmpty && outbox.letGo.count == 3 && outbox.unproven.isEmpty)
    }

    @Test("with a key each reading comes signed, and the public key is shown")
    func signed() async throws {
      let stand = try OutboxStand()
      try await stand.relay.start()
      let key = stand.folder.path + "/key.pem"
      let openssl = try ChildProcess("openssl", ["genpkey", "-algorithm", "ed25519", "-out", key])
      #expect(try await openssl.ending() == .exit(0))
      let shown = try ChildProcess(TestGateway.program, ["--sign-key", key, "--show-key"])
      #expect(try await shown.ending() == .exit(0))
      try stand.folder.write("device", shown.output)
      let run = try Run(
        stand, "http://127.0.0.1:\(stand.relay.port)", ["--sign-key", key, "--drain", "60"])
      try run.write(0..<3)
      try run.input.close()
      #expect(try await run.process.ending(seconds: 70) == .exit(0), "\(run.process.errors)")
      let lines = try stand.upstream.received.map { try $0.recorded() }
      try stand.folder.write("requests", lines.joined(separator: "\n"))
      let audit = try ChildProcess(
        Waystation.path,
        [
          "audit-lane", "--device-keys", stand.folder.path + "/device", "--client",
          OutboxStand.client, "--lane", "readings", "--requests", stand.folder.path + "/requests",
        ])
      #expect(try await audit.ending() == .exit(0), "\(audit.output)\(audit.errors)")
      #expect(audit.output.contains("3 numbers, 1 to 3"), "\(audit.output)")
      let wrong = try Run(stand, "http://127.0.0.1:1", ["--sign-key", key + "-none"])
      #expect(try await wrong.process.ending() == .exit(2))
    }

    @Test("with custody accepted a body leaves the device without a receipt")
    func accepted() async throws {
      let stand = try Self.receipting()
      try await stand.relay.start()
      let run = try Run(stand, "http://127.0.0.1:\(stand.relay.port)", [])
      try run.write(0..<3)
      _ = try await run.process.outputLines(count: 3)
      try await eventually("bodies that are let go of") {
        try OutboxCopy(of: Run.folder(stand)).letGo.count == 3 ? true : nil
      }
      run.process.signal(SIGKILL)
      try await run.process.ending()
      #expect(try OutboxCopy(of: Run.folder(stand)).unproven.count == 3)
    }

    @Test("without proof the bodies stay, and the gateway says why")
    func noProof() async throws {
      let stand = try Self.receipting()
      try await stand.relay.start()
      let run = try Run(
        stand, "http://127.0.0.1:\(stand.relay.port)",
        ["--custody", "receipt", "--pin", "of-another-relay"])
      try run.write(0..<3)
      try await run.process.errors(hold: "no proof for readings: unknownKey")
      run.process.signal(SIGKILL)
      try await run.process.ending()
      #expect(try OutboxCopy(of: Run.folder(stand)).held.count == 3)
    }

    @Test("what is kept goes by itself once there is room on a disk that was full at the start")
    func fullAtStart() async throws {
      let stand = try OutboxStand()
      let disk = try DiskShim(watching: Run.folder(stand))
      let url = "http://127.0.0.1:\(stand.relay.port)"
      let first = try Run(stand, url, [])
      try first.write(0..<3)
      _ = try await first.process.outputLines(count: 3)
      first.process.signal(SIGKILL)
      try await first.process.ending()
      try await stand.relay.start()
      disk.fail(.write, with: ENOSPC, ofPath: "-wal")
      let second = try Run(stand, url, [], disk: disk)
      try await eventually("calls that fail") { disk.injectedCount > 1 ? true : nil }
      disk.heal()
      try await stand.upstream.received(count: 3)
      #expect(Self.readings(stand) == [0, 1, 2])
      second.process.signal(SIGKILL)
      try await second.process.ending()
    }

    @Test("a large line that a failing disk did not take for sure comes whole, or not at all")
    func doubtful() async throws {
      let stand = try OutboxStand()
      let disk = try DiskShim(watching: Run.folder(stand))
      let url = "http://127.0.0.1:\(stand.relay.port)"
      let first = try Run(stand, url, [], disk: disk)
      try first.write(0..<1)
      _ = try await first.process.outputLines(count: 1)
      disk.fail(.sync, with: EIO, ofPath: "-wal")
      let large = #"{"reading": 1, "padding": "\#(String(repeating: "x", count: 100_000))"}"#
      try first.input.write(contentsOf: Data((large + "\n").utf8))
      #expect(try await first.process.ending() == .exit(1))
      disk.heal()
      try await stand.relay.start()
      let second = try Run(stand, url, ["--drain", "60"])
      try second.write(2..<3)
      try second.input.close()
      #expect(try await second.process.ending(seconds: 70) == .exit(0), "\(second.process.errors)")
      #expect([[0, 1, 2], [0, 2]].contains(Self.readings(stand)))
      #expect(!second.process.errors.contains("stands at"))
    }

    @Test("a call without what it needs is answered with what it takes")
    func usage() async throws {
      let process = try ChildProcess(TestGateway.program, ["--folder", "/nowhere"])
      #expect(try await process.ending() == .exit(2))
      #expect(process.errors.contains("is missing\nusage: outbox-gateway"), "\(process.errors)")
      let help = try ChildProcess(TestGateway.program, ["--help"])
      #expect(try await help.ending() == .exit(0))
      #expect(help.output.hasPrefix("usage: outbox-gateway"), "\(help.output)")
    }

    @Test("a folder that another gateway has open is told with that one's process")
    func owned() async throws {
      let stand = try OutboxStand()
      let url = "http://127.0.0.1:\(stand.relay.port)"
      let first = try Run(stand, url, [])
      try first.write(0..<1)
      _ = try await first.process.outputLines(count: 1)
      let second = try Run(stand, url, [])
      #expect(try await second.process.ending() == .exit(1))
      let words = "another process has it open, pid \(first.process.number)"
      #expect(second.process.errors.contains(words), "\(second.process.errors)")
      // Somebody takes the lock for a leftover.
      try FileManager.default.removeItem(atPath: Run.folder(stand) + "/lock")
      let third = try Run(stand, url, [])
      #expect(try await third.process.ending() == .exit(1))
      #expect(third.process.errors.contains("another process has it open"))
      first.process.signal(SIGKILL)
      try await first.process.ending()
    }

    @Test("a file of a token that is not there is told, and not a token that is refused")
    func lostToken() async throws {
      let stand = try OutboxStand(more: Credentials.configuration)
      try await stand.relay.start()
      let file = stand.folder.path + "/token"
      let run = try Run(
        stand, "http://127.0.0.1:\(stand.relay.port)", ["--token-file", file])
      try run.write(0..<1)
      try await run.process.errors(hold: "cannot read \(file): No such file")
      #expect(!run.process.errors.contains("refuses the token"), "\(run.process.errors)")
      run.process.signal(SIGKILL)
      try await run.process.ending()
    }
  }
}
