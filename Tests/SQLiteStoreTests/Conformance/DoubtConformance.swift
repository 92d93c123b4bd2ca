import RelayCore
import StoreModel
import Testing

/// What every store promises of envelopes that may have arrived.
@Suite("conformance: doubt", .timeLimit(.minutes(5)))
struct DoubtConformance {
  private let sentence = "the upstream took too long, and it may have arrived"

  @Test("that an attempt begins is kept, and is no attempt yet", arguments: StoreFactory.planned)
  func begin(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft())
      #expect(try await !bench.entry(id).isInDoubt)
      try await bench.record(id, .begin)
      try await bench.reopen()
      let entry = try await bench.entry(id)
      #expect(entry.isInDoubt && entry.attempts == 0 && entry.standing == .queued)
      let record = try #require(try await bench.planned.envelope(id))
      #expect(record.entry.isInDoubt && record.state == .queued && record.attempts.isEmpty)
    }
  }

  @Test("an outcome without an answer is kept with the doubt", arguments: StoreFactory.all)
  func ambiguous(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft())
      let due = bench.clock.now.adding(milliseconds: 1000)
      try await bench.record(id, .begin)
      try await bench.record(
        id, .retry(at: due), attempt: bench.attempt(1, .ambiguous), doubt: sentence)
      try await bench.reopen()
      let record = try #require(try await bench.store.envelope(id))
      #expect(record.entry.isInDoubt && record.reason == sentence && record.dueAt == due)
      #expect(record.attempts.map(\.outcome) == [.ambiguous])
      let page = try await bench.store.list(
        EnvelopeFilter(), after: 0, countMax: 9, looksMax: 9)
      #expect(page.envelopes.first?.isInDoubt == true)
    }
  }

  @Test(
    "a run leaves the doubt, and an outcome without one ends it", arguments: StoreFactory.planned)
  func settled(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft())
      let now = bench.clock.now
      try await bench.record(id, .retry(at: now), doubt: sentence)
      try await bench.record(id, .release)
      let record = try #require(try await bench.planned.envelope(id))
      #expect(record.entry.isInDoubt && record.reason == sentence && record.dueAt == nil)
      try await bench.record(id, .retry(at: now))
      let settled = try #require(try await bench.planned.envelope(id))
      #expect(!settled.entry.isInDoubt && settled.reason == nil && settled.attemptCount == 0)
    }
  }

  @Test("what blocks, or is corrected, is in doubt no more", arguments: StoreFactory.planned)
  func cleared(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft())
      try await bench.record(id, .begin)
      try await bench.record(id, .block(reason: sentence), attempt: bench.attempt(1, .ambiguous))
      var entry = try await bench.entry(id)
      #expect(!entry.isInDoubt && entry.standing == .blocked)
      try await bench.record(id, .release)
      try await bench.record(id, .begin)
      entry = try await bench.entry(id)
      #expect(entry.isInDoubt)
      let edit = EnvelopeEdit(
        content: bench.draft().content, tag: nil, entry: entry, notBefore: nil)
      try await bench.record(id, .edit(edit))
      #expect(try await !bench.entry(id).isInDoubt)
    }
  }

  @Test("what ended in doubt is in doubt when it is requeued", arguments: StoreFactory.planned)
  func requeued(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft())
      let other = try await bench.accept(bench.draft(client: "device-2"))
      for id in [id, other] {
        try await bench.record(id, .begin)
        try await bench.record(id, .retry(at: bench.clock.now), doubt: sentence)
      }
      try await bench.record(id, .end(.expired, reason: "late"))
      let client = try await bench.entry(other).client
      _ = try await bench.planned.cancelAll(
        of: BacklogSelection(client), through: nil, reason: "enough")
      try await bench.reopen()
      for id in [id, other] {
        let ended = try #require(try await bench.planned.envelope(id))
        #expect(ended.state.isEnd && ended.entry.isInDoubt)
        try await requeue(ended, bench)
        #expect(try await bench.entry(id).isInDoubt)
      }
      // The last attempt itself is what may have arrived.
      try await bench.record(
        id, .end(.expired, reason: "late"), attempt: bench.attempt(2, .ambiguous), doubt: sentence)
      #expect(try await bench.planned.envelope(id)?.entry.isInDoubt == true)
    }
  }

  @Test("an end that the upstream's answer led to leaves no doubt", arguments: StoreFactory.planned)
  func answered(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft())
      try await bench.record(id, .begin)
      try await bench.record(
        id, .end(.failed, reason: "no"), attempt: bench.attempt(1, .refused, status: 400))
      let ended = try #require(try await bench.planned.envelope(id))
      #expect(ended.state == .failed && !ended.entry.isInDoubt)
      try await requeue(ended, bench)
      #expect(try await !bench.entry(id).isInDoubt)
    }
  }

  private func requeue(_ record: EnvelopeRecord, _ bench: Bench) async throws {
    let count = bench.observer.recordedCount
    bench.planned.record([
      Transition(
        serial: record.entry.serial, lane: record.lane, upstream: record.entry.upstream,
        change: .requeue(record.entry), at: bench.clock.now, epoch: bench.epoch)
    ])
    await bench.observer.waitUntilRecorded(count + 1)
  }
}
