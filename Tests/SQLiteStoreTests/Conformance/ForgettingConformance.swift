import RelayCore
import StoreModel
import Synchronization
import Testing

/// What every store promises of names that nothing refers to any more.
@Suite("conformance: forgetting names", .timeLimit(.minutes(5)))
struct ForgettingConformance {
  @Test(
    "names are forgotten once nothing of them is kept, and get other numbers if used again",
    arguments: StoreFactory.all)
  func forgotten(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let first = try await bench.accept(bench.draft(client: "old", lane: "b"))
      let old = try await bench.entry(first)
      try await bench.end(first)
      try await bench.deleteEverything()
      // Others that were known before, of which something waits.
      let stays = try await bench.accept(bench.draft(client: "stays"))
      #expect(try await bench.forgetNames() == 2)
      #expect(try await bench.store.client("old") == nil)
      #expect(try await bench.store.laneNames([old.lane]).isEmpty)
      #expect(bench.observer.state.withLock { $0.forgettings } == 1)
      for _ in 0..<2 {
        var counts = NameCounts()
        (counts.clients, counts.lanes) = (1, 1)
        #expect(bench.store.statistics().names == counts)
        try await bench.reopen()
      }
      let again = try await bench.entry(
        try await bench.accept(bench.draft(client: "old", lane: "b")))
      #expect(again.lane > old.lane && again.client > old.client)
      #expect(again.lane > (try await bench.entry(stays).lane))
      #expect(
        try await bench.store.laneNames([again.lane])[again.lane]
          == LaneName(client: "old", lane: "b"))
    }
  }

  @Test(
    "a name that was used again and again is another one once it was forgotten, without a restart",
    arguments: StoreFactory.all)
  func knownBefore(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      var former: LineEntry?
      for _ in 0..<3 {
        var ids: [EnvelopeID] = []
        for client in ["gone", "stays", "gone", "stays", "gone"] {
          ids.append(try await bench.accept(bench.draft(client: client)))
        }
        let gone = try await bench.entry(ids[0])
        for id in ids[1...] {
          let isGone = try await bench.entry(id).client == gone.client
          let names = try await bench.store.laneNames([try await bench.entry(id).lane]).values
          #expect(names.map(\.client) == [isGone ? "gone" : "stays"])
        }
        if let former { #expect(gone.client > former.client && gone.lane > former.lane) }
        former = gone
        for id in [ids[0], ids[2], ids[4]] { try await bench.end(id) }
        try await bench.deleteEverything()
        #expect(try await bench.forgetNames() == 2)
      }
    }
  }

  @Test(
    "the newest name that is forgotten does not leave its number to the next one",
    arguments: StoreFactory.all)
  func numbersAreUnique(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      var seen: Set<Int64> = []
      for round in 0..<4 {
        let id = try await bench.accept(bench.draft(client: "c\(round)"))
        let entry = try await bench.entry(id)
        #expect(seen.insert(entry.lane.rawValue).inserted && entry.client.rawValue > Int64(round))
        try await bench.end(id)
        try await bench.deleteEverything()
        #expect(try await bench.forgetNames() == 2)
        if round == 1 { try await bench.reopen() }
      }
    }
  }

  /// What keeps a lane.
  enum Reason: String, CaseIterable, Sendable {
    case waiting, held, ended, sequence, parked, lanePaused, event, startsPaused
  }

  @Test(
    "a name is kept as long as anything refers to it", arguments: StoreFactory.all,
    Reason.allCases)
  func kept(_ factory: StoreFactory, for reason: Reason) async throws {
    try await Bench.with(factory) { bench in
      let name = LaneName(client: "device-1", lane: "a")
      let pauses = StartPauses(
        upstreams: [], clients: ClientRulesTable([]),
        lanes: LaneRulesTable([
          .init(
            pattern: "a",
            value: {
              var rules = LaneRules(); rules.startPaused = true
              return rules
            }())
        ]))
      try await bench.reopen(reason == .startsPaused ? pauses : StartPauses())
      let id = try await bench.accept(
        bench.draft(
          lane: "a", sequence: reason == .sequence ? 1 : reason == .parked ? 2 : nil,
          hold: reason == .held))
      let lane = try await bench.entry(id).lane
      switch reason {
      case .waiting, .held, .parked: break
      case .sequence, .event: try await bench.end(id)
      case .ended: try await bench.end(id, as: .failed)
      case .lanePaused:
        try await bench.end(id)
        try await bench.store.setPaused(true, .lane(name)) { _ in }
      case .startsPaused:
        try await bench.end(id)
        try await bench.store.setPaused(false, .lane(name)) { _ in }
      }
      try await bench.deleteEverything(
        failed: reason != .ended, events: reason != .event)
      for _ in 0..<2 {
        #expect(try await bench.forgetNames() == 0)
        #expect(try await bench.store.laneNames([lane])[lane] == name)
        try await bench.reopen(reason == .startsPaused ? pauses : StartPauses())
      }
    }
  }

  @Test(
    "what is used while names are looked for is kept", arguments: StoreFactory.all,
    [0, 1, 2, 3, 4, 5])
  func usedMeanwhile(_ factory: StoreFactory, after steps: Int) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft(lane: "a"))
      let old = try await bench.entry(id).lane
      try await bench.end(id)
      try await bench.deleteEverything()
      for _ in 0..<steps {
        let page = try await bench.store.forgetNames(countMax: 10)
        if page.forgottenCount > 0 { break }
      }
      // It waits, ends and is deleted while the search goes on: its place may have been passed.
      let used = try await bench.accept(bench.draft(lane: "a"))
      let lane = try await bench.entry(used).lane
      let wasForgotten = lane != old
      _ = try await bench.forgetNames()
      #expect(try await bench.store.laneNames([lane])[lane]?.lane == "a")
      #expect(try await bench.store.line(after: 0, countMax: 10).entries.map(\.lane) == [lane])
      #expect(wasForgotten == (steps > 4))
    }
  }

  @Test(
    "an envelope that is put back in line behind the search keeps its lane",
    arguments: StoreFactory.all)
  func requeuedMeanwhile(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft(lane: "a"))
      let entry = try await bench.entry(id)
      // The writer takes note from here on, and the candidates are read.
      for _ in 0..<2 { _ = try await bench.store.forgetNames(countMax: 10) }
      try await bench.end(id, as: .failed)
      try await bench.deleteEverything(failed: false)
      // The line, and the log of events, are gone through while nothing there speaks of it.
      for _ in 0..<2 { _ = try await bench.store.forgetNames(countMax: 10) }
      let count = bench.observer.recordedCount
      bench.store.record([
        Transition(
          serial: entry.serial, lane: entry.lane, upstream: entry.upstream,
          change: .requeue(entry), at: bench.clock.now, epoch: bench.epoch)
      ])
      await bench.observer.waitUntilRecorded(count + 1)
      _ = try await bench.forgetNames()
      #expect(try await bench.store.envelope(id)?.state == .queued)
      #expect(try await bench.store.laneNames([entry.lane])[entry.lane]?.lane == "a")
    }
  }

  @Test(
    "a step forgets so many names at the most, and the next one goes on",
    arguments: StoreFactory.all)
  func steps(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      for index in 0..<25 {
        try await bench.end(try await bench.accept(bench.draft(lane: "\(index)")))
      }
      try await bench.deleteEverything()
      var pages: [Int] = []
      while true {
        let page = try await bench.store.forgetNames(countMax: 10)
        if page.forgottenCount > 0 { pages.append(page.forgottenCount) }
        if page.isRoundDone { break }
      }
      #expect(pages == [10, 10, 5, 1])
      #expect(bench.store.statistics().names == NameCounts())
    }
  }

  @Test(
    "a client that checked in and was forgotten checks in as for the first time",
    arguments: StoreFactory.all)
  func checkIn(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft())
      _ = try await bench.store.checkIn("device-1", seenThrough: 0, countMax: 10)
      try await bench.end(id)
      let told = try await bench.store.checkIn("device-1", seenThrough: 0, countMax: 10)
      #expect(told?.endings.count == 1)
      try await bench.deleteEverything()
      #expect(try await bench.forgetNames() == 2)
      #expect(try await bench.store.checkIn("device-1", seenThrough: 1, countMax: 10) == nil)
      let again = try await bench.accept(bench.draft())
      try await bench.end(again)
      let page = try await bench.store.checkIn("device-1", seenThrough: 1, countMax: 10)
      #expect(page?.endings.map(\.fate.id) == [again])
    }
  }
}

extension Bench {
  /// Has an envelope end.
  func end(_ id: EnvelopeID, as state: EnvelopeState = .delivered) async throws {
    try await record(id, .end(state, reason: ""), attempt: attempt(1, .delivered, status: 200))
  }

  /// Deletes what has ended, and forgets all events but those of the last commit, which are about
  /// nobody's lane.
  func deleteEverything(failed: Bool = true, events: Bool = true) async throws {
    clock.advance(milliseconds: 1000)
    let cutoffs = RetentionCutoffs(
      delivered: clock.now, failed: failed ? clock.now : WallTime(millisecondsSinceEpoch: 0))
    while try await !planned.deleteEnded(cutoffs, countMax: 100).isRoundDone {}
    guard events else { return }
    try await store.note(EventEntry(.started))
    clock.advance(milliseconds: 1000)
    while try await !store.forgetEvents(before: clock.now, countMax: 100) {}
  }

  /// One round along all names.
  ///
  /// - Returns: How many were forgotten.
  func forgetNames() async throws -> Int {
    var count = 0
    while true {
      let page = try await store.forgetNames(countMax: 100)
      count += page.forgottenCount
      if page.isRoundDone { return count }
    }
  }
}
