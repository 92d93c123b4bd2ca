import Cryptography
import RelayCore
import SQLite
import SQLitePages
import StoreModel
import Testing

@testable import SQLiteStore

@Suite("A damaged ledger of an evidence lane")
struct DamagedLedgerTests {
  private static let rules: StoreRules = {
    var rules = StoreRules()
    rules.receipts = ReceiptRules(
      issuer: "\"r\"", evidence: NamePatterns([.init(pattern: "e*", value: true)]),
      hash: { SHA256.digest(of: $0) })
    return rules
  }()

  private func accept(_ bench: Bench, _ number: Int64, lane: String) async throws -> Serial {
    var draft = bench.draft(lane: lane, key: "\(lane)-\(number)", sequence: number)
    draft.coveredDigest = [UInt8](repeating: 7, count: 32)
    return try await bench.entry(try await bench.accept(draft)).serial
  }

  @Test(
    "keeps no envelope from being stored or delivered",
    arguments: ["lane_ledger", "lane_ledger_serial"])
  func delivers(_ name: String) async throws {
    try await Bench.with { bench in
      try await bench.reopen(rules: Self.rules)
      var serials = [
        try await accept(bench, 1, lane: "e1"), try await accept(bench, 1, lane: "other"),
      ]
      let path = DataFolder.database(in: bench.folder)
      let beside = try Connection(path: path, access: .readWrite)
      try beside.execute("PRAGMA wal_checkpoint(TRUNCATE)")
      let root = try beside.number("SELECT rootpage FROM sqlite_schema WHERE name = '\(name)'")
      let bytes = try DatabaseImage(path: path, indexTrust: .hint).pageBytes
      try Damage.overwrite(
        path, at: (Int(root) - 1) * bytes, with: [UInt8](repeating: 0, count: bytes))
      // A commit of somebody else's: what a connection has kept of the file counts no longer.
      try beside.execute("PRAGMA user_version = \(Migration.latest)")
      serials.append(try await accept(bench, 2, lane: "e1"))
      serials.append(try await accept(bench, 2, lane: "other"))
      #expect(try bench.files.damage.leftOut == [.receipts])
      let loaded = try await bench.store.load(serials)
      #expect(loaded.map(\.serial) == serials && loaded.allSatisfy { $0.evidence == nil })
    }
  }
}
