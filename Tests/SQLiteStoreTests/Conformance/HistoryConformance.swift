import RelayCore
import SQLite
import Testing

@testable import SQLiteStore

/// What every store promises of the history.
@Suite("conformance: history", .timeLimit(.minutes(5)))
struct HistoryConformance {
  private static let start = Minute(rawValue: 28_000_000)

  private func row(
    _ minute: Int64, _ upstream: Int32 = 1, accepted: Int64 = 1, waiting: Int64 = 0,
    delaysMs: [Int64] = []
  ) -> HistoryRow {
    var figures = HistoryFigures()
    (figures.accepted, figures.delivered) = (accepted, Int64(delaysMs.count))
    (figures.failed, figures.waiting) = (2, waiting)
    for delay in delaysMs { figures.delays.observe(delay) }
    let upstream = UpstreamNumber(rawValue: upstream)
    return HistoryRow(HistoryPlace(Self.start.adding(minute), upstream), figures)
  }

  /// The last hour, or day, as of the end of a minute.
  private func points(
    _ bench: Bench, through minute: Int64, _ span: HistorySpan = .hour, of upstream: Int32? = nil
  ) async throws -> [HistorySeries.Point] {
    let empty = HistorySeries(span, before: Self.start.adding(minute + 1).begin)
    let upstream = upstream.map { UpstreamNumber(rawValue: $0) }
    return try await bench.store.readHistory(into: empty, of: upstream).points
  }

  @Test(
    "rows are there after a restart, and one of the same minute is added to",
    arguments: StoreFactory.all)
  func survives(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let delays: [Int64] = [3, 30, 300, 700_000_000]
      try await bench.store.writeHistory(
        [row(0, waiting: 4, delaysMs: delays), row(0, 2, waiting: 1), row(0, 0, waiting: 7)],
        now: Self.start.adding(1))
      try await bench.reopen()
      try await bench.store.writeHistory(
        [row(0, accepted: 5, waiting: 9, delaysMs: [3])], now: Self.start.adding(1))
      try await bench.reopen()
      let own = try #require(try await points(bench, through: 0, of: 1).last)
      #expect([own.accepted, own.delivered, own.failed, own.waiting] == [6, 5, 4, 9])
      var expected = Histogram(.chartMilliseconds)
      for delay in delays + [3] { expected.observe(delay) }
      #expect(own.p50Ms == expected.quantile(0.5) && own.p99Ms == 604_800_000)
      let all = try #require(try await points(bench, through: 0).last)
      #expect([all.accepted, all.failed, all.waiting] == [8, 8, 17])
      #expect(try await points(bench, through: 0, of: 3).allSatisfy { $0.waiting == nil })
    }
  }

  @Test(
    "a day is kept, and of what is older the last, which says how many wait",
    arguments: StoreFactory.all)
  func ring(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      for hour: Int64 in 0..<30 {
        try await bench.store.writeHistory(
          (0..<60).map { row(hour * 60 + $0, waiting: hour) },
          now: Self.start.adding(hour * 60 + 60))
      }
      try await bench.store.writeHistory([row(1799, 2, waiting: 5)], now: Self.start.adding(1800))
      let kept = try await points(bench, through: 1799, .day)
      #expect(kept.allSatisfy { $0.accepted >= 5 } && kept.count == 288)
      // Older than a day: nothing is left but what waits.
      #expect(try await points(bench, through: 300, .hour).allSatisfy { $0.accepted == 0 })
      try await bench.store.writeHistory(
        [row(9999, 2, waiting: 6)], now: Self.start.adding(10_000))
      for _ in 0..<20 {
        try await bench.store.writeHistory([row(9999, 2)], now: Self.start.adding(10_000))
      }
      let late = try await points(bench, through: 9999, .day, of: 1)
      #expect(late.allSatisfy { $0.waiting == 29 && $0.accepted == 0 })
      guard bench.planned is SQLiteStore else { return }
      let rows = try Connection(
        path: DataFolder.database(in: bench.folder), access: .readOnly)
      #expect(try rows.number("SELECT count(*) FROM history WHERE upstream = 1") == 1)
    }
  }

  @Test(
    "what a clock that was set back has left in the future goes", arguments: StoreFactory.all)
  func future(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      try await bench.store.writeHistory(
        [row(0), row(1), row(2), row(90, waiting: 99)], now: Self.start.adding(90))
      try await bench.store.writeHistory([row(0)], now: Self.start.adding(1))
      let found = try await points(bench, through: 100, .day)
      #expect(found.map(\.accepted).reduce(0, +) == 4)
      #expect(found.last?.waiting == 0)
    }
  }

  @Test("a row's delays are read as they were written, and what is none's is known")
  func code() {
    var delays = Histogram(.chartMilliseconds)
    #expect(HistoryCode.bytes(of: delays).isEmpty)
    #expect(HistoryCode.delays([]) == delays)
    for index: Int64 in 0..<300 { delays.observe(index * index * 100) }
    let bytes = HistoryCode.bytes(of: delays)
    #expect(HistoryCode.delays(bytes) == delays && bytes.count < 48)
    #expect(HistoryCode.delays(Array(bytes.dropLast())) == nil)
    #expect(HistoryCode.delays([2] + bytes.dropFirst()) == nil)
    #expect(HistoryCode.delays(bytes + [0x80]) == nil)
    #expect(HistoryCode.delays([1] + [UInt8](repeating: 0xFF, count: 40)) == nil)
  }
}

@Suite("SQLite store: a damaged history", .timeLimit(.minutes(5)))
struct DamagedHistoryTests {
  @Test("rows that make no sense are told, and a salvage leaves them out and keeps the others")
  func damaged() async throws {
    try await DamageBench.with { bench in
      let start: Int64 = 28_000_000
      let rows = (Int64(0)..<6).map { number in
        var figures = HistoryFigures()
        figures.accepted = number + 1
        return HistoryRow(
          HistoryPlace(Minute(rawValue: start + number), UpstreamNumber(rawValue: 1)), figures)
      }
      try await bench.bench.store.writeHistory(rows, now: Minute(rawValue: start + 6))
      try await (try #require(bench.bench.store as? SQLiteStore)).write("damage") {
        writer throws(StoreError) in
        try writer.connection.execute(
          """
          UPDATE history SET delays = x'01FF' WHERE minute = \(start + 1);
          UPDATE history SET waiting = -4 WHERE minute = \(start + 2);
          """)
      }
      // One row is no reason to show no chart.
      let empty = HistorySeries(.hour, before: Minute(rawValue: start + 6).begin)
      let shown = try await bench.bench.store.readHistory(into: empty, of: nil).points
      #expect(shown.suffix(6).map(\.accepted) == [1, 2, 3, 4, 5, 6])
      await bench.bench.store.close()
      let verdict = try StoreCheck.run(folder: bench.folder)
      #expect(verdict.findings.map(\.kind) == ["invalidRow-history"])
      let (_, findings) = try bench.salvage()
      #expect(findings.map(\.table) == ["history", "history"])
      let salvaged = try Connection(
        path: DataFolder.database(in: bench.newFolder), access: .readOnly)
      #expect(try salvaged.number("SELECT sum(accepted) FROM history") == 1 + 4 + 5 + 6)
    }
  }
}
