import RelayCore
import StoreModel
import Testing

/// What every store promises of keys and atomic batches.
@Suite("conformance: keys", .timeLimit(.minutes(5)))
struct KeyConformance {
  @Test(
    "the same key with the same content is a duplicate, and tells the first one's state",
    arguments: StoreFactory.planned)
  func duplicate(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft(key: "k"))
      let again = try await bench.planned.append([bench.draft(key: "k")], isAtomic: false)
      #expect(again == [.duplicate(id: id, state: .queued)])
      try await bench.record(id, .end(.delivered, reason: ""))
      try await bench.reopen()
      let later = try await bench.planned.append([bench.draft(key: "k")], isAtomic: false)
      #expect(later == [.duplicate(id: id, state: .delivered)])
      #expect(try await bench.planned.envelope(client: "device-1", key: "k") == id)
      #expect(try await bench.planned.envelope(client: "device-2", key: "k") == nil)
      #expect(try await bench.planned.envelope(client: "device-1", key: "other") == nil)
    }
  }

  @Test("the same key with other content is a conflict", arguments: StoreFactory.planned)
  func conflict(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft(key: "k"))
      let results = try await bench.planned.append(
        [bench.draft(key: "k", fingerprint: 2), bench.draft(client: "device-2", key: "k")],
        isAtomic: false)
      #expect(results[0] == .keyConflict(id: id))
      guard case .accepted = results[1] else {
        throw Unexpected(description: "keys of two clients are strangers")
      }
    }
  }

  @Test("a key is known within its own batch", arguments: StoreFactory.planned)
  func withinBatch(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let results = try await bench.planned.append(
        [
          bench.draft(key: "k"), bench.draft(key: "k"), bench.draft(key: "k", fingerprint: 9),
        ], isAtomic: false)
      guard case .accepted(let id, _, _) = results[0] else {
        throw Unexpected(description: "\(results)")
      }
      #expect(results[1] == .duplicate(id: id, state: .queued))
      #expect(results[2] == .keyConflict(id: id))
    }
  }

  @Test("of many posts of one key at once, one is stored", arguments: StoreFactory.planned)
  func concurrent(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let results = try await withThrowingTaskGroup(of: AppendResult.self) { group in
        for _ in 0..<50 {
          group.addTask {
            try await bench.planned.append([bench.draft(key: "k")], isAtomic: false)[0]
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      let accepted = results.filter {
        if case .accepted = $0 { true } else { false }
      }
      #expect(accepted.count == 1 && results.count == 50)
      #expect(bench.planned.statistics().envelopes[.queued] == 1)
    }
  }

  @Test("an atomic batch with one bad item stores nothing", arguments: StoreFactory.planned)
  func atomic(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft(key: "k", sequence: 1))
      let before = bench.planned.statistics().envelopes
      let results = try await bench.planned.append(
        [
          bench.draft(client: "new"), bench.draft(key: "k", fingerprint: 2),
          bench.draft(key: "k"), bench.draft(key: "fresh", sequence: 9),
          bench.draft(key: "fresh", fingerprint: 3), bench.draft(fingerprint: 2, sequence: 9),
        ], isAtomic: true)
      #expect(
        results == [
          .leftOut, .keyConflict(id: id), .duplicate(id: id, state: .queued), .leftOut,
          .keyConflict(id: nil), .sequenceConflict(id: nil),
        ])
      #expect(bench.planned.statistics().envelopes == before)
      #expect(try await bench.planned.client("new") == nil)
      #expect(try await bench.planned.client("device-1")?.lanes.first?.lastSequence == 1)
    }
  }

  @Test("an atomic batch without a bad item is stored whole", arguments: StoreFactory.planned)
  func atomicWhole(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let results = try await bench.planned.append(
        [
          bench.draft(key: "a", sequence: 1), bench.draft(key: "a", sequence: 1),
          bench.draft(sequence: 2),
        ], isAtomic: true)
      guard case .accepted(let id, _, 1) = results[0], case .accepted(_, _, 2) = results[2] else {
        throw Unexpected(description: "\(results)")
      }
      #expect(results[1] == .duplicate(id: id, state: .queued))
    }
  }
}
