import RelayCore
import StoreModel
import Synchronization
import Testing

/// What every store promises of a client's whole backlog, cancelled.
@Suite("conformance: clearing", .timeLimit(.minutes(5)))
struct ClearingConformance {
  private func client(_ bench: Bench, _ name: String = "device-1") async throws -> ClientNumber {
    try #require(try await bench.planned.client(name)?.number)
  }

  @Test(
    "all that waits of a client is cancelled in one commit, and nothing of another's",
    arguments: StoreFactory.planned)
  func all(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      var mine: [EnvelopeID] = []
      for number in 0..<300 {
        mine.append(try await bench.accept(bench.draft(lane: "l\(number % 3)", hold: number == 5)))
        if number % 10 == 0 { try await bench.accept(bench.draft(client: "device-2")) }
      }
      try await bench.record(mine[0], .end(.delivered, reason: "so"))
      let report = try await bench.planned.cancelAll(
        of: BacklogSelection(try await client(bench)), through: nil, reason: "taken back")
      #expect(report.count == 299 && report.changingCount == 0)
      let told = bench.observer.state.withLock { $0.cleared }
      #expect(told.map { $0.items.map(\.serial) } == [mine.dropFirst().map(\.serial)])
      #expect(Set(told[0].items.map(\.lane)).count == 3)
      #expect(bench.observer.state.withLock { $0.clearing.isEmpty })
      for _ in 0..<2 {
        let statistics = bench.planned.statistics()
        #expect(statistics.envelopes[.cancelled] == 299 && statistics.envelopes[.queued] == 30)
        #expect(statistics.envelopes[.held] == 0 && statistics.envelopes[.delivered] == 1)
        let record = try #require(try await bench.planned.envelope(mine[7]))
        #expect(record.state == .cancelled && record.reason == "taken back")
        let lanes = try #require(try await bench.planned.client("device-1")?.lanes)
        let cancelled: [Int] = lanes.compactMap { $0.ended[.cancelled] }
        #expect(cancelled.reduce(0, +) == 299)
        #expect(try await bench.planned.line(after: 0, countMax: 999).entries.count == 30)
        try await bench.reopen()
      }
    }
  }

  /// Cancels a part of what waits of the first device, and looks how much that is.
  private func clear(
    _ bench: Bench, lane: String? = nil, tag: String? = nil
  ) async throws -> Int {
    let selection = BacklogSelection(try await client(bench), lane: lane, tag: tag)
    let report = try await bench.planned.cancelAll(of: selection, through: nil, reason: "so")
    #expect(report.changingCount == 0)
    return report.count
  }

  private func draft(_ bench: Bench, lane: String, tag: String?) -> EnvelopeDraft {
    var draft = bench.draft(lane: lane)
    draft.tag = tag
    return draft
  }

  @Test(
    "a lane, a tag or both select a part, in one commit, over reopenings",
    arguments: StoreFactory.planned)
  func parts(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      var ids: [String: [EnvelopeID]] = [:]
      for round in 0..<3 {
        for (lane, tag) in [("a", "x"), ("a", nil), ("b", "x"), ("b", "y")] {
          let id = try await bench.accept(draft(bench, lane: lane, tag: tag))
          ids[lane + (tag ?? ""), default: []].append(id)
        }
        // Another client's lane of the same name, with the same tag.
        try await bench.accept(bench.draft(client: "device-\(round + 2)", lane: "a"))
      }
      #expect(try await clear(bench, lane: "none") == 0)
      #expect(try await clear(bench, tag: "none") == 0)
      #expect(try await clear(bench, lane: "b", tag: "none") == 0)
      #expect(try await clear(bench, lane: "none", tag: "x") == 0)
      #expect(bench.observer.state.withLock { $0.cleared.isEmpty })
      #expect(try await clear(bench, lane: "a", tag: "x") == 3)
      #expect(try await clear(bench, lane: "a", tag: "x") == 0)
      try await bench.reopen()
      #expect(try await clear(bench, tag: "x") == 3)
      #expect(try await clear(bench, lane: "a") == 3)
      let told = bench.observer.state.withLock { $0.cleared }
      #expect(
        told.map { $0.items.map(\.serial) }
          == [ids["ax"], ids["bx"], ids["a"]].map { $0?.map(\.serial) ?? [] })
      #expect(bench.observer.state.withLock { $0.clearing.isEmpty })
      let waiting = try await bench.planned.line(after: 0, countMax: 99).entries.map(\.serial)
      #expect(waiting.count == 6 && (ids["by"] ?? []).allSatisfy { waiting.contains($0.serial) })
      let statistics = bench.planned.statistics()
      #expect(statistics.envelopes[.cancelled] == 9 && statistics.envelopes[.queued] == 6)
      let lanes = try #require(try await bench.planned.client("device-1")?.lanes)
      #expect(lanes.map { $0.ended[.cancelled] ?? 0 }.sorted() == [3, 6])
    }
  }

  @Test(
    "a tag is the one that an envelope has by then, and a number counts as taken",
    arguments: StoreFactory.planned)
  func presentTag(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(draft(bench, lane: "a", tag: "old"))
      let entry = try await bench.entry(id)
      let content = try #require(try await bench.planned.envelope(id)).draft.content
      try await bench.record(
        id, .edit(EnvelopeEdit(content: content, tag: "new", entry: entry, notBefore: nil)))
      var parked = bench.draft(lane: "n", sequence: 2)
      parked.tag = "new"
      let second = try await bench.accept(parked)
      #expect(try await clear(bench, tag: "old") == 0)
      #expect(try await clear(bench, tag: "new") == 2)
      for cancelled in [id, second] {
        #expect(try await bench.planned.envelope(cancelled)?.state == .cancelled)
      }
      let first = try await bench.accept(bench.draft(lane: "n", sequence: 1))
      let third = try await bench.accept(bench.draft(lane: "n", sequence: 3))
      let waiting = try await bench.planned.line(after: 0, countMax: 9).entries
      #expect(waiting.map(\.serial) == [first.serial, third.serial])
      #expect(waiting.allSatisfy { $0.standing == .queued })
    }
  }

  @Test(
    "what is under way is left alone, and what is changing is counted",
    arguments: StoreFactory.planned)
  func spared(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let ids = [
        try await bench.accept(bench.draft()), try await bench.accept(bench.draft()),
        try await bench.accept(bench.draft()),
      ]
      bench.observer.state.withLock { state in
        state.underWay = [ids[0].serial]
        state.changing = [ids[1].serial, 999]
      }
      let client = try await client(bench)
      let first = try await bench.planned.cancelAll(
        of: BacklogSelection(client), through: nil, reason: "so")
      #expect(first.count == 1 && first.changingCount == 1)
      // What was accepted since is not meant.
      let later = try await bench.accept(bench.draft())
      bench.observer.state.withLock { $0.changing = [] }
      let second = try await bench.planned.cancelAll(
        of: BacklogSelection(client), through: first.scannedThrough, reason: "so")
      #expect(second.count == 1 && second.changingCount == 0)
      let waiting = try await bench.planned.line(after: 0, countMax: 9).entries.map(\.serial)
      #expect(waiting == [ids[0].serial, later.serial])
    }
  }

  @Test("where nothing waits, nothing is done", arguments: StoreFactory.planned)
  func nothing(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft())
      try await bench.record(id, .end(.delivered, reason: "so"))
      let client = try await client(bench)
      for _ in 0..<2 {
        let report = try await bench.planned.cancelAll(
          of: BacklogSelection(client), through: nil, reason: "so")
        #expect(report.count == 0 && report.changingCount == 0)
      }
      #expect(bench.observer.state.withLock { $0.cleared.isEmpty })
    }
  }
}
