import RelayCore
import SQLiteStore
import StoreModel
import Synchronization
import Testing

/// What every store promises of the event log.
@Suite("conformance: events", .timeLimit(.minutes(5)))
struct EventConformance {
  @Test(
    "what happens to an envelope is logged in order, with names, and is there after a restart",
    arguments: StoreFactory.all)
  func life(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      _ = try await bench.store.register(upstreams: ["default"])
      let id = try await bench.accept(bench.draft(client: "truck-7", lane: "photos"))
      let dueAt = bench.clock.now.adding(milliseconds: 500)
      try await bench.record(id, .retry(at: dueAt), attempt: bench.attempt(1, .unreachable))
      try await bench.record(
        id, .block(reason: "no"), attempt: bench.attempt(2, .refused, status: 422))
      try await bench.record(id, .release)
      try await bench.record(
        id, .end(.delivered, reason: ""), attempt: bench.attempt(3, .delivered, status: 200))
      let before = try await bench.events()
      try await bench.reopen()
      let events = try await bench.events()
      #expect(events == before)
      #expect(events.map(\.kind) == [.accepted, .attempted, .blocked, .released, .delivered])
      #expect(events.map(\.state) == [.queued, .queued, .blocked, .queued, .delivered])
      #expect(events.map(\.attempt) == [nil, 1, 2, nil, 3])
      #expect(events.map(\.status) == [nil, nil, 422, nil, 200])
      #expect(events.map(\.reason) == [nil, "no route", "no", nil, nil])
      #expect(events[1].dueAt == dueAt)
      #expect(
        events.allSatisfy {
          $0.id == id && $0.client == "truck-7" && $0.lane == "photos" && $0.upstream == "default"
            && $0.at == bench.clock.now
        })
      #expect(events.map(\.position) == events.map(\.position).sorted())
    }
  }

  @Test("each end, an edit and a requeue are told apart", arguments: StoreFactory.all)
  func ends(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft(hold: true))
      let entry = try await bench.entry(id)
      for end in [EnvelopeState.failed, .expired, .cancelled] {
        try await bench.record(id, .end(end, reason: "\(end)"))
        try await bench.requeue(entry)
      }
      var edited = try await bench.entry(id)
      edited.standing = .held
      let edit = EnvelopeEdit(
        content: bench.draft().content, tag: nil, entry: edited, notBefore: nil)
      try await bench.record(id, .edit(edit))
      let events = try await bench.events()
      #expect(
        events.map(\.kind) == [
          .accepted, .failed, .requeued, .expired, .requeued, .cancelled, .requeued, .edited,
        ])
      #expect(events.first?.state == .held && events.last?.state == .held)
      #expect(events.compactMap(\.reason) == ["failed", "expired", "cancelled"])
    }
  }

  @Test("a change that comes too late is not logged", arguments: StoreFactory.all)
  func moot(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft())
      let entry = try await bench.entry(id)
      for _ in 0..<2 { try await bench.record(entry, .end(.cancelled, reason: "")) }
      #expect(try await bench.events().map(\.kind) == [.accepted, .cancelled])
    }
  }

  @Test(
    "pauses are logged when they change something, and notes as they are",
    arguments: StoreFactory.all)
  func pausesAndNotes(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let lane = LaneName(client: "truck-7", lane: "photos")
      for _ in 0..<2 { try await bench.store.setPaused(true, .lane(lane)) { _ in } }
      try await bench.store.setPaused(true, .client("truck-7")) { _ in }
      for _ in 0..<2 { try await bench.store.setPaused(false, .lane(lane)) { _ in } }
      let upstreams = try await bench.store.register(upstreams: ["default"])
      let upstream = try #require(upstreams["default"])
      try await bench.store.note(
        EventEntry(.unreachable, upstream: upstream, numbers: [3, -4], reason: "no route"))
      let events = try await bench.events()
      #expect(events.map(\.kind) == [.paused, .paused, .resumed, .unreachable])
      #expect(events.map(\.client) == ["truck-7", "truck-7", "truck-7", nil])
      #expect(events.map(\.lane) == ["photos", nil, "photos", nil])
      #expect(events[3].upstream == "default" && events[3].reason == "no route")
      #expect(events[3].numbers == [3, -4])
    }
  }

  @Test("a filter lets pass what is about all that it names", arguments: StoreFactory.all)
  func filters(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let upstreams = try await bench.store.register(upstreams: ["default", "other"])
      var ids: [String: EnvelopeID] = [:]
      for client in ["a", "b"] {
        for lane in ["x", "y"] {
          ids[client + lane] = try await bench.accept(
            bench.draft(client: client, lane: lane, upstream: lane == "x" ? "default" : "other"))
        }
      }
      try await bench.store.setPaused(true, .client("a")) { _ in }
      try await bench.store.note(EventEntry(.unreachable, upstream: upstreams["other"]))
      try await bench.store.note(EventEntry(.started))
      func kinds(_ filter: EventFilter) async throws -> [EventKind] {
        try await bench.events(filter).map(\.kind)
      }
      #expect(try await kinds(EventFilter()).count == 7)
      #expect(
        try await kinds(EventFilter(client: "a")) == [.accepted, .accepted, .paused, .started])
      #expect(try await kinds(EventFilter(client: "a", lane: "x")) == [.accepted, .started])
      #expect(
        try await kinds(EventFilter(upstream: "other"))
          == [.accepted, .accepted, .unreachable, .started])
      let one = try await bench.events(EventFilter(envelope: ids["by"]))
      #expect(one.map(\.id) == [ids["by"], nil])
      #expect(try await kinds(EventFilter(client: "nobody")) == [.started])
      #expect(try await kinds(EventFilter(client: "a", envelope: ids["by"])) == [.started])
    }
  }

  @Test("pages go on where the last one ended, whatever their size", arguments: StoreFactory.all)
  func pages(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      // One transaction with so many events that they take several rows.
      let drafts = (0..<1000).map { bench.draft(client: "c\($0 % 7)") }
      for _ in 0..<3 { _ = try await bench.store.append(drafts, isAtomic: false) }
      let whole = try await bench.events()
      #expect(whole.count == 3000)
      #expect(whole.compactMap(\.id?.serial) == Array(1...3000))
      for (countMax, looksMax) in [(1, 10_000), (97, 10_000), (10_000, 33), (64, 64)] {
        let stop = countMax == 1 ? 50 : 3000
        let found = try await bench.events(countMax: countMax, looksMax: looksMax, stopAt: stop)
        #expect(found == Array(whole.prefix(stop)))
      }
      let few = try await bench.events(EventFilter(client: "c3"), countMax: 10, looksMax: 100)
      #expect(few == whole.filter { $0.client == "c3" })
    }
  }

  @Test(
    "each commit that logs something is told, with the place behind it",
    arguments: StoreFactory.all)
  func told(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft())
      try await bench.record(id, .end(.delivered, reason: ""))
      try await bench.store.setPaused(true, .client("device-1")) { _ in }
      let ends = bench.observer.state.withLock { $0.loggedThrough }
      #expect(ends == (2...4).map { EventPosition(row: $0, index: 0) })
      #expect(try await bench.store.eventLogSpan().end == ends.last)
    }
  }

  @Test(
    "events that are old are forgotten but for the latest, which is told to whoever asks for them",
    arguments: StoreFactory.all)
  func forgetting(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      for _ in 0..<10 { try await bench.accept(bench.draft()) }
      let old = try await bench.store.eventLogSpan()
      bench.clock.advance(milliseconds: 1000)
      for _ in 0..<5 { try await bench.accept(bench.draft()) }
      #expect(try await !bench.store.forgetEvents(before: bench.clock.now, countMax: 4))
      #expect(try await !bench.store.forgetEvents(before: bench.clock.now, countMax: 4))
      #expect(try await bench.store.forgetEvents(before: bench.clock.now, countMax: 4))
      let page = try await bench.store.events(
        behind: old.first, EventFilter(), countMax: 10, looksMax: 10)
      #expect(page.isPastGone && page.events.isEmpty)
      #expect(try await bench.events().compactMap(\.id?.serial) == Array(11...15))
      bench.clock.advance(milliseconds: 1000)
      #expect(try await bench.store.forgetEvents(before: bench.clock.now, countMax: 100))
      let span = try await bench.store.eventLogSpan()
      #expect(span.first == EventPosition(row: 15, index: 0) && span.origin == old.origin)
      try await bench.reopen()
      // Numbers of envelopes may be left out by a restart, those of the log are not.
      let last = try await bench.accept(bench.draft())
      #expect(try await bench.store.eventLogSpan().end == EventPosition(row: 17, index: 0))
      #expect(try await bench.events().compactMap(\.id?.serial) == [15, last.serial])
    }
  }

  @Test(
    "the log forgets its oldest events once it is too large, and goes on after a restart",
    arguments: StoreFactory.all)
  func bounded(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      var rules = StoreRules()
      rules.eventLogBytesMax = 2500
      for round in 1...2 {
        try await bench.reopen(rules: rules)
        for _ in 0..<150 { try await bench.accept(bench.draft()) }
        let span = try await bench.store.eventLogSpan()
        #expect(span.end.row == Int64(round * 150 + 1))
        // A row of one acceptance has about thirty bytes.
        let rows = span.end.row - span.first.row
        #expect((62...100).contains(rows), "\(rows) rows are kept")
        #expect(try await bench.events().count == Int(rows))
      }
    }
  }

  @Test("an event of an envelope that is not kept any more has no id", arguments: StoreFactory.all)
  func deleted(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft())
      try await bench.record(id, .end(.delivered, reason: ""))
      bench.clock.advance(milliseconds: 1000)
      let cutoffs = RetentionCutoffs(delivered: bench.clock.now, failed: bench.clock.now)
      _ = try await bench.store.deleteEnded(cutoffs, countMax: 10)
      let events = try await bench.events()
      #expect(events.map(\.kind) == [.accepted, .delivered])
      #expect(events.allSatisfy { $0.id == nil && $0.client == "device-1" })
    }
  }
}

extension Bench {
  /// Everything that the log holds and that passes, page by page.
  func events(
    _ filter: EventFilter = EventFilter(), countMax: Int = 10_000, looksMax: Int = 10_000,
    stopAt: Int = .max
  ) async throws -> [RelayEvent] {
    var position = try await store.eventLogSpan().first
    var events: [RelayEvent] = []
    while true {
      let page = try await store.events(
        behind: position, filter, countMax: countMax, looksMax: looksMax)
      events += page.events
      guard page.hasMore, events.count < stopAt else { return events }
      guard page.next > position else { throw Unexpected(description: "a page that goes nowhere") }
      position = page.next
    }
  }

  /// Puts an envelope back in line and waits until that is durable.
  func requeue(_ entry: LineEntry) async throws { try await record(entry, .requeue(entry)) }

  /// Records a change of an envelope, whether or not it waits.
  func record(_ entry: LineEntry, _ change: Transition.Change) async throws {
    let count = observer.recordedCount
    planned.record([
      Transition(
        serial: entry.serial, lane: entry.lane, upstream: entry.upstream, change: change,
        at: clock.now, epoch: epoch)
    ])
    await observer.waitUntilRecorded(count + 1)
  }
}
