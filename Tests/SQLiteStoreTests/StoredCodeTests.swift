import RelayCore
import SQLite
import Testing

@testable import SQLiteStore

/// The words that are stored: a check and a salvage know all that the relay writes, and no others.
@Suite("SQLite store: stored words", .timeLimit(.minutes(5)))
struct StoredCodeTests {
  /// Has the rows that operators' acts leave, with each word that there is.
  private func fill(_ bench: Bench) async throws {
    for action in Operation.Action.allCases {
      for state in Operation.State.allCases {
        var operation = Operation(
          action, EnvelopeSelection(states: action.states), matched: 1, hasMore: false, who: "ops",
          at: bench.clock.now)
        operation.number = try await bench.store.beginOperation(operation)
        operation.end(as: state, at: bench.clock.now)
        try await bench.store.noteOperation(operation)
      }
    }
    for result in AuditEnd.Result.allCases {
      let act = AuditAct(
        at: bench.clock.now, who: "ops", role: "steer", action: "pause", subject: "upstreams/u")
      let number = try await bench.store.beginAct(act)
      try await bench.store.endAct(number, AuditEnd(result, status: 200, detail: nil))
    }
    let id = try await bench.accept(bench.draft(client: "c"))
    let grants: [TokenRecord.Grant] = [
      .client("c"), .operator(.read), .operator(.steer), .revoked(client: "c"),
    ]
    for (index, grant) in grants.enumerated() {
      let isRevoked = grant == .revoked(client: "c")
      var record = TokenRecord(
        id: isRevoked ? "fleet.\(Hexadecimal.encode("c".utf8))" : "000000000000000\(index)",
        grant: grant, digest: isRevoked ? [] : [UInt8](repeating: UInt8(index), count: 32),
        label: nil, createdAt: bench.clock.now)
      if case .client = grant { renew(&record, bench) }
      #expect(try await bench.store.insertToken(record))
    }
    let lane = LaneName(client: "c", lane: "default")
    for name in [PauseName.upstream("default"), .client("c"), .lane(lane)] {
      try await bench.store.setPaused(true, name) { _ in }
    }
    for outcome in Outcome.allCases {
      try await bench.record(
        id, .retry(at: bench.clock.now),
        attempt: bench.attempt(Int32(outcome.code) + 1, outcome, status: nil))
    }
  }

  /// Has a token be as a renewal leaves it.
  private func renew(_ record: inout TokenRecord, _ bench: Bench) {
    let end = bench.clock.now
    record.expiresAt = end
    record.renewal = TokenRecord.Renewal(until: end, spanMs: 1)
    record = record.renewed(
      until: end, digest: [UInt8](repeating: 7, count: 32), seed: [1], at: end)
  }

  @Test("all that can be written is sound, and a salvage carries it over")
  func known() async throws {
    try await DamageBench.with { bench in
      try await fill(bench.bench)
      #expect(try StoreCheck.run(folder: bench.folder).findings.map(\.kind) == [])
      let operations = try await bench.bench.store.operations()
      await bench.bench.store.close()
      let (report, findings) = try bench.salvage()
      #expect(findings.isEmpty, "\(findings)")
      #expect(report.rows["operation"] == operations.count && report.rows["paused"] == 3)
      #expect(try StoreCheck.run(folder: bench.newFolder).isSound)
    }
  }

  /// A row of a ledger with these two digests, state and status.
  private static func ledger(_ values: String) -> String {
    "INSERT INTO lane_ledger (at, lane, sequence, serial, digest, link, state, status) "
      + "SELECT 1, number, 9, 1, \(values) FROM lane LIMIT 1"
  }

  @Test("a file into which SQLite does not write is not sound, and a salvage reads it")
  func header() async throws {
    try await DamageBench.with { bench in
      try await fill(bench.bench)
      await bench.bench.store.close()
      try Damage.overwrite(bench.database, at: 18, with: [3])
      #expect(try StoreCheck.run(folder: bench.folder).findings.map(\.kind) == ["header-damaged"])
      _ = try bench.salvage()
      #expect(try StoreCheck.run(folder: bench.newFolder).isSound)
    }
  }

  @Test(
    "a word that nobody writes is found by a check, and left out by a salvage",
    arguments: [
      ("UPDATE operation SET action = 'undo' WHERE number = 1", "invalidRow-operation"),
      ("UPDATE operation SET state = 4 WHERE number = 1", "invalidRow-operation"),
      ("UPDATE audit SET result = 4 WHERE number = 1", "invalidRow-audit"),
      ("UPDATE token SET kind = 4 WHERE kind = 1", "invalidRow-token"),
      ("UPDATE token SET client = NULL WHERE kind = 0", "invalidRow-token"),
      ("UPDATE token SET digest = x'00' WHERE kind = 2", "invalidRow-token"),
      ("UPDATE token SET renewal_ms = NULL WHERE kind = 0", "invalidRow-token"),
      ("UPDATE token SET former_digest = NULL WHERE kind = 0", "invalidRow-token"),
      ("UPDATE token SET former_digest = x'00' WHERE kind = 0", "invalidRow-token"),
      (
        "UPDATE token SET renewable_until = NULL, renewal_ms = NULL WHERE kind = 0",
        "invalidRow-token"
      ),
      ("UPDATE paused SET kind = 3 WHERE kind = 2", "paused-nothing"),
      ("UPDATE attempt SET outcome = 4 WHERE number = 1", "unknown-outcome"),
      (ledger("x'00', zeroblob(32), 1, 200"), "invalidRow-ledger"),
      (ledger("zeroblob(32), x'', 1, 200"), "invalidRow-ledger"),
      (ledger("zeroblob(32), zeroblob(32), 9, 200"), "invalidRow-ledger"),
      (ledger("zeroblob(32), zeroblob(32), 1, 999999"), "invalidRow-ledger"),
    ])
  func unknown(damage: String, kind: String) async throws {
    try await DamageBench.with { bench in
      try await fill(bench.bench)
      await bench.bench.store.close()
      try Connection(path: bench.database, access: .readWrite).execute(damage)
      #expect(try StoreCheck.run(folder: bench.folder).findings.map(\.kind) == [kind])
      _ = try bench.salvage()
      #expect(try StoreCheck.run(folder: bench.newFolder).findings.map(\.kind) == [])
    }
  }
}
