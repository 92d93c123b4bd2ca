#if PostgreSQL
import PostgresTesting
import RelayCore
import StoreModel
import Testing

@testable import PostgresStore

/// What the store on PostgreSQL does in its own way where it lists and counts.
@Suite(
  "PostgreSQL store: listing", .timeLimit(.minutes(5)),
  .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed: scripts/setup test"))
struct PostgresListingTests {
  private func with(_ body: (Bench, PostgresStore) async throws -> Void) async throws {
    let factory = try #require(StoreFactory.all.last)
    try await Bench.with(factory) { bench in
      try await body(bench, try #require(bench.planned as? PostgresStore))
    }
  }

  /// Accepts some of two clients; every fifth is delivered, every seventh fails.
  private func fill(_ bench: Bench, count: Int = 120) async throws {
    let drafts = (0..<count).map { number in
      bench.draft(
        client: "c\(number % 2)", lane: "l\(number % 3)", key: "k\(number)",
        hold: number % 11 == 0)
    }
    _ = try await bench.planned.append(drafts, isAtomic: false)
    let line = try await bench.planned.line(after: 0, countMax: 1000).entries
    let ends = line.filter { $0.serial % 5 == 0 || $0.serial % 7 == 0 }
    bench.planned.record(
      ends.map { entry in
        Transition(
          serial: entry.serial, lane: entry.lane, upstream: entry.upstream,
          change: .end(entry.serial % 5 == 0 ? .delivered : .failed, reason: "discarded; so"),
          at: bench.clock.now, epoch: bench.epoch)
      })
    await bench.observer.waitUntilRecorded(ends.count)
  }

  private func list(
    _ store: PostgresStore, _ filter: EnvelopeFilter, countMax: Int, looksMax: Int
  ) async throws -> [EnvelopeSummary] {
    var found: [EnvelopeSummary] = []
    var after: Serial = 0
    while true {
      let page = try await store.list(
        filter, after: after, countMax: countMax, looksMax: looksMax)
      found += page.envelopes
      guard page.hasMore else { return found }
      try #require(page.scannedThrough > after)
      after = page.scannedThrough
    }
  }

  @Test("each condition passes what it says, whatever the size of a page")
  func conditions() async throws {
    try await with { bench, store in
      // Each is asked for by itself as well, for each filter.
      let count = 48
      try await fill(bench, count: count)
      let all = try await list(store, EnvelopeFilter(), countMax: 500, looksMax: 500)
      #expect(all.count == count)
      var filters = [
        EnvelopeFilter(client: "c1"), EnvelopeFilter(client: "c1", lane: "l2"),
        EnvelopeFilter(lane: "l0"), EnvelopeFilter(states: [.failed]),
        EnvelopeFilter(states: [.delivered, .held]), EnvelopeFilter(tag: "t", states: [.queued]),
        EnvelopeFilter(upstream: "default", states: [.expired, .failed]),
      ]
      var discarded = EnvelopeFilter(client: "c0")
      discarded.selection.isDiscarded = true
      filters.append(discarded)
      discarded.selection.isDiscarded = false
      filters.append(discarded)
      for filter in filters {
        let wanted = all.filter { summary in
          let (selection, terms) = (filter.selection, summary.terms)
          return selection.client ?? terms.client == terms.client
            && selection.lane ?? terms.lane == terms.lane
            && selection.states.contains(summary.fate.state) && selection.passes(summary)
        }
        #expect(!wanted.isEmpty || filter.selection.states == [.expired])
        for (countMax, looksMax) in [(1, 1), (3, 500), (500, 7), (500, 500)] {
          let found = try await list(store, filter, countMax: countMax, looksMax: looksMax)
          #expect(found.map(\.id) == wanted.map(\.id), "\(filter)")
        }
      }
    }
  }

  @Test("what holds a character that the database cannot keep is nowhere")
  func zeroCharacter() async throws {
    try await with { bench, store in
      let id = try await bench.accept(bench.draft(key: "k"))
      let page = try await store.list(
        EnvelopeFilter(tag: "t\0"), after: 0, countMax: 9, looksMax: 9)
      #expect(page.envelopes.isEmpty && !page.hasMore)
      let fates = try await store.fates(
        of: [.key("k\0", client: "device-1"), .key("k", client: "device-1")])
      #expect(fates.map { $0?.id } == [nil, id])
      let answers = try await store.answers(to: ["k\0", "k"], for: id.serial)
      #expect(answers == ["k\0": .unknown, "k": .notEarlier])
    }
  }

  @Test("the line is counted the same in whichever steps", arguments: [1, 2, 37, 4096])
  func steps(stepMax: Int) async throws {
    try await with { bench, store in
      try await fill(bench)
      _ = try await bench.planned.append(
        (2..<20).map { bench.draft(client: "p", sequence: $0) }, isAtomic: false)
      for after in [0, 50, 119, 5000] as [Serial] {
        let summary = try await store.lineSummary(
          after: after, CountingPace(step: stepMax, in: stepMax...stepMax))
        let page = try await store.line(after: after, countMax: 1000)
        #expect(summary.waitingCount == page.entries.count && summary.use == page.use)
        #expect(summary.shares.map(\.least).min() == page.entries.first?.serial)
        #expect(summary.shares.allSatisfy { $0.least > after })
      }
    }
  }

  @Test("a list begins where the time of acceptance does, found in few looks")
  func since() async throws {
    try await with { bench, store in
      var starts: [WallTime] = []
      for _ in 0..<40 {
        starts.append(bench.clock.now)
        try await bench.accept(bench.draft())
        bench.clock.advance(milliseconds: 1000)
      }
      for (index, time) in starts.enumerated() {
        var filter = EnvelopeFilter()
        filter.selection.accepted.since = time
        let page = try await store.list(filter, after: 0, countMax: 2, looksMax: 1)
        #expect(page.envelopes.map(\.fate.serial) == [Serial(index + 1)])
      }
    }
  }

  @Test("transactions are counted, with the envelopes and changes in them")
  func commits() async throws {
    try await with { bench, store in
      let before = store.commitFigures
      try await fill(bench)
      let figures = store.commitFigures
      #expect(figures.changes.sum - before.changes.sum == 120 + 38)
      #expect(figures.durations.count > before.durations.count)
      #expect(figures.durations.count == figures.changes.count)
      // The store does that from its start on.
      try await store.placeParked()
    }
  }
}
#endif
