import RelayCore
import SQLite
import SQLitePages
import Testing

@testable import SQLiteStore

/// Searches by client and tag, over more stretches of envelopes than one.
@Suite("SQLite store: searches", .timeLimit(.minutes(5)))
struct SearchTests {
  private static let perStretch = Int(SearchBlock.width)

  /// Accepts envelopes of some clients, one of which has half of them, with a few tags; some are
  /// delivered.
  private func fill(_ bench: Bench, count: Int, random: inout SplitMix64) async throws {
    var left = count
    while left > 0 {
      let drafts = (0..<min(left, 500)).map { _ in
        let client = random.next() % 2 == 0 ? "loud" : "device-\(random.next() % 50)"
        var draft = bench.draft(client: client)
        let tag = random.next() % 400
        draft.tag = tag < 30 ? "t\(tag % 10)" : nil
        return draft
      }
      _ = try await bench.store.append(drafts, isAtomic: false)
      left -= drafts.count
    }
    let line = try await bench.store.line(after: 0, countMax: count / 3).entries
    let recorded = bench.observer.recordedCount
    bench.store.record(line.map { change($0, .end(.delivered, reason: ""), bench) })
    await bench.observer.waitUntilRecorded(recorded + line.count)
  }

  private func change(
    _ entry: LineEntry, _ change: Transition.Change, _ bench: Bench
  ) -> Transition {
    Transition(
      serial: entry.serial, lane: entry.lane, upstream: entry.upstream, change: change,
      at: bench.clock.now, epoch: 1)
  }

  /// Compares what searches find with what is so, a page of 20 at a time.
  private func findsAll(_ bench: Bench, tags: [String] = ["t1", "t7", "none"]) async throws {
    let all = try await list(bench, EnvelopeFilter(), countMax: 10_000)
    var filters = ["loud", "device-7", "device-49"].map { EnvelopeFilter(client: $0) }
    filters += tags.map { EnvelopeFilter(tag: $0) }
    filters += [
      EnvelopeFilter(client: "loud", tag: "t3"), EnvelopeFilter(client: "device-3", tag: "t3"),
      EnvelopeFilter(client: "device-9", states: [.delivered]),
      EnvelopeFilter(tag: "t5", states: [.queued]),
    ]
    for filter in filters {
      let expected = all.filter { envelope in
        (filter.selection.client == nil || filter.selection.client == envelope.terms.client)
          && (filter.selection.tag == nil || filter.selection.tag == envelope.terms.tag)
          && filter.selection.states.contains(envelope.fate.state)
      }
      let found = try await list(bench, filter, countMax: 20)
      #expect(found.map(\.id) == expected.map(\.id), "\(filter)")
    }
  }

  /// All pages of a list.
  private func list(
    _ bench: Bench, _ filter: EnvelopeFilter, countMax: Int
  ) async throws -> [EnvelopeSummary] {
    var found: [EnvelopeSummary] = []
    var after: Serial = 0
    while true {
      let page = try await bench.store.list(
        filter, after: after, countMax: countMax, looksMax: 1_000_000)
      found += page.envelopes
      guard page.hasMore else { return found }
      try #require(page.scannedThrough > after)
      after = page.scannedThrough
    }
  }

  /// The stretches that have an index.
  private func indexed(_ bench: Bench) throws -> [Int64] {
    let connection = try Connection(
      path: DataFolder.database(in: bench.folder), access: .readOnly)
    let row = try Statement("SELECT number FROM search_block ORDER BY number", on: connection)
    var numbers: [Int64] = []
    while try row.step() { numbers.append(row.int(0)) }
    return numbers
  }

  @Test("a search finds what is so, with an index and in the last stretch, also after restarts")
  func finds() async throws {
    try await Bench.with { bench in
      var random = SplitMix64(seed: 1)
      try await fill(bench, count: Self.perStretch / 2, random: &random)
      #expect(try indexed(bench).isEmpty)
      // In the middle of a stretch, and just as one is full.
      try await bench.reopen()
      try await fill(bench, count: Self.perStretch / 2 - 1, random: &random)
      try await bench.reopen()
      try await fill(bench, count: Self.perStretch + 700, random: &random)
      #expect(try indexed(bench) == [0, 1])
      try await findsAll(bench)
      await bench.store.close()
      #expect(try StoreCheck.run(folder: bench.folder).findings.isEmpty)
    }
  }

