import Foundation
import Testing

extension EndToEnd.OutboxGateways {
  @Test("what a gateway prints of its lane, and what the upstream got, are a whole audit")
  func audited() async throws {
    let stand = try OutboxStand(more: [
      "receipts": ["issuer": "https://relay.example"], "lanes": ["readings": ["evidence": true]],
    ])
    try await stand.relay.start()
    let url = "http://127.0.0.1:\(stand.relay.port)"
    let run = try Run(stand, url, ["--evidence", "--drain", "60"])
    try run.write(0..<5)
    try run.input.close()
    #expect(try await run.process.ending(seconds: 70) == .exit(0), "\(run.process.errors)")
    var options: [String] = []
    for what in ["receipts", "ledger"] {
      let printed = try ChildProcess(
        TestGateway.program,
        [
          "--folder", Run.folder(stand), "--relay", url, "--client", OutboxStand.client, "--lane",
          "readings", "--print", what,
        ])
      #expect(try await printed.ending() == .exit(0), "\(printed.errors)")
      try stand.folder.write(what, printed.output)
      options += ["--\(what)", stand.folder.path + "/\(what)"]
    }
    let keys = try await stand.relay.device().get("/.well-known/waystation/keys")
    try stand.folder.write("keys", String(decoding: keys.body, as: UTF8.self))
    let requests = try stand.upstream.received.map { try $0.recorded() }
    try stand.folder.write("requests", requests.joined(separator: "\n"))
    for name in ["keys", "requests"] { options += ["--\(name)", stand.folder.path + "/\(name)"] }
    let audit = try ChildProcess(Waystation.path, ["audit-lane"] + options)
    #expect(try await audit.ending() == .exit(0), "\(audit.output)\(audit.errors)")
    #expect(audit.output.contains("numbers 1 to 5"), "\(audit.output)")
  }

  @Test("to print lets go of nothing that waits for a signature")
  func printsOnly() async throws {
    // A relay that keeps no ledger: nothing is over.
    let stand = try OutboxStand(more: ["receipts": ["issuer": "https://relay.example"]])
    try await stand.relay.start()
    let url = "http://127.0.0.1:\(stand.relay.port)"
    let run = try Run(stand, url, ["--evidence"])
    try run.write(0..<3)
    try await run.process.errors(hold: "no proof for readings: noLedger")
    run.process.signal(SIGKILL)
    try await run.process.ending()
    let held = try OutboxCopy(of: Run.folder(stand)).held
    for what in ["receipts", "ledger"] {
      let printed = try ChildProcess(
        TestGateway.program,
        [
          "--folder", Run.folder(stand), "--relay", url, "--client", OutboxStand.client, "--lane",
          "readings", "--print", what,
        ])
      _ = try await printed.ending()
    }
    #expect(held.count == 3)
    #expect(try OutboxCopy(of: Run.folder(stand)).held == held)
  }

  @Test("where there is nothing to print it says so, and makes no folder")
  func nothingToPrint() async throws {
    let stand = try OutboxStand()
    try await stand.relay.start()
    let url = "http://127.0.0.1:\(stand.relay.port)"
    let run = try Run(stand, url, ["--drain", "60"])
    try run.write(0..<1)
    try run.input.close()
    #expect(try await run.process.ending(seconds: 70) == .exit(0))
    for (folder, lane) in [(Run.folder(stand), "other"), (Run.folder(stand) + "-none", "readings")]
    {
      let printed = try ChildProcess(
        TestGateway.program,
        [
          "--folder", folder, "--relay", url, "--client", OutboxStand.client, "--lane", lane,
          "--print", "receipts",
        ])
      #expect(try await printed.ending() == .exit(1))
      #expect(
        printed.output.isEmpty && printed.errors.hasPrefix("there is no"), "\(printed.errors)")
    }
    #expect(!FileManager.default.fileExists(atPath: Run.folder(stand) + "-none"))
  }

  @Test("a relay that makes no receipts is told where bodies are to wait for them")
  func noReceipts() async throws {
    let stand = try OutboxStand()
    try await stand.relay.start()
    let run = try Run(
      stand, "http://127.0.0.1:\(stand.relay.port)", ["--custody", "receipt"])
    try run.write(0..<2)
    try await run.process.errors(hold: "the relay makes no receipts")
    run.process.signal(SIGTERM)
  }

  @Test("how a reading has ended is asked for as often as it is told to")
  func checkIn() async throws {
    let stand = try OutboxStand { _ in .answer(503) }
    try await stand.relay.start()
    let run = try Run(stand, "http://127.0.0.1:\(stand.relay.port)", ["--check-in", "1"])
    try run.write(0..<1)
    try await stand.upstream.received(count: 1)
    stand.upstream.behave { _ in .answer(200) }
    try await run.process.errors(hold: "delivered")
    run.process.signal(SIGTERM)
  }

  @Test("a word that is neither receipts nor ledger is answered with what it takes")
  func unknownWord() async throws {
    let process = try ChildProcess(TestGateway.program, ["--print", "everything"])
    #expect(try await process.ending() == .exit(2))
    #expect(process.errors.contains("--print takes receipts or ledger"))
  }
}
