import RelayCore
import StoreModel
import Testing

/// What every store promises of references to earlier answers.
@Suite("conformance: references", .timeLimit(.minutes(5)))
struct ReferenceConformance {
  private let created = UpstreamResponse(
    status: 201, headers: HeaderBlock(), body: Array(#"{"id":7}"#.utf8))

  @Test(
    "that an envelope holds references is kept, and follows an edit",
    arguments: StoreFactory.all)
  func kept(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      var draft = bench.draft()
      draft.references = true
      let id = try await bench.accept(draft)
      let plain = try await bench.accept(bench.draft())
      try await bench.reopen()
      #expect(try await bench.store.envelope(id)?.draft.references == true)
      #expect(try await bench.store.envelope(plain)?.draft.references == false)
      let loaded = try await bench.store.load([id.serial, plain.serial])
      #expect(loaded.map(\.references) == [true, false])
      let page = try await bench.store.list(EnvelopeFilter(), after: 0, countMax: 9, looksMax: 9)
      #expect(page.envelopes.map(\.terms.references) == [true, false])
      let edit = EnvelopeEdit(
        content: draft.content, tag: nil, entry: try await bench.entry(id), notBefore: nil,
        references: false)
      try await bench.record(id, .edit(edit))
      #expect(try await bench.store.envelope(id)?.draft.references == false)
    }
  }

  @Test(
    "what may be referred to is kept as long as something waits that refers",
    arguments: StoreFactory.all)
  func outlivesRetention(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let target = try await bench.accept(bench.draft(key: "k"))
      let keyless = try await bench.accept(bench.draft())
      let elsewhere = try await bench.accept(bench.draft(lane: "other", key: "e"))
      for id in [target, keyless, elsewhere] {
        try await bench.record(id, .end(.delivered, reason: "so"), response: created)
      }
      var draft = bench.draft(hold: true)
      draft.references = true
      let referring = try await bench.accept(draft)
      let later = try await bench.accept(bench.draft(key: "later"))
      try await bench.record(later, .end(.delivered, reason: "so"), response: created)
      bench.clock.advance(milliseconds: 10_000)
      #expect(try await kept([target, keyless, elsewhere, later], bench) == [target])
      try await bench.reopen()
      #expect(try await kept([target], bench) == [target])
      let answers = try await bench.store.answers(to: ["k"], for: referring.serial)
      #expect(answers == ["k": .delivered(created)])

      // A correction, an end and a requeue change what refers.
      let entry = try await bench.entry(referring)
      try await bench.record(referring, .end(.cancelled, reason: "so"))
      try await bench.requeue(entry)
      #expect(try await kept([target], bench) == [target])
      let edit = EnvelopeEdit(
        content: draft.content, tag: nil, entry: try await bench.entry(referring), notBefore: nil,
        references: false)
      try await bench.record(referring, .edit(edit))
      #expect(try await kept([target], bench).isEmpty)
    }
  }

  @Test(
    "what came under a key that was replaced since, or waits to be put in line, counts as well",
    arguments: StoreFactory.all)
  func replacedAndParked(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let target = try await bench.accept(bench.draft(key: "k", coalesce: "level"))
      // The latest post of the name has no key: the one before goes on standing for it.
      _ = try await bench.store.append([bench.draft(coalesce: "level")], isAtomic: false)
      try await bench.record(target, .end(.delivered, reason: "so"), response: created)
      var draft = bench.draft(sequence: 2)
      draft.references = true
      let parked = try await bench.accept(draft)
      let between = try await bench.accept(bench.draft(key: "between"))
      try await bench.record(between, .end(.delivered, reason: "so"), response: created)
      bench.clock.advance(milliseconds: 10_000)
      #expect(try await kept([target, between], bench) == [target, between])
      // In line it has its place behind both; at its end nothing refers any more.
      let first = try await bench.accept(bench.draft(sequence: 1))
      try await bench.record(first, .end(.cancelled, reason: "so"))
      #expect(try await kept([target, between], bench) == [target, between])
      try await bench.record(parked, .end(.cancelled, reason: "so"))
      #expect(try await kept([target, between], bench).isEmpty)
    }
  }

  /// Has everything forgotten that ended by now, and says what of these is left.
  private func kept(_ ids: [EnvelopeID], _ bench: Bench) async throws -> [EnvelopeID] {
    let cutoffs = RetentionCutoffs(delivered: bench.clock.now, failed: bench.clock.now)
    while try await !bench.store.deleteEnded(cutoffs, countMax: 100).isRoundDone {}
    var kept: [EnvelopeID] = []
    for id in ids where try await bench.store.envelope(id) != nil { kept.append(id) }
    return kept
  }

  @Test("each key finds what became of its envelope", arguments: StoreFactory.all)
  func answers(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let delivered = try await bench.accept(bench.draft(key: "delivered"))
      try await bench.record(delivered, .end(.delivered, reason: "so"), response: created)
      let silent = try await bench.accept(bench.draft(key: "silent"))
      try await bench.record(silent, .end(.delivered, reason: "so"))
      let failed = try await bench.accept(bench.draft(key: "failed"))
      try await bench.record(failed, .end(.failed, reason: "so"), response: created)
      try await bench.accept(bench.draft(key: "held", hold: true))
      try await bench.accept(bench.draft(lane: "other", key: "elsewhere"))
      try await bench.accept(bench.draft(client: "device-2", key: "foreign"))
      let id = try await bench.accept(bench.draft(key: "own"))
      try await bench.accept(bench.draft(key: "later"))
      try await bench.reopen()
      let answers = try await bench.store.answers(
        to: [
          "delivered", "silent", "failed", "held", "elsewhere", "foreign", "own", "later", "none",
        ], for: id.serial)
      #expect(
        answers == [
          "delivered": .delivered(created), "silent": .delivered(nil),
          "failed": .undelivered(.failed), "held": .undelivered(.held), "elsewhere": .elsewhere,
          "foreign": .unknown, "own": .notEarlier, "later": .notEarlier, "none": .unknown,
        ])
    }
  }
}
