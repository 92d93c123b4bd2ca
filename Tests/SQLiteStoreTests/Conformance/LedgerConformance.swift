import Cryptography
import RelayCore
import SQLiteStore
import StoreModel
import Testing

/// What every store promises of the ledgers of evidence lanes.
@Suite("conformance: ledgers", .timeLimit(.minutes(5)))
struct LedgerConformance {
  private static let hash: ReceiptHash = { SHA256.digest(of: $0) }

  private static let rules: StoreRules = {
    var rules = StoreRules()
    rules.receipts = ReceiptRules(
      issuer: "\"r\"", evidence: NamePatterns([.init(pattern: "e*", value: true)]), hash: hash)
    return rules
  }()

  private func with(
    _ factory: StoreFactory, _ body: (Bench) async throws -> Void
  ) async throws {
    try await Bench.with(factory) { bench in
      try await bench.reopen(rules: Self.rules)
      try await body(bench)
    }
  }

  private func draft(_ bench: Bench, _ number: Int64, lane: String = "e1") -> EnvelopeDraft {
    var draft = bench.draft(lane: lane, key: "\(lane)-\(number)", sequence: number)
    draft.coveredDigest = Self.digest(number)
    return draft
  }

  private static func digest(_ number: Int64) -> [UInt8] {
    [UInt8](repeating: UInt8(number), count: 32)
  }

  private func ledger(
    _ bench: Bench, lane: String = "e1", _ numbers: ClosedRange<Int64> = 1...9,
    countMax: Int = 10
  ) async throws -> [LedgerEntry]? {
    let name = LaneName(client: "device-1", lane: lane)
    return try await bench.store.ledger(of: name, numbers, countMax: countMax)?.entries
  }

  private func end(
    _ bench: Bench, _ id: EnvelopeID, _ state: EnvelopeState, answer: [UInt8] = []
  ) async throws {
    let attempt = bench.attempt(1, .delivered, status: 201)
    try await bench.record(
      id, .end(state, reason: "x"), attempt: attempt,
      response: UpstreamResponse(status: 201, headers: HeaderBlock(), body: answer))
  }

  private func deleteEnded(_ bench: Bench) async throws {
    let later = bench.clock.now.adding(milliseconds: 1)
    let cutoffs = RetentionCutoffs(delivered: later, failed: later)
    while try await !bench.planned.deleteEnded(cutoffs, countMax: 100).isRoundDone {}
  }

  private func forget(
    _ bench: Bench, entriesMax: Int = .max, since: WallTime = WallTime(millisecondsSinceEpoch: 0)
  ) async throws -> Bool {
    let retention = ReceiptRetention(since: since, groupsMax: .max, entriesMax: entriesMax)
    return try await bench.store.forgetReceipts(retention, countMax: 9)
  }

