import RelayCore
import StoreModel
import Testing

/// What every store promises of keys that are remembered longer than their envelopes.
@Suite("conformance: remembered keys", .timeLimit(.minutes(5)))
struct RememberedKeyConformance {
  /// Deletes all that has ended before now, and remembers its keys for so long after the end.
  private func delete(
    _ bench: Bench, keyMs: Int64, countMax: Int = 100
  ) async throws -> (deleted: Int, forgottenKeys: Int, steps: Int) {
    let now = bench.clock.now
    let cutoffs = RetentionCutoffs(
      delivered: now, failed: now, keys: now.adding(milliseconds: -keyMs))
    var sum = (deleted: 0, forgottenKeys: 0, steps: 0)
    while true {
      let page = try await bench.planned.deleteEnded(cutoffs, countMax: countMax)
      sum.deleted += page.deletedCount
      sum.forgottenKeys += page.forgottenKeyCount
      sum.steps += 1
      if page.isRoundDone { return sum }
    }
  }

  /// Accepts a post, has it end, and waits for a second.
  @discardableResult
  private func end(
    _ bench: Bench, _ draft: EnvelopeDraft, as state: EnvelopeState = .delivered
  ) async throws -> EnvelopeID {
    let id = try await bench.accept(draft)
    try await bench.record(id, .end(state, reason: ""))
    bench.clock.advance(milliseconds: 1000)
    return id
  }

  private func append(
    _ bench: Bench, _ drafts: EnvelopeDraft..., isAtomic: Bool = false
  ) async throws -> [AppendResult] {
    try await bench.planned.append(drafts, isAtomic: isAtomic)
  }

  private func isAccepted(_ result: AppendResult) -> Bool {
    if case .accepted = result { true } else { false }
  }

