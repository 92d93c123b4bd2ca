import RelayCore
import StoreModel
import Synchronization
import Testing

/// What every store promises of a client's whole backlog, cancelled.
@Suite("conformance: clearing", .timeLimit(.minutes(1)))
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
        of: try await client(bench), through: nil, reason: "taken back")
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
      let first = try await bench.planned.cancelAll(of: client, through: nil, reason: "so")
      #expect(first.count == 1 && first.changingCount == 1)
      // What was accepted since is not meant.
      let later = try await bench.accept(bench.draft())
      bench.observer.state.withLock { $0.changing = [] }
      let second = try await bench.planned.cancelAll(
        of: client, through: first.scannedThrough, reason: "so")
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
        let report = try await bench.planned.cancelAll(of: client, through: nil, reason: "so")
        #expect(report.count == 0 && report.changingCount == 0)
      }
      #expect(bench.observer.state.withLock { $0.cleared.isEmpty })
    }
  }
}
