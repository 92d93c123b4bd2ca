import Foundation
import RelayCore
import SQLite
import Testing

@testable import SQLiteStore

/// Lists of the SQLite store: what its database leaves out by itself.
@Suite("SQLite store: listing", .timeLimit(.minutes(5)))
struct ListingTests {
  /// Every page of a list, with the calls that it took.
  private func list(
    _ store: any EnvelopeStore, _ filter: EnvelopeFilter, looksMax: Int
  ) async throws -> [String] {
    var found: [String] = []
    var after: Serial = 0
    while true {
      let page = try await store.list(filter, after: after, countMax: 40, looksMax: looksMax)
      found += page.envelopes.map { "\($0.id)" }
      guard page.hasMore else { return found }
      try #require(page.scannedThrough > after)
      after = page.scannedThrough
    }
  }

  /// The same by judging each of all envelopes.
  private func judged(
    _ store: any EnvelopeStore, _ passes: (EnvelopeSummary) -> Bool
  ) async throws -> [String] {
    let page = try await store.list(
      EnvelopeFilter(), after: 0, countMax: 10_000, looksMax: 10_000)
    #expect(!page.hasMore && page.envelopes.count > 100)
    return page.envelopes.filter(passes).map { "\($0.id)" }
  }

  /// Filters, each with what it means for one envelope.
  private static let cases: [(EnvelopeFilter, @Sendable (EnvelopeSummary) -> Bool)] = [
    (EnvelopeFilter(client: "device-1"), { $0.terms.client == "device-1" }),
    (
      EnvelopeFilter(client: "device-1", lane: "lane-1"),
      { $0.terms.client == "device-1" && $0.terms.lane == "lane-1" }
    ),
    (EnvelopeFilter(lane: "lane-2"), { $0.terms.lane == "lane-2" }),
    (EnvelopeFilter(tag: "t"), { $0.terms.tag == "t" }),
    (EnvelopeFilter(tag: "none"), { $0.terms.tag == "none" }),
    (EnvelopeFilter(upstream: "default"), { $0.terms.upstream == "default" }),
    (EnvelopeFilter(states: [.failed, .held]), { [.failed, .held].contains($0.fate.state) }),
    (
      EnvelopeFilter(client: "device-2", states: [.queued]),
      { $0.terms.client == "device-2" && $0.fate.state == .queued }
    ),
  ]

  @Test("what a filter leaves out is the same, however far a call looks")
  func stretches() async throws {
    try await DamageBench.with { bench in
      try await bench.fill(rounds: 6)
      let store = bench.bench.store
      for (filter, passes) in Self.cases {
        let expected = try await judged(store, passes)
        for looksMax in [7, 100, 10_000_000] {
          #expect(try await list(store, filter, looksMax: looksMax) == expected, "\(filter)")
        }
      }
    }
  }

  @Test("a page that cannot be read keeps a list from nothing else")
  func damaged() async throws {
    try await DamageBench.with { bench in
      try await bench.fill(rounds: 6)
      await bench.bench.store.close()
      let page = try Connection(path: bench.database, access: .readOnly).number(
        "SELECT pageno FROM dbstat WHERE name = 'envelope' AND pagetype = 'leaf' LIMIT 1 OFFSET 3")
      try Damage.overwrite(
        bench.database, at: Int(page - 1) * 8192, with: [UInt8](repeating: 0, count: 8192))
      let store = try SQLiteStore.open(folder: bench.folder)
      for (filter, passes) in Self.cases {
        let expected = try await judged(store, passes)
        #expect(try await list(store, filter, looksMax: 10_000_000) == expected, "\(filter)")
      }
      await store.close()
    }
  }
}
