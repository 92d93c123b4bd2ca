import RelayCore
import StoreModel
import Testing

/// A generator whose run can be repeated from its seed (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
    return word ^ word >> 31
  }
}

/// The counts stay those of a recount, whatever happens.
@Suite("conformance: counts", .timeLimit(.minutes(5)))
struct CountConformance {
  private struct Model {
    var states: [EnvelopeID: EnvelopeState] = [:]
    var lanes: [EnvelopeID: LaneName] = [:]
    var waiting: [EnvelopeID] = []
  }

  @Test(
    "after a random sequence of operations every count is that of a recount",
    arguments: StoreFactory.planned, [1, 2, 3] as [UInt64])
  func recount(_ factory: StoreFactory, seed: UInt64) async throws {
    try await Bench.with(factory) { bench in
      var random = SeededGenerator(seed: seed)
      var model = Model()
      for step in 0..<120 {
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<4: try await append(bench, &model, &random)
        case 4..<8: try await change(bench, &model, &random)
        case 8: try await delete(bench, &model)
        default: if step % 3 == 0 { try await bench.reopen() }
        }
        bench.clock.advance(milliseconds: 10)
        try await compare(bench, model)
      }
    }
  }

  private func append(
    _ bench: Bench, _ model: inout Model, _ random: inout SeededGenerator
  ) async throws {
    let drafts = (0..<Int.random(in: 1...6, using: &random)).map { _ in
      bench.draft(
        client: "c\(Int.random(in: 0..<3, using: &random))",
        lane: "l\(Int.random(in: 0..<2, using: &random))", hold: Bool.random(using: &random))
    }
    let results = try await bench.planned.append(drafts, isAtomic: Bool.random(using: &random))
    for (draft, result) in zip(drafts, results) {
      guard case .accepted(let id, let state, _) = result else {
        throw Unexpected(description: "\(result)")
      }
      model.states[id] = state
      model.lanes[id] = LaneName(client: draft.client, lane: draft.lane)
      model.waiting.append(id)
    }
  }

  private func change(
    _ bench: Bench, _ model: inout Model, _ random: inout SeededGenerator
  ) async throws {
    guard let index = model.waiting.indices.randomElement(using: &random) else { return }
    let id = model.waiting[index]
    switch Int.random(in: 0..<4, using: &random) {
    case 0:
      try await bench.record(id, .retry(at: bench.clock.now))
      model.states[id] = .queued
    case 1:
      try await bench.record(id, .block(reason: "no"))
      model.states[id] = .blocked
    default:
      let ends = EnvelopeState.allCases.filter(\.isEnd)
      let end = ends.randomElement(using: &random) ?? .failed
      try await bench.record(id, .end(end, reason: "r"))
      model.states[id] = end
      model.waiting.remove(at: index)
    }
  }

  private func delete(_ bench: Bench, _ model: inout Model) async throws {
    let later = bench.clock.now.adding(milliseconds: 1)
    let cutoffs = RetentionCutoffs(delivered: later, failed: WallTime(millisecondsSinceEpoch: 0))
    while try await !bench.planned.deleteEnded(cutoffs, countMax: 5).isRoundDone {}
    for (id, state) in model.states where state == .delivered { model.states[id] = nil }
  }

  private func compare(_ bench: Bench, _ model: Model) async throws {
    let figures = bench.planned.statistics()
    var counts: [EnvelopeState: Int64] = [:]
    for state in model.states.values { counts[state, default: 0] += 1 }
    for state in EnvelopeState.allCases where state != .delivering {
      #expect(figures.envelopes[state, default: 0] == counts[state, default: 0], "\(state)")
    }
    // Path, header and body of Bench.draft.
    #expect(figures.contentBytes == Int64(model.states.count) * (6 + 26 + 5))
    let line = try await bench.planned.line(after: 0, countMax: 10_000).entries
    #expect(line.map(\.serial) == model.waiting.map(\.serial).sorted())
    for client in ["c0", "c1", "c2"] {
      for lane in try await bench.planned.client(client)?.lanes ?? [] {
        let name = LaneName(client: client, lane: lane.name)
        for state in EnvelopeState.allCases where state.isEnd {
          let count = model.states.count { $0.value == state && model.lanes[$0.key] == name }
          #expect(lane.ended[state, default: 0] == count)
        }
      }
    }
  }
}
