import RelayCore
import Testing

/// What every store promises to clients that check in.
@Suite("conformance: check-in", .timeLimit(.minutes(5)))
struct CheckInConformance {
  private func end(_ id: EnvelopeID, _ bench: Bench, as end: EnvelopeState) async throws {
    try await bench.record(
      id, .end(end, reason: "so it went"), attempt: bench.attempt(1, .delivered, status: 201),
      response: UpstreamResponse(status: 201, headers: HeaderBlock(), body: []))
  }

  @Test("nobody is told of a client that never sent anything", arguments: StoreFactory.all)
  func unknown(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let page = try await bench.store.checkIn("nobody", seenThrough: 0, countMax: 9)
      #expect(page == nil)
      let client = try await bench.store.client("nobody")
      #expect(client == nil)
    }
  }

  @Test("the first check-in tells what had ended before", arguments: StoreFactory.all)
  func first(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let mine = try await bench.accept(bench.draft(key: "mine", sequence: 1))
      let waiting = try await bench.accept(bench.draft())
      let other = try await bench.accept(bench.draft(client: "device-2"))
      try await end(mine, bench, as: .delivered)
      try await end(other, bench, as: .delivered)
      let page = try #require(
        try await bench.store.checkIn("device-1", seenThrough: 0, countMax: 9))
      #expect(!page.hasMore && page.endings.count == 1)
      let ending = try #require(page.endings.first)
      #expect(ending.fate.id == mine && ending.fate.state == .delivered)
      #expect(ending.fate.reason == "so it went" && ending.fate.endedAt == bench.clock.now)
      #expect(ending.fate.attemptCount == 1 && ending.fate.responseStatus == 201)
      #expect(ending.lane == "default" && ending.key == "mine" && ending.sequence == 1)
      #expect(page.toldThrough == ending.number)
      try await bench.record(waiting, .end(.cancelled, reason: ""))
      let next = try await bench.store.checkIn(
        "device-1", seenThrough: page.toldThrough, countMax: 9)
      #expect(next?.endings.map(\.fate.id) == [waiting])
    }
  }

  @Test(
    "endings are told page by page, again until they are seen, and over a restart",
    arguments: StoreFactory.all)
  func pages(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      var ids: [EnvelopeID] = []
      for _ in 0..<5 { ids.append(try await bench.accept(bench.draft())) }
      _ = try await bench.store.checkIn("device-1", seenThrough: 0, countMax: 2)
      for id in ids { try await end(id, bench, as: .failed) }
      var told: [EnvelopeID] = []
      var seen: EndingNumber = 0
      for expected in [2, 2, 1] {
        let page = try #require(
          try await bench.store.checkIn("device-1", seenThrough: seen, countMax: 2))
        #expect(page.endings.count == expected && page.hasMore == (expected == 2))
        try await bench.reopen()
        // The answer was lost on its way: the same question gets the same answer.
        let again = try await bench.store.checkIn("device-1", seenThrough: seen, countMax: 2)
        #expect(again == page)
        told += page.endings.map(\.fate.id)
        seen = page.toldThrough
      }
      #expect(told == ids)
      let last = try await bench.store.checkIn("device-1", seenThrough: seen, countMax: 2)
      #expect(last == CheckInPage(endings: [], toldThrough: seen, hasMore: false))
      let forgotten = try await bench.store.checkIn("device-1", seenThrough: 0, countMax: 2)
      #expect(forgotten?.endings.isEmpty == true)
    }
  }

  @Test("a number that was never given out forgets nothing", arguments: StoreFactory.all)
  func foreignNumber(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft())
      try await end(id, bench, as: .delivered)
      let page = try await bench.store.checkIn("device-1", seenThrough: 1 << 40, countMax: 9)
      #expect(page?.endings.map(\.fate.id) == [id])
    }
  }

  @Test(
    "an envelope that waits again is told of once it has ended again",
    arguments: StoreFactory.all)
  func requeued(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft())
      let entry = try await bench.entry(id)
      try await end(id, bench, as: .failed)
      let first = try await bench.store.checkIn("device-1", seenThrough: 0, countMax: 9)
      #expect(first?.endings.count == 1)
      try await bench.requeue(entry)
      let waiting = try await bench.store.checkIn("device-1", seenThrough: 0, countMax: 9)
      #expect(waiting?.endings.isEmpty == true)
      try await end(id, bench, as: .delivered)
      let told = try await bench.store.checkIn("device-1", seenThrough: 0, countMax: 9)
      #expect(told?.endings.map(\.fate.state) == [.delivered])
    }
  }

  @Test("what is deleted is no longer told", arguments: StoreFactory.all)
  func deleted(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft())
      _ = try await bench.store.checkIn("device-1", seenThrough: 0, countMax: 9)
      try await end(id, bench, as: .delivered)
      bench.clock.advance(milliseconds: 1000)
      let cutoffs = RetentionCutoffs(delivered: bench.clock.now, failed: bench.clock.now)
      let deletion = try await bench.store.deleteEnded(cutoffs, countMax: 9)
      #expect(deletion.deletedCount == 1)
      let page = try await bench.store.checkIn("device-1", seenThrough: 0, countMax: 9)
      #expect(page?.endings.isEmpty == true)
    }
  }
}