  @Test(
    "a repeat of what was delivered and is forgotten is a duplicate, and other content a conflict",
    arguments: StoreFactory.planned)
  func remembered(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      for (key, state) in [("d", EnvelopeState.delivered), ("f", .failed), ("c", .cancelled)] {
        try await end(bench, bench.draft(key: key), as: state)
      }
      try await end(bench, bench.draft())
      #expect(try await delete(bench, keyMs: 60_000).deleted == 4)
      #expect(bench.planned.statistics().contentBytes == 0)
      for _ in 0..<2 {
        #expect(try await bench.planned.envelope(client: "device-1", key: "d") == nil)
        #expect(try await append(bench, bench.draft(key: "d")) == [.forgotten])
        #expect(
          try await append(bench, bench.draft(key: "d", fingerprint: 2))
            == [.keyConflict(id: nil)])
        try await bench.reopen()
      }
      // What was not delivered may come again.
      for key in ["f", "c"] {
        let again = try await append(bench, bench.draft(key: key))
        #expect(isAccepted(again[0]))
      }
      let others = try await append(
        bench, bench.draft(client: "device-2", key: "d"), bench.draft(key: "new"))
      #expect(others.allSatisfy(isAccepted))
    }
  }

  @Test(
    "a key is known to be remembered once its envelope is forgotten, and for no longer",
    arguments: StoreFactory.all)
  func known(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      func isKnown(_ key: String, of client: String = "device-1") async throws -> Bool {
        try await bench.store.remembers(key: key, of: client)
      }
      try await end(bench, bench.draft(key: "d"))
      #expect(try await !isKnown("d"))
      _ = try await delete(bench, keyMs: 60_000)
      for _ in 0..<2 {
        #expect(try await isKnown("d"))
        #expect(try await !isKnown("e"))
        #expect(try await !isKnown("d", of: "device-2"))
        try await bench.reopen()
      }
      bench.clock.advance(milliseconds: 120_000)
      _ = try await delete(bench, keyMs: 60_000)
      #expect(try await !isKnown("d"))
    }
  }

  @Test(
    "a key is remembered for so long after the end, and is a new one then",
    arguments: StoreFactory.planned)
  func time(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      try await end(bench, bench.draft(key: "k"))
      #expect(try await delete(bench, keyMs: 5000).deleted == 1)
      bench.clock.advance(milliseconds: 4000)
      #expect(try await delete(bench, keyMs: 5000).forgottenKeys == 0)
      #expect(try await append(bench, bench.draft(key: "k")) == [.forgotten])
      bench.clock.advance(milliseconds: 1)
      #expect(try await delete(bench, keyMs: 5000).forgottenKeys == 1)
      let again = bench.draft(key: "k", fingerprint: 2)
      try await end(bench, again)
      // The later envelope is what its key stands for.
      #expect(try await delete(bench, keyMs: 5000).deleted == 1)
      #expect(try await append(bench, again) == [.forgotten])
      #expect(try await append(bench, bench.draft(key: "k")) == [.keyConflict(id: nil)])
    }
  }

  @Test(
    "no key outlives an envelope that is kept longer than keys", arguments: StoreFactory.planned)
  func off(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      try await end(bench, bench.draft(key: "k"))
      #expect(try await delete(bench, keyMs: 0).deleted == 1)
      #expect(try await delete(bench, keyMs: 0).forgottenKeys == 0)
      let again = try await append(bench, bench.draft(key: "k", fingerprint: 2))
      #expect(isAccepted(again[0]))
    }
  }

  @Test(
    "the keys of contents that were replaced are remembered, each with its own content",
    arguments: StoreFactory.planned)
  func replaced(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let draft = { (key: String, fingerprint: UInt8) in
        bench.draft(key: key, fingerprint: fingerprint, coalesce: "c")
      }
      let id = try await bench.accept(draft("k1", 1))
      _ = try await append(bench, draft("k2", 2), draft("k3", 3))
      try await bench.record(id, .end(.delivered, reason: ""))
      bench.clock.advance(milliseconds: 1000)
      #expect(try await delete(bench, keyMs: 60_000).deleted == 1)
      for (key, fingerprint) in [("k1", 1), ("k2", 2), ("k3", 3)] as [(String, UInt8)] {
        #expect(try await append(bench, draft(key, fingerprint)) == [.forgotten])
        #expect(try await append(bench, draft(key, 9)) == [.keyConflict(id: nil)])
      }
    }
  }

  @Test("keys are forgotten in steps, those that ended first", arguments: StoreFactory.planned)
  func steps(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      for number in 0..<7 { try await end(bench, bench.draft(key: "k\(number)")) }
      #expect(try await delete(bench, keyMs: 60_000).deleted == 7)
      // Two of them ended within the last two seconds.
      let part = try await delete(bench, keyMs: 2000, countMax: 2)
      #expect(part.forgottenKeys == 5 && part.deleted == 0 && part.steps == 3)
      try await bench.reopen()
      for number in 5..<7 {
        #expect(try await append(bench, bench.draft(key: "k\(number)")) == [.forgotten])
      }
      #expect(try await delete(bench, keyMs: 0, countMax: 2).forgottenKeys == 2)
      for number in 0..<7 {
        let again = try await append(bench, bench.draft(key: "k\(number)"))
        #expect(isAccepted(again[0]))
      }
    }
  }

  @Test("a batch that goes together heeds remembered keys", arguments: StoreFactory.planned)
  func atomic(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      try await end(bench, bench.draft(key: "k"))
      #expect(try await delete(bench, keyMs: 60_000).deleted == 1)
      let refused = try await append(
        bench, bench.draft(key: "a"), bench.draft(key: "k", fingerprint: 2), isAtomic: true)
      #expect(refused == [.leftOut, .keyConflict(id: nil)])
      let taken = try await append(
        bench, bench.draft(key: "a"), bench.draft(key: "k"), isAtomic: true)
      #expect(isAccepted(taken[0]) && taken[1] == .forgotten)
    }
  }

  @Test(
    "a key is remembered though its client and its lane are forgotten", arguments: StoreFactory.all)
  func names(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft(key: "k"))
      try await bench.end(id)
      bench.clock.advance(milliseconds: 1000)
      #expect(try await delete(bench, keyMs: 60_000).deleted == 1)
      try await bench.store.note(EventEntry(.started))
      bench.clock.advance(milliseconds: 1000)
      while try await !bench.store.forgetEvents(before: bench.clock.now, countMax: 100) {}
      #expect(try await bench.forgetNames() == 2)
      #expect(try await append(bench, bench.draft(key: "k")) == [.forgotten])
      #expect(try await bench.store.client("device-1") == nil)
    }
  }
}
