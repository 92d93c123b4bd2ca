import RelayCore
import Testing

/// What every store promises of operations.
@Suite("conformance: operations", .timeLimit(.minutes(5)))
struct OperationConformance {
  private func operation(_ bench: Bench, matched: Int = 3) -> Operation {
    var filter = EnvelopeSelection(client: "truck-7", tag: "t", states: [.failed, .expired])
    filter.accepted.since = bench.clock.now
    filter.ended.until = bench.clock.now.adding(milliseconds: 9)
    filter.status = 422
    filter.reason = "no stock"
    filter.errorID = "E-17"
    var operation = Operation(
      .replay, filter, matched: matched, hasMore: matched > 9, who: "ops", at: bench.clock.now)
    operation.hasFreshKeys = true
    return operation
  }

  @Test(
    "an operation is there with how far it came, and one that ran is interrupted by a restart",
    arguments: StoreFactory.all)
  func survives(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      var first = operation(bench)
      first.number = try await bench.store.beginOperation(first)
      var second = operation(bench, matched: 10)
      second.number = try await bench.store.beginOperation(second)
      let id = EnvelopeID(serial: 4, acceptedAt: bench.clock.now, random: 9)
      first.noteDone()
      first.noteFailed(id, problem: "not-ended")
      first.noteFailed(id, problem: "not-ended")
      first.end(as: .done, at: bench.clock.now)
      second.noteDone()
      try await bench.store.noteOperation(first)
      try await bench.store.noteOperation(second)
      try await bench.reopen()
      #expect(try await bench.store.operations() == [second, first])
      #expect(first.refusals.map(\.count) == [2] && first.number + 1 == second.number)
      try await interruptEnded(bench)
      second.end(as: .interrupted, at: bench.clock.now)
      #expect(try await bench.store.operations() == [second, first])
      first.end(as: .stopped, at: bench.clock.now)
      #expect(first.state == .done)
    }
  }

  /// Does what a relay does at its start.
  private func interruptEnded(_ bench: Bench) async throws {
    for incarnation in try await bench.store.endedIncarnations() {
      try await bench.store.interruptOperations(of: incarnation, at: bench.clock.now)
    }
  }

  @Test(
    "operations are interrupted of the incarnation that ran them, and of no other",
    arguments: StoreFactory.all)
  func incarnations(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      _ = try await bench.store.beginOperation(operation(bench))
      try await bench.reopen()
      _ = try await bench.store.beginOperation(operation(bench))
      _ = try await bench.store.beginOperation(operation(bench))
      let stranger = Incarnation(rawValue: .max)
      try await bench.store.interruptOperations(of: stranger, at: bench.clock.now)
      let states = { try await bench.store.operations().map(\.state) }
      #expect(try await states() == [.running, .running, .running])
      let ended = try await bench.store.endedIncarnations()
      #expect(!ended.contains(bench.store.incarnation))
      try await interruptEnded(bench)
      #expect(try await states() == [.running, .running, .interrupted])
      try await bench.store.interruptOperations(
        of: bench.store.incarnation, at: bench.clock.now)
      #expect(try await states() == [.interrupted, .interrupted, .interrupted])
    }
  }

  @Test("the oldest go once there are more than are kept", arguments: StoreFactory.all)
  func bound(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      for _ in 0..<(OperationLimits.keptMax + 5) {
        _ = try await bench.store.beginOperation(operation(bench))
      }
      let kept = try await bench.store.operations().map(\.number)
      #expect(kept == (6...Int64(OperationLimits.keptMax + 5)).reversed())
      var gone = operation(bench)
      gone.number = 2
      try await bench.store.noteOperation(gone)
      #expect(try await bench.store.operations().count == OperationLimits.keptMax)
    }
  }
}
