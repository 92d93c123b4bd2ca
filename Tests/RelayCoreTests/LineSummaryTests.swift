@testable import RelayCore
import Testing

@Suite("What a stretch of the line holds, counted")
struct LineSummaryTests {
  private func entries() -> [LineEntry] {
    var random = SplitMix64(seed: 7)
    return (1...5000).map { serial in
      let lane = Int64.random(in: 1...700, using: &random)
      let standing: Standing = Standing.allCases.randomElement(using: &random) ?? .queued
      let due = Bool.random(using: &random) ? Int64.random(in: 0...99, using: &random) : nil
      return LineEntry(
        serial: Serial(serial), client: ClientNumber(rawValue: lane / 3),
        lane: LaneNumber(rawValue: lane),
        upstream: UpstreamNumber(rawValue: Int32.random(in: 1...3, using: &random)),
        acceptedAt: WallTime(millisecondsSinceEpoch: Int64.random(in: 0...999, using: &random)),
        expiresAt: WallTime(millisecondsSinceEpoch: Int64.random(in: 50...999, using: &random)),
        standing: standing, dueAt: due.map { WallTime(millisecondsSinceEpoch: $0) },
        attempts: Int32.random(in: 0...1, using: &random))
    }
  }

  @Test("each lane's share says how many wait, which are the first and the last, and how much")
  func shares() throws {
    let entries = entries()
    let summary = LineSummary(of: entries)
    #expect(summary.waitingCount == entries.count)
    #expect(summary.earliestDeadline == entries.map(\.expiresAt).min())
    let lanes = Dictionary(grouping: entries, by: \.lane)
    #expect(Set(summary.shares.map(\.lane)) == Set(lanes.keys))
    #expect(summary.shares.count == lanes.count)
    for share in summary.shares {
      let own = try #require(lanes[share.lane])
      let (parked, standing) = (
        own.filter { $0.standing == .parked }, own.filter { $0.standing != .parked }
      )
      #expect(share.client == own.first?.client && share.least == own.first?.serial)
      #expect(share.count == standing.count && share.parked == parked.count)
      #expect(share.first == standing.first?.serial && share.last == standing.last?.serial)
      #expect(share.blocked == standing.first { $0.standing == .blocked }?.serial)
      #expect(share.parkedSince == parked.map(\.acceptedAt).min())
      #expect(share.bytes == Int64(10 * own.count))
      let waits = standing.filter { $0.standing != .blocked && $0.attempts > 0 && $0.dueAt != nil }
      for (upstream, entries) in Dictionary(grouping: waits, by: \.upstream) {
        #expect(share.backoffs[upstream] == entries.compactMap(\.dueAt).max())
      }
      #expect(share.backoffs.count == Set(waits.map(\.upstream)).count)
    }
  }

  @Test("what waits for each upstream and of each client adds up")
  func sums() {
    let entries = entries()
    let summary = LineSummary(of: entries)
    #expect(
      summary.waitingFor == Dictionary(grouping: entries, by: \.upstream).mapValues(\.count))
    #expect(
      summary.use
        == Dictionary(grouping: entries, by: \.client).mapValues {
          WaitingUse(count: $0.count, bytes: Int64(10 * $0.count))
        })
  }

  @Test("stretches that are counted apart, and put together in any order, are the same as one")
  func stretches() {
    let entries = entries()
    let whole = LineSummary(of: entries)
    var parts = stride(from: 0, to: entries.count, by: 333).map {
      LineSummary(of: entries[$0..<min($0 + 333, entries.count)])
    }
    var random = SplitMix64(seed: 8)
    parts.shuffle(using: &random)
    var sum = LineSummary()
    for part in parts { sum.add(part) }
    #expect(
      sum.shares.sorted { $0.lane < $1.lane } == whole.shares.sorted { $0.lane < $1.lane })
    #expect(sum.waitingFor == whole.waitingFor && sum.use == whole.use)
    #expect(sum.earliestDeadline == whole.earliestDeadline)
  }

  @Test("nothing is nothing")
  func nothing() {
    var summary = LineSummary()
    summary.add(LineSummary())
    #expect(summary.shares.isEmpty && summary.use.isEmpty && summary.waitingFor.isEmpty)
    #expect(summary.waitingCount == 0 && summary.earliestDeadline == nil)
  }
}
