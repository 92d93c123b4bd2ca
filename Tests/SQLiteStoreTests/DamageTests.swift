import Foundation
import RelayCore
import SQLite
import Testing

@testable import SQLiteStore

/// How much damage is tried.
private enum DamageRun {
  /// How many cases of each kind are tried, and from which seed on.
  static let cases = Int(ProcessInfo.processInfo.environment["DAMAGE_CASES"] ?? "") ?? 2
  static let firstSeed = UInt64(ProcessInfo.processInfo.environment["SEED"] ?? "") ?? 1
  /// Ten ways, and some seconds for each case beside other builds.
  static let minutesMax = 5 + cases
}

/// Seeded damage to a real store's file, many times over: see `make damage`.
@Suite("SQLite store: seeded damage", .timeLimit(.minutes(DamageRun.minutesMax)))
struct DamageTests {

  /// What a case has come to, for the figures in docs/testing.md.
  struct Tally {
    var cases = 0
    var refused = 0
    var named = 0
    var envelopes = 0
    var kept = 0
    var unavoidable = 0
    var slowestMs = 0
  }

  @Test("whatever is damaged, a start is clean, a check sees it, and all that is left is salvaged")
  func strikes() async throws {
    try await DamageBench.with { bench in
      try await bench.fill(rounds: 10)
      let before = try await bench.contents()
      await bench.bench.store.close()
      let whole = [UInt8](try #require(FileManager.default.contents(atPath: bench.database)))
      let pages = try PageContents(database: bench.database)
      let struck = bench.folder + "-struck"
      defer { try? FileManager.default.removeItem(atPath: struck) }
      for (place, kind) in Damage.allCases.enumerated() {
        for pagesStruck in [1, 10] {
          var tally = Tally()
          for index in 0..<DamageRun.cases {
            let seed =
              DamageRun.firstSeed + UInt64(place * 1_000_000 + pagesStruck * 10_000 + index)
            var random = SplitMix64(seed: seed)
            let (bytes, damaged) = kind.strike(
              whole, pageBytes: 8192, count: pagesStruck, &random)
            try bench.copy(to: struck)
            try Data(bytes).write(to: URL(fileURLWithPath: DataFolder.database(in: struck)))
            let name = "\(kind) x\(pagesStruck), seed \(seed)"
            try await Self.look(
              bench, struck, before, pages, (kind, damaged), name, &tally)
          }
          print(
            "damage: \(kind) x\(pagesStruck): \(tally.cases) cases, \(tally.refused) refused at "
              + "start, \(tally.named) named by check, kept \(tally.kept) of \(tally.envelopes) "
              + "envelopes (on damaged pages: \(tally.unavoidable)), "
              + "slowest salvage \(tally.slowestMs) ms")
        }
      }
    }
  }

  /// Tokens come through but for those on damaged pages, revocations but for those that stood on
  /// two of them, and none is lost untold.
  private static func lookAtTokens(
    _ before: DamageBench.Contents, _ after: DamageBench.Contents, _ pages: PageContents,
    _ damaged: Set<Int>, _ findings: [SalvageFinding], _ name: String
  ) {
    guard pages.maps.isDisjoint(with: damaged) else { return }
    let missing = before.tokens.filter { after.tokens[$0.key] != $0.value }
    let isHit = pages.tokenPages.map { !$0.isDisjoint(with: damaged) }
    #expect(missing.isEmpty || isHit[0], "\(name): \(missing.count) tokens are not what they were")
    let revocations = missing.values.filter { if case .revoked = $0 { true } else { false } }
    #expect(revocations.isEmpty || isHit[1], "\(name): \(revocations.count) revocations are lost")
    let absent = missing.keys.filter { after.tokens[$0] == nil }
    #expect(absent.isEmpty || findings.contains { $0.table == "token" }, "\(name): untold")
  }

  private static func look(
    _ bench: DamageBench, _ struck: String, _ before: DamageBench.Contents, _ pages: PageContents,
    _ damage: (kind: Damage, pages: Set<Int>), _ name: String, _ tally: inout Tally
  ) async throws {
    let damaged = damage.pages
    let verdict = try StoreCheck.run(folder: struck)
    let clock = ContinuousClock.now
    let (report, findings) = try bench.salvage(from: struck)
    tally.slowestMs = max(
      tally.slowestMs, Int((ContinuousClock.now - clock) / .milliseconds(1)))
    #expect(findings.isEmpty || !verdict.isSound, "\(name): unseen: \(findings.prefix(1))")
    let again = try StoreCheck.run(folder: bench.newFolder)
    // What has changed cannot be mended: it is told, kept as it is, and not sent.
    let changed = again.findings.filter { $0.kind == "content-changed" }
    let kept = again.findings.filter { ["content-changed", "body-file-changed"].contains($0.kind) }
    #expect(again.findings.count == kept.count, "\(name): \(again.findings)")
    let told = findings.count { $0.reason.hasPrefix("bytes of it have changed") }
    #expect(told == changed.first?.count ?? 0, "\(name): untold: \(changed)")
    let after = try await bench.salvaged()
    #expect(report.envelopes == after.envelopes.count, "\(name)")
    let unavoidable = pages.lost(with: damaged)
    let missing = Set(before.envelopes.keys).subtracting(after.envelopes.keys)
    if pages.maps.isDisjoint(with: damaged) {
      let lost = missing.subtracting(unavoidable)
      #expect(lost.isEmpty, "\(name): lost \(lost.count): \(findings.prefix(3))")
    }
    // An id that has flipped into another one is told by its row's number, but for the bits of it
    // that are a time or random.
    let unknown = Set(after.envelopes.keys).subtracting(before.envelopes.keys)
    let flipped = damage.kind == .flippedBytes ? missing.intersection(unavoidable) : []
    let known = Set(flipped.compactMap { EnvelopeID(parsing: $0)?.serial })
    let twins = Set(unknown.compactMap { EnvelopeID(parsing: $0)?.serial }).intersection(known)
    #expect(twins.count == unknown.count, "\(name): \(unknown) were never accepted")
    #expect(missing.count == twins.count || !findings.isEmpty, "\(name): lost and none told")
    for (id, text) in after.envelopes where !unavoidable.contains(id) && !unknown.contains(id) {
      // A client's name may be lost with its row; what was posted may not.
      let isSame =
        text == before.envelopes[id] || findings.contains { $0.kind == .name }
        || !pages.names.isDisjoint(with: damaged)
      #expect(isSame, "\(name): \(id) is not what it was")
    }
    lookAtTokens(before, after, pages, damaged, findings, name)
    let places = Dictionary(uniqueKeysWithValues: before.order.enumerated().map { ($1, $0) })
    for (lane, ids) in after.line {
      let order = ids.compactMap { places[$0] }
      #expect(order == order.sorted(), "\(name): \(lane) is out of order")
    }
    tally.cases += 1
    tally.named += verdict.isSound ? 0 : 1
    tally.envelopes += before.envelopes.count
    tally.kept += after.envelopes.count
    tally.unavoidable += unavoidable.count
    do throws(StoreError) {
      await (try SQLiteStore.open(folder: struck)).close()
    } catch {
      tally.refused += 1
      #expect(error.kind == .corrupt, "\(name): \(error)")
    }
  }
}
