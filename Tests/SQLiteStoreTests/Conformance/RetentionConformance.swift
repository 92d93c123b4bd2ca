import RelayCore
import StoreModel
import Testing

/// What every store promises of deadlines and of deleting what has ended.
@Suite("conformance: deadlines and retention", .timeLimit(.minutes(5)))
struct RetentionConformance {
  @Test(
    "passed deadlines are found in steps, and the next one is told", arguments: StoreFactory.all
  )
  func expiry(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      for index in 0..<10 {
        try await bench.accept(bench.draft(expiresInMs: index % 2 == 0 ? 100 : 5000 + Int64(index)))
      }
      let deadline = bench.clock.now.adding(milliseconds: 5001)
      bench.clock.advance(milliseconds: 100)
      for _ in 0..<2 {
        var found: [Serial] = []
        var steps = 0
        while true {
          let page = try await bench.store.expiredEntries(at: bench.clock.now, countMax: 4)
          found += page.expired.map(\.serial)
          steps += 1
          if page.isRoundDone {
            #expect(page.nextDeadline == deadline)
            break
          }
          #expect(page.nextDeadline == nil)
        }
        #expect(found == [1, 3, 5, 7, 9] && steps == 3)
      }
    }
  }

  @Test("an empty line has no deadline", arguments: StoreFactory.all)
  func noDeadline(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let page = try await bench.store.expiredEntries(at: bench.clock.now, countMax: 4)
      #expect(page.isRoundDone && page.expired.isEmpty && page.nextDeadline == nil)
    }
  }

  @Test(
    "what ended long ago is deleted in steps with all that belongs to it",
    arguments: StoreFactory.planned)
  func deletion(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      var ids: [EnvelopeID] = []
      for index in 0..<9 {
        let id = try await bench.accept(bench.draft(key: "k\(index)", sequence: Int64(index + 1)))
        ids.append(id)
        let end: EnvelopeState = index % 3 == 0 ? .failed : .delivered
        if index == 8 { continue }
        if index == 7 { bench.clock.advance(milliseconds: 10_000) }
        try await bench.record(
          id, .retry(at: bench.clock.now), attempt: bench.attempt(1, .unreachable))
        try await bench.record(
          id, .end(end, reason: "x"), attempt: bench.attempt(2, .delivered, status: 200),
          response: UpstreamResponse(status: 200, headers: HeaderBlock(), body: [1]))
      }
      let cutoffs = RetentionCutoffs(
        delivered: bench.clock.now, failed: bench.clock.now.adding(milliseconds: -20_000))
      var deleted = 0
      var steps = 0
      while true {
        let page = try await bench.planned.deleteEnded(cutoffs, countMax: 3)
        deleted += page.deletedCount
        steps += 1
        if page.isRoundDone { break }
      }
      #expect(deleted == 4 && steps == 3)
      for _ in 0..<2 {
        let gone = [1, 2, 4, 5]
        for (index, id) in ids.enumerated() {
          #expect((try await bench.planned.envelope(id) == nil) == gone.contains(index))
          #expect(
            (try await bench.planned.envelope(client: "device-1", key: "k\(index)") == nil)
              == gone.contains(index))
          if gone.contains(index) { #expect(try await bench.planned.response(id) == nil) }
        }
        let lane = try #require(try await bench.planned.client("device-1")?.lanes.first)
        #expect(lane.ended[.delivered] == 1 && lane.ended[.failed] == 3)
        #expect(lane.lastSequence == 9)
        #expect(bench.planned.statistics().envelopes[.delivered] == 1)
        try await bench.reopen()
      }
      // A key whose envelope is gone is a new one.
      let again = try await bench.planned.append([bench.draft(key: "k1")], isAtomic: false)
      guard case .accepted = again[0] else { throw Unexpected(description: "\(again)") }
    }
  }

  @Test(
    "a number is never given out twice, though the newest were deleted",
    arguments: StoreFactory.planned)
  func serialsAreUnique(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      var last: Serial = 0
      for _ in 0..<3 {
        let id = try await bench.accept(bench.draft())
        #expect(id.serial > last)
        last = id.serial
        try await bench.record(id, .end(.delivered, reason: ""))
        let later = bench.clock.now.adding(milliseconds: 1)
        _ = try await bench.planned.deleteEnded(
          RetentionCutoffs(delivered: later, failed: later), countMax: 10)
        #expect(try await bench.planned.envelope(id) == nil)
        #expect(bench.planned.statistics().contentBytes == 0)
        try await bench.reopen()
        let page = try await bench.planned.line(after: 0, countMax: 1)
        // A store may have set numbers apart that nobody has got.
        #expect(page.scannedThrough >= last)
      }
    }
  }
}
