import RelayCore
import StoreModel
import Synchronization
import Testing

/// What every store promises of pauses.
@Suite("conformance: pauses", .timeLimit(.minutes(5)))
struct PauseConformance {
  @Test("a pause is there after a restart, until it is ended", arguments: StoreFactory.planned)
  func survives(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let names: [PauseName] = [
        .upstream("default"), .client("device-9"),
        .lane(LaneName(client: "device-9", lane: "photos")),
      ]
      for name in names { try await bench.planned.setPaused(true, name) { _ in } }
      try await bench.planned.setPaused(true, names[1]) { _ in }
      let paused = try await bench.planned.pauses()
      #expect(paused.count == 3)
      try await bench.reopen()
      #expect(try await bench.planned.pauses() == paused)
      for name in names { try await bench.planned.setPaused(false, name) { _ in } }
      #expect(try await bench.planned.pauses().isEmpty)
    }
  }

  @Test(
    "what a pause means is told once it is on disk, and is what envelopes are filed under",
    arguments: StoreFactory.planned)
  func told(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let told = Mutex<PauseTarget?>(nil)
      let lane = LaneName(client: "device-1", lane: "default")
      try await bench.planned.setPaused(true, .lane(lane)) { target in
        told.withLock { $0 = target }
      }
      let id = try await bench.accept(bench.draft())
      let record = try #require(try await bench.planned.envelope(id))
      #expect(told.withLock { $0 } == .lane(record.lane))
    }
  }

  private static let startPauses = StartPauses(
    upstreams: ["default"],
    clients: ClientRulesTable([
      .init(
        pattern: "till-*",
        value: {
          var rules = ClientRules(); rules.startPaused = true
          return rules
        }())
    ]),
    lanes: LaneRulesTable([
      .init(
        pattern: "photos",
        value: {
          var rules = LaneRules(); rules.startPaused = true
          return rules
        }())
    ]))

  @Test(
    "what starts paused is paused with its first envelope, and the observer hears of it before",
    arguments: StoreFactory.planned)
  func startsPaused(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      try await bench.reopen(Self.startPauses)
      let id = try await bench.accept(bench.draft(client: "till-1", lane: "photos"))
      let entry = try await bench.entry(id)
      let expected: Set<PauseTarget> = [.client(entry.client), .lane(entry.lane)]
      #expect(try await bench.planned.pauses() == expected)
      let told = bench.observer.state.withLock {
        ($0.startedPaused, $0.acceptedBeforeStartedPaused)
      }
      #expect(Set(told.0) == expected && told.0.count == 2 && told.1 == 0)
      _ = try await bench.accept(bench.draft(client: "other"))
      _ = try await bench.accept(bench.draft(client: "till-1", lane: "photos"))
      #expect(try await bench.planned.pauses() == expected)
    }
  }

  @Test(
    "what becomes known by a void number starts paused, too, and that is logged before",
    arguments: StoreFactory.all)
  func startsPausedByVoid(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      try await bench.reopen(Self.startPauses)
      var void = bench.draft(client: "till-1", lane: "photos", sequence: 1)
      void.isVoid = true
      #expect(try await bench.store.append([void], isAtomic: false) == [.void])
      #expect(try await bench.store.pauses().count == 2)
      #expect(bench.observer.state.withLock { $0.startedPaused.count } == 2)
      let events = try await bench.events()
      #expect(events.map(\.kind) == [.paused, .paused, .gapSkipped])
      #expect(events.map(\.lane) == [nil, "photos", "photos"])
    }
  }

  @Test("what was resumed stays so over a restart", arguments: StoreFactory.planned)
  func resumed(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      try await bench.reopen(Self.startPauses)
      let numbers = try await bench.planned.register(upstreams: ["default", "other"])
      #expect(
        try await bench.planned.pauses() == Set(numbers["default"].map { [.upstream($0)] } ?? []))
      _ = try await bench.accept(bench.draft(client: "till-1"))
      try await bench.planned.setPaused(false, .upstream("default")) { _ in }
      try await bench.planned.setPaused(false, .client("till-1")) { _ in }
      // Before anything of it is known.
      try await bench.planned.setPaused(false, .client("till-2")) { _ in }
      try await bench.reopen(Self.startPauses)
      _ = try await bench.planned.register(upstreams: ["default", "other"])
      _ = try await bench.accept(bench.draft(client: "till-1"))
      _ = try await bench.accept(bench.draft(client: "till-2"))
      #expect(try await bench.planned.pauses().isEmpty)
    }
  }

  @Test(
    "an upstream that is known already is paused once it is to start so, and only once",
    arguments: StoreFactory.planned)
  func knownUpstream(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      _ = try await bench.planned.register(upstreams: ["default"])
      _ = try await bench.accept(bench.draft(client: "till-1"))
      try await bench.reopen(Self.startPauses)
      let numbers = try await bench.planned.register(upstreams: ["default"])
      let upstream = try #require(numbers["default"])
      // A client that was known before goes on.
      _ = try await bench.accept(bench.draft(client: "till-1"))
      #expect(try await bench.planned.pauses() == [.upstream(upstream)])
    }
  }

  @Test("an atomic batch that is refused makes nothing known", arguments: StoreFactory.planned)
  func refused(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      try await bench.reopen(Self.startPauses)
      let drafts = [
        bench.draft(client: "till-1", key: "a"),
        bench.draft(client: "till-1", key: "a", fingerprint: 2),
      ]
      _ = try await bench.planned.append(drafts, isAtomic: true)
      #expect(try await bench.planned.pauses().isEmpty)
      #expect(bench.observer.state.withLock { $0.startedPaused.isEmpty })
    }
  }
}