  @Test("a tag that an envelope was given later is found, in a full stretch and in the last one")
  func edited() async throws {
    try await Bench.with { bench in
      var random = SplitMix64(seed: 2)
      try await fill(bench, count: Self.perStretch + 900, random: &random)
      let line = try await bench.store.line(after: 0, countMax: 100_000).entries
      for entry in [line[10], line[11], line[line.count - 5]] {
        let edit = EnvelopeEdit(
          content: bench.draft().content, tag: "given later", entry: entry, notBefore: nil)
        let recorded = bench.observer.recordedCount
        bench.store.record([change(entry, .edit(edit), bench)])
        await bench.observer.waitUntilRecorded(recorded + 1)
      }
      try await findsAll(bench, tags: ["given later", "t2"])
      try await fill(bench, count: Self.perStretch, random: &random)
      #expect(try indexed(bench) == [0, 1])
      try await findsAll(bench, tags: ["given later", "t2"])
    }
  }

  @Test("what an earlier version stored without an index is found")
  func withoutIndex() async throws {
    try await Bench.with { bench in
      var random = SplitMix64(seed: 3)
      try await fill(bench, count: 2 * Self.perStretch + 100, random: &random)
      try Connection(path: DataFolder.database(in: bench.folder), access: .readWrite)
        .execute("DELETE FROM search_block WHERE number = 0")
      try await findsAll(bench)
      try await bench.reopen()
      try await fill(bench, count: Self.perStretch, random: &random)
      #expect(try indexed(bench) == [1, 2])
      try await findsAll(bench)
    }
  }

  @Test("an index goes with the last envelope of its stretch")
  func forgotten() async throws {
    try await Bench.with { bench in
      var random = SplitMix64(seed: 4)
      try await fill(bench, count: 3 * Self.perStretch, random: &random)
      let cutoffs = RetentionCutoffs(
        delivered: bench.clock.now.adding(milliseconds: 1), failed: bench.clock.now)
      while try await !bench.store.deleteEnded(cutoffs, countMax: 1000).isRoundDone {}
      // A third was delivered: the first stretch, and a little of the second.
      #expect(try indexed(bench) == [1, 2])
      try await findsAll(bench)
    }
  }

  @Test("an index that leaves something out is seen by a check, and a salvage goes without")
  func checked() async throws {
    try await DamageBench.with { bench in
      var random = SplitMix64(seed: 5)
      try await fill(bench.bench, count: Self.perStretch + 1, random: &random)
      await bench.bench.store.close()
      try bench.execute("UPDATE search_block SET entries = 0, terms = x''")
      let verdict = try StoreCheck.run(folder: bench.folder)
      #expect(verdict.findings.map(\.kind) == ["not-found-by-search"])
      // Number 0 is nobody's.
      #expect(verdict.findings.first?.count == Self.perStretch - 1)
      #expect(try bench.salvage().findings.isEmpty)
      #expect(try StoreCheck.run(folder: bench.newFolder).isSound)
    }
  }

  @Test("a damaged index keeps nobody's envelope from being stored, and searches from nothing")
  func damaged() async throws {
    try await Bench.with { bench in
      var random = SplitMix64(seed: 6)
      try await fill(bench, count: Self.perStretch + 10, random: &random)
      let path = DataFolder.database(in: bench.folder)
      let beside = try Connection(path: path, access: .readWrite)
      try beside.execute("PRAGMA wal_checkpoint(TRUNCATE)")
      let root = try beside.number("SELECT rootpage FROM sqlite_schema WHERE name = 'search_block'")
      let bytes = try DatabaseImage(path: path, indexTrust: .hint).pageBytes
      try Damage.overwrite(
        path, at: (Int(root) - 1) * bytes, with: [UInt8](repeating: 0, count: bytes))
      // A commit of somebody else's: what a connection has kept of the file counts no longer.
      try beside.execute("PRAGMA user_version = \(Migration.latest)")
      try await findsAll(bench)
      try await fill(bench, count: Self.perStretch, random: &random)
      #expect(try bench.files.damage.leftOut == [.searches])
      try await findsAll(bench)
    }
  }
}
