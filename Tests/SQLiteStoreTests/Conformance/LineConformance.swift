import RelayCore
import StoreModel
import SQLiteStore
import Testing

/// What every store promises of a line that is counted, or looked up, instead of read.
@Suite("conformance: the line, counted", .timeLimit(.minutes(5)))
struct LineConformance {
  @Test(
    "counting finds what reading finds, from any place on, also after a restart",
    arguments: StoreFactory.all)
  func counted(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      try await fill(bench)
      for _ in 0..<2 {
        for after in [0, 1, 7, 199, 200, 5000] as [Serial] {
          let entries = try await bench.store.line(after: after, countMax: 1000)
          let summary = try await bench.store.lineSummary(after: after)
          try expect(summary, entries)
        }
        try await bench.reopen()
      }
    }
  }

  @Test(
    "entries are looked up by their numbers, and those that do not wait are left out",
    arguments: StoreFactory.planned)
  func lookedUp(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      try await fill(bench)
      let line = try await bench.planned.line(after: 0, countMax: 1000).entries
      let wanted = [line[3], line[0], line[90]]
      let found = try await bench.planned.line(at: wanted.map(\.serial) + [9, 9999])
      #expect(found == wanted)
      #expect(try await bench.planned.line(at: []).isEmpty)
    }
  }

  /// Accepts 200, of which every tenth ends, and others are held, parked, blocked and put off.
  private func fill(_ bench: Bench) async throws {
    let drafts = (1...200).map { number -> EnvelopeDraft in
      // The numbers before these are missing.
      let sequence: Int64? = number % 14 == 3 ? Int64(number) + 1 : nil
      return bench.draft(
        client: "device-\(number % 7)", lane: "lane-\(number % 2)", sequence: sequence,
        hold: number % 11 == 0)
    }
    _ = try await bench.planned.append(drafts, isAtomic: false)
    let line = try await bench.planned.line(after: 0, countMax: 1000).entries
    let queued = line.filter { $0.standing == .queued }
    let transitions = queued.compactMap { change(of: $0, bench) }
    bench.planned.record(transitions)
    await bench.observer.waitUntilRecorded(transitions.count)
  }

  private func change(of entry: LineEntry, _ bench: Bench) -> Transition? {
    var change = Transition.Change.end(.cancelled, reason: "x")
    var outcome: Outcome?
    switch entry.serial % 10 {
    case 7: (change, outcome) = (.block(reason: "no"), .refused)
    case 8:
      let due = bench.clock.now.adding(milliseconds: entry.serial)
      (change, outcome) = (.retry(at: due), .unreachable)
    case 9: break
    default: return nil
    }
    return Transition(
      serial: entry.serial, lane: entry.lane, upstream: entry.upstream, change: change,
      at: bench.clock.now, attempt: outcome.map { bench.attempt(1, $0) }, epoch: bench.epoch)
  }

  private func expect(_ summary: LineSummary, _ page: LinePage) throws {
    let entries = page.entries
    #expect(summary.waitingCount == entries.count && summary.use == page.use)
    #expect(summary.earliestDeadline == entries.map(\.expiresAt).min())
    #expect(
      summary.waitingFor == Dictionary(grouping: entries, by: \.upstream).mapValues(\.count))
    let lanes = Dictionary(grouping: entries, by: \.lane)
    #expect(summary.shares.count == lanes.count)
    for share in summary.shares {
      let own = try #require(lanes[share.lane])
      let parked = own.filter { $0.standing == .parked }
      let standing = own.filter { $0.standing != .parked }
      #expect(share.client == own.first?.client && share.least == own.first?.serial)
      #expect(share.count == standing.count && share.parked == parked.count)
      #expect(share.first == standing.first?.serial && share.last == standing.last?.serial)
      #expect(share.blocked == standing.first { $0.standing == .blocked }?.serial)
      #expect(share.parkedSince == parked.map(\.acceptedAt).min())
      let backoff = standing.filter { $0.standing != .blocked && $0.attempts > 0 }
      #expect(share.backoffs.values.max() == backoff.compactMap(\.dueAt).max())
    }
  }
}