  @Test(
    "each number of an evidence lane has an entry that leads to the lane's head",
    arguments: StoreFactory.all)
  func entries(_ factory: StoreFactory) async throws {
    try await with(factory) { bench in
      for number in [1, 2, 4, 3] as [Int64] { try await bench.accept(draft(bench, number)) }
      try await bench.accept(draft(bench, 1, lane: "other"))
      let entries = try #require(try await ledger(bench))
      let stored = try #require(
        try await bench.store.chain(of: LaneName(client: "device-1", lane: "e1")))
      var chain = LaneChain(
        of: LaneName(client: "device-1", lane: "e1"), incarnation: stored.chain.incarnation, at: 1,
        Self.hash)
      for (number, entry) in zip(1...4 as ClosedRange<Int64>, entries) {
        chain.take(Self.digest(number), Self.hash)
        #expect(entry.number == number && entry.digest == Self.digest(number))
        #expect(entry.link == chain.link && entry.ending == nil)
      }
      #expect(entries.count == 4 && entries.last?.link == stored.chain.link)
      #expect(try await ledger(bench, lane: "other") == [])
      #expect(try await ledger(bench, lane: "unknown") == nil)
      #expect(try await ledger(bench, 2...3) == Array(entries[1...2]))
      #expect(try await ledger(bench, 2...9, countMax: 1) == [entries[1]])
    }
  }

  @Test(
    "an entry says how its envelope ended, also once that is forgotten",
    arguments: StoreFactory.all)
  func endings(_ factory: StoreFactory) async throws {
    try await with(factory) { bench in
      var ids: [EnvelopeID] = []
      for number in 1...3 as ClosedRange<Int64> {
        ids.append(try await bench.accept(draft(bench, number)))
      }
      try await end(bench, ids[0], .delivered, answer: [7, 8])
      try await bench.record(ids[1], .end(.cancelled, reason: "x"))
      let before = try #require(try await ledger(bench))
      let first = try #require(before[0].ending)
      #expect(first.state == .delivered && first.status == 201 && first.at == bench.clock.now)
      #expect(first.responseDigest == Self.hash([7, 8]))
      let second = try #require(before[1].ending)
      #expect(second.state == .cancelled && second.status == 0)
      #expect(second.responseDigest == Self.hash([]))
      #expect(before[2].ending == nil)
      try await deleteEnded(bench)
      #expect(try await bench.store.envelope(ids[0]) == nil)
      #expect(try await ledger(bench) == before)
      try await bench.reopen(rules: Self.rules)
      #expect(try await ledger(bench) == before)
    }
  }

  @Test(
    "an envelope that is put back in line waits again in its ledger", arguments: StoreFactory.all)
  func requeued(_ factory: StoreFactory) async throws {
    try await with(factory) { bench in
      let id = try await bench.accept(draft(bench, 1))
      var entry = try await bench.entry(id)
      try await end(bench, id, .failed)
      #expect(try await ledger(bench)?[0].ending?.state == .failed)
      entry.waitAgain(hold: false, notBefore: nil, at: bench.clock.now)
      let count = bench.observer.recordedCount
      bench.planned.record([
        Transition(
          serial: entry.serial, lane: entry.lane, upstream: entry.upstream,
          change: .requeue(entry), at: bench.clock.now, epoch: bench.epoch)
      ])
      await bench.observer.waitUntilRecorded(count + 1)
      #expect(try await ledger(bench)?[0].ending == nil)
    }
  }

  @Test("what is delivered says where it stands in its ledger", arguments: StoreFactory.all)
  func marks(_ factory: StoreFactory) async throws {
    try await with(factory) { bench in
      var serials: [Serial] = []
      for (number, lane) in [(2, "e1"), (1, "e1"), (1, "other")] as [(Int64, String)] {
        let id = try await bench.accept(draft(bench, number, lane: lane))
        serials.append(try await bench.entry(id).serial)
      }
      let second = try #require(
        try await bench.store.envelope(client: "device-1", key: "e1-2"))
      serials[0] = try await bench.entry(second).serial
      let entries = try #require(try await ledger(bench))
      let marks = try await bench.store.load(serials).map(\.evidence)
      #expect(
        marks == [
          EvidenceMark(lane: "e1", number: 2, digest: Self.digest(2), link: entries[1].link),
          EvidenceMark(lane: "e1", number: 1, digest: Self.digest(1), link: entries[0].link), nil,
        ])
    }
  }

  @Test(
    "only entries whose envelopes are forgotten are forgotten, the oldest first",
    arguments: StoreFactory.all)
  func forgotten(_ factory: StoreFactory) async throws {
    try await with(factory) { bench in
      for number in 1...4 as ClosedRange<Int64> {
        let id = try await bench.accept(draft(bench, number))
        if number != 2 { try await end(bench, id, .delivered) }
      }
      #expect(try await forget(bench, entriesMax: 1))
      #expect(try await ledger(bench)?.map(\.number) == [1, 2, 3, 4])
      try await deleteEnded(bench)
      #expect(try await forget(bench, entriesMax: 2))
      #expect(try await ledger(bench)?.map(\.number) == [2, 3, 4])
      #expect(try await forget(bench, entriesMax: 1))
      #expect(try await ledger(bench)?.map(\.number) == [2, 4])
    }
  }

  @Test("an entry is kept from when its envelope is forgotten on", arguments: StoreFactory.all)
  func kept(_ factory: StoreFactory) async throws {
    try await with(factory) { bench in
      let id = try await bench.accept(draft(bench, 1))
      bench.clock.advance(milliseconds: 50_000)
      try await end(bench, id, .failed)
      bench.clock.advance(milliseconds: 50_000)
      let forgottenAt = bench.clock.now
      try await deleteEnded(bench)
      #expect(try await forget(bench, since: forgottenAt))
      #expect(try await ledger(bench)?.count == 1)
      #expect(try await forget(bench, since: forgottenAt.adding(milliseconds: 1)))
      #expect(try await ledger(bench) == [])
    }
  }

  @Test(
    "the status is that of the last attempt, also of an end that no attempt made",
    arguments: StoreFactory.all)
  func statuses(_ factory: StoreFactory) async throws {
    try await with(factory) { bench in
      var ids: [EnvelopeID] = []
      for number in 1...2 as ClosedRange<Int64> {
        let id = try await bench.accept(draft(bench, number))
        ids.append(id)
        try await bench.record(
          id, .retry(at: bench.clock.now), attempt: bench.attempt(1, .ambiguous, status: 503))
      }
      try await bench.record(ids[0], .end(.expired, reason: "x"))
      try await bench.record(
        ids[1], .end(.failed, reason: "x"), attempt: bench.attempt(2, .unreachable))
      #expect(try await ledger(bench)?.map(\.ending?.status) == [503, 0])
      try await deleteEnded(bench)
      #expect(try await ledger(bench)?.map(\.ending?.status) == [503, 0])
    }
  }

  @Test("a page ends once large answers have been read for it", arguments: StoreFactory.all)
  func largeAnswers(_ factory: StoreFactory) async throws {
    try await with(factory) { bench in
      let answer = [UInt8](repeating: 7, count: LedgerPage.answerBytesMax / 2)
      for number in 1...3 as ClosedRange<Int64> {
        try await end(
          bench, try await bench.accept(draft(bench, number)), .delivered, answer: answer)
      }
      #expect(try await ledger(bench)?.map(\.number) == [1, 2])
      let rest = try await ledger(bench, 3...9)
      #expect(rest?.map(\.ending?.responseDigest) == [Self.hash(answer)])
    }
  }
}
