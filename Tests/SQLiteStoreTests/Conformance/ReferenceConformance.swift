import RelayCore
import Testing

/// What every store promises of references to earlier answers.
@Suite("conformance: references", .timeLimit(.minutes(1)))
struct ReferenceConformance {
  private let created = UpstreamResponse(
    status: 201, headers: HeaderBlock(), body: Array(#"{"id":7}"#.utf8))

  @Test(
    "that an envelope holds references is kept, and follows an edit", arguments: StoreFactory.all)
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
