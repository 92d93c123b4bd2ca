import RelayCore
import StoreModel
import Testing

/// What every store promises of limits on how many clients and lanes are known.
@Suite("conformance: limits on names", .timeLimit(.minutes(5)))
struct NameLimitConformance {
  private static func limits(
    clients: Int = .max, lanes: Int = .max, ofClient: Int = .max
  ) -> NameLimits {
    var limits = NameLimits()
    limits.clientsMax = clients
    limits.lanesMax = lanes
    limits.clientLanesMax = ofClient
    return limits
  }

  private func limit(_ result: AppendResult?) -> QuotaRefusal? {
    if case .overQuota(let refusal) = result { refusal } else { nil }
  }

  private func isAccepted(_ result: AppendResult) -> Bool {
    if case .accepted = result { true } else { false }
  }

  @Test(
    "one lane more than a client may have is refused alone, and those that it has go on",
    arguments: StoreFactory.planned)
  func lanesOfClient(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      for _ in 0..<2 {
        try await bench.reopen(names: Self.limits(ofClient: 2))
        let results = try await bench.planned.append(
          [
            bench.draft(lane: "a"), bench.draft(lane: "b"), bench.draft(lane: "c"),
            bench.draft(lane: "a"), bench.draft(client: "other", lane: "c"),
          ], isAtomic: false)
        let refusal = try #require(limit(results[2]))
        #expect(refusal.limit == .lanes && refusal.isOfClient && refusal.max == 2)
        for index in [0, 1, 3, 4] { #expect(isAccepted(results[index]), "\(results[index])") }
        let counts = bench.planned.statistics().names
        #expect(counts.lanes == 3 && counts.clients == 2)
      }
      #expect(try await bench.planned.client("device-1")?.lanes.map(\.name) == ["a", "b"])
    }
  }

  @Test("limits on all clients and on all lanes hold", arguments: StoreFactory.planned)
  func all(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      try await bench.reopen(names: Self.limits(clients: 2, lanes: 3))
      let results = try await bench.planned.append(
        [("a", "1"), ("b", "1"), ("c", "1"), ("b", "2"), ("a", "2"), ("c", "1")].map {
          bench.draft(client: $0.0, lane: $0.1)
        }, isAtomic: false)
      #expect(limit(results[2])?.limit == .clients && limit(results[2])?.isOfClient == false)
      #expect(limit(results[4])?.limit == .lanes && limit(results[4])?.isOfClient == false)
      #expect(limit(results[5])?.limit == .clients)
      for index in [0, 1, 3] { #expect(isAccepted(results[index])) }
      #expect(try await bench.planned.client("c") == nil)
    }
  }

  @Test(
    "an atomic batch counts what it would make known itself, and is refused whole",
    arguments: StoreFactory.planned)
  func atomic(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      try await bench.reopen(names: Self.limits(clients: 2, ofClient: 2))
      let tooMany = ["a", "b", "a", "c"].map { bench.draft(lane: $0) }
      let refused = try await bench.planned.append(tooMany, isAtomic: true)
      #expect(refused.prefix(3).allSatisfy { $0 == .leftOut })
      #expect(limit(refused[3])?.isOfClient == true)
      #expect(bench.planned.statistics().names == NameCounts())
      let clients = ["x", "y", "y", "z"].map { bench.draft(client: $0) }
      #expect(limit(try await bench.planned.append(clients, isAtomic: true)[3])?.limit == .clients)
      let taken = try await bench.planned.append(Array(tooMany.prefix(3)), isAtomic: true)
      #expect(taken.allSatisfy(isAccepted))
    }
  }

  @Test(
    "a pause of what is not known yet counts, and what is known can be paused at the limit",
    arguments: StoreFactory.planned)
  func pauses(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      try await bench.reopen(names: Self.limits(clients: 1, ofClient: 1))
      let known = LaneName(client: "device-1", lane: "a")
      #expect(try await bench.planned.setPaused(true, .lane(known)) { _ in } == nil)
      let other = LaneName(client: "device-1", lane: "b")
      for isPaused in [true, false] {
        let refusal = try await bench.planned.setPaused(isPaused, .lane(other)) { _ in
          Issue.record("it was told as done")
        }
        #expect(refusal?.limit == .lanes)
        #expect(
          try await bench.planned.setPaused(isPaused, .client("device-2")) { _ in }?.limit
            == .clients)
      }
      #expect(try await bench.planned.setPaused(true, .client("device-1")) { _ in } == nil)
      #expect(try await bench.planned.pauses().count == 2)
      #expect(try await bench.planned.client("device-1")?.lanes.count == 1)
    }
  }

  @Test(
    "a key that was posted before is answered at the limit as ever",
    arguments: StoreFactory.planned)
  func keys(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft(lane: "a", key: "k"))
      try await bench.reopen(names: Self.limits(ofClient: 1))
      let results = try await bench.planned.append(
        [bench.draft(lane: "b", key: "k"), bench.draft(lane: "b", key: "l")], isAtomic: false)
      #expect(results[0] == .duplicate(id: id, state: .queued))
      #expect(limit(results[1]) != nil)
    }
  }
}
