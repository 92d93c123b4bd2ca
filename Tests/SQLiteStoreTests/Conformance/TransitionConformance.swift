import RelayCore
import StoreModel
import Synchronization
import Testing

/// What every store promises of the changes of waiting envelopes.
@Suite("conformance: transitions", .timeLimit(.minutes(5)))
struct TransitionConformance {
  private let answer = UpstreamResponse(
    status: 200, headers: HeaderBlock(), body: Array("thanks".utf8), isTruncated: true)

  @Test(
    "a delivered envelope leaves the line and keeps its answer", arguments: StoreFactory.planned)
  func delivered(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft())
      bench.clock.advance(milliseconds: 50)
      try await bench.record(
        id, .end(.delivered, reason: ""), attempt: bench.attempt(1, .delivered, status: 200),
        response: answer)
      for _ in 0..<2 {
        let record = try #require(try await bench.planned.envelope(id))
        #expect(record.state == .delivered && record.reason == nil)
        #expect(record.endedAt == bench.clock.now)
        #expect(record.attemptCount == 1 && record.responseStatus == 200)
        #expect(record.attempts == [bench.attempt(1, .delivered, status: 200)])
        #expect(try await bench.planned.response(id) == answer)
        #expect(try await bench.planned.line(after: 0, countMax: 9).entries.isEmpty)
        #expect(try await bench.planned.load([id.serial]).isEmpty)
        #expect(try await bench.planned.client("device-1")?.lanes.first?.ended[.delivered] == 1)
        #expect(bench.planned.statistics().envelopes[.delivered] == 1)
        #expect(bench.planned.statistics().envelopes[.queued] == 0)
        try await bench.reopen()
      }
    }
  }

  @Test(
    "a retried envelope keeps its place, its due time and its history",
    arguments: StoreFactory.planned)
  func retried(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft())
      _ = try await bench.accept(bench.draft())
      let due = bench.clock.now.adding(milliseconds: 1000)
      try await bench.record(id, .retry(at: due), attempt: bench.attempt(1, .unreachable))
      try await bench.record(
        id, .retry(at: due), attempt: bench.attempt(2, .unreachable, status: 503))
      try await bench.reopen()
      let entry = try await bench.entry(id)
      #expect(entry.dueAt == due && entry.attempts == 2 && entry.standing == .queued)
      #expect(try await bench.planned.line(after: 0, countMax: 9).entries.first == entry)
      try await bench.record(
        id, .end(.delivered, reason: ""), attempt: bench.attempt(3, .delivered, status: 204))
      let record = try #require(try await bench.planned.envelope(id))
      #expect(record.attemptCount == 3)
      #expect(record.attempts.map(\.number) == [1, 2, 3])
      #expect(record.attempts.map(\.outcome) == [.unreachable, .unreachable, .delivered])
      #expect(record.attempts.map(\.status) == [nil, 503, 204])
      #expect(record.attempts[0].error == "no route")
    }
  }

  @Test("what was delivered is not put back in line", arguments: StoreFactory.planned)
  func deliveredStays(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft())
      try await bench.record(
        id, .end(.delivered, reason: ""), attempt: bench.attempt(1, .delivered, status: 200),
        response: answer)
      let before = try #require(try await bench.planned.envelope(id))
      try await bench.requeue(try #require(try await bench.planned.envelope(id)).entry)
      // Whoever asked for it is told that it came to nothing.
      #expect(bench.observer.state.withLock { $0.recorded.last?.isMoot } == true)
      for _ in 0..<2 {
        let record = try #require(try await bench.planned.envelope(id))
        #expect(record.state == .delivered && record.endedAt == before.endedAt)
        #expect(record.attempts == before.attempts && record.responseStatus == 200)
        #expect(try await bench.planned.response(id) == answer)
        #expect(try await bench.planned.line(after: 0, countMax: 9).entries.isEmpty)
        #expect(bench.planned.statistics().envelopes[.delivered] == 1)
        #expect(bench.planned.statistics().envelopes[.queued] == 0)
        try await bench.reopen()
      }
    }
  }

  @Test(
    "what is put back in line has no answer until it is answered again",
    arguments: StoreFactory.planned)
  func oldAnswer(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft())
      let refusal = UpstreamResponse(status: 422, headers: HeaderBlock(), body: Array("no".utf8))
      try await bench.record(
        id, .end(.failed, reason: "422"), attempt: bench.attempt(1, .refused, status: 422),
        response: refusal)
      #expect(try await bench.planned.response(id) == refusal)
      try await bench.requeue(try #require(try await bench.planned.envelope(id)).entry)
      for _ in 0..<2 {
        #expect(try await bench.planned.response(id) == nil)
        #expect(try await bench.planned.envelope(id)?.responseStatus == nil)
        #expect(try await bench.entry(id).standing == .queued)
        try await bench.reopen()
      }
      // One that ends without an answer, as by its deadline, does not show the old one.
      try await bench.record(id, .end(.expired, reason: "late"))
      #expect(try await bench.planned.response(id) == nil)
    }
  }

  @Test("a blocked envelope heads its lane and tells why", arguments: StoreFactory.planned)
  func blocked(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft(onFailure: .block))
      try await bench.record(
        id, .block(reason: "422 from the upstream"),
        attempt: bench.attempt(1, .refused, status: 422),
        response: UpstreamResponse(status: 422, headers: HeaderBlock(), body: []))
      try await bench.reopen()
      let record = try #require(try await bench.planned.envelope(id))
      #expect(record.state == .blocked && record.reason == "422 from the upstream")
      #expect(record.responseStatus == 422)
      #expect(try await bench.entry(id).standing == .blocked)
      #expect(bench.planned.statistics().envelopes[.blocked] == 1)
      try await bench.record(id, .end(.failed, reason: "discarded"))
      let ended = try #require(try await bench.planned.envelope(id))
      #expect(ended.state == .failed && ended.reason == "discarded")
      #expect(ended.attemptCount == 1 && ended.attempts.count == 1)
    }
  }

  @Test(
    "each end is counted under its name, for the lane and in all", arguments: StoreFactory.planned)
  func ends(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      for end in EnvelopeState.allCases where end.isEnd {
        let id = try await bench.accept(bench.draft())
        try await bench.record(id, .end(end, reason: "so"))
        #expect(try await bench.planned.envelope(id)?.state == end)
        #expect(try await bench.planned.envelope(id)?.reason == "so")
      }
      let lane = try #require(try await bench.planned.client("device-1")?.lanes.first)
      for end in EnvelopeState.allCases where end.isEnd {
        #expect(lane.ended[end] == 1)
        #expect(bench.planned.statistics().envelopes[end] == 1)
      }
    }
  }

  @Test(
    "a change of an envelope that has ended is told, and changes nothing",
    arguments: StoreFactory.planned)
  func tooLate(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft())
      let entry = try await bench.entry(id)
      let change = { (change: Transition.Change) in
        Transition(
          serial: id.serial, lane: entry.lane, upstream: entry.upstream, change: change,
          at: bench.clock.now, epoch: bench.epoch)
      }
      bench.planned.record([
        change(.end(.cancelled, reason: "by the sender")), change(.end(.delivered, reason: "")),
        change(.retry(at: bench.clock.now)),
      ])
      await bench.observer.waitUntilRecorded(3)
      #expect(try await bench.planned.envelope(id)?.state == .cancelled)
      #expect(bench.planned.statistics().envelopes[.cancelled] == 1)
      #expect(bench.planned.statistics().envelopes[.queued] == 0)
    }
  }

  @Test(
    "an outcome under another lease's epoch is refused, and the trouble is told",
    arguments: StoreFactory.planned)
  func otherEpoch(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft())
      let entry = try await bench.entry(id)
      bench.planned.record([
        Transition(
          serial: id.serial, lane: entry.lane, upstream: entry.upstream,
          change: .end(.delivered, reason: ""), at: bench.clock.now, epoch: 7)
      ])
      // What follows is committed later, so by then the other has been seen.
      let other = try await bench.accept(bench.draft(lane: "other"))
      try await bench.record(other, .end(.delivered, reason: ""))
      #expect(try await bench.planned.envelope(id)?.state == .queued)
      #expect(bench.observer.recordedCount == 1)
      #expect(bench.planned.statistics().trouble?.contains("epoch 7") == true)
    }
  }

  @Test("only the latest attempts are kept, and all are counted", arguments: StoreFactory.planned)
  func attemptsKept(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft())
      let entry = try await bench.entry(id)
      let total = Int32(StoreLimits.attemptsKeptMax + 20)
      bench.planned.record(
        (1...total).map { number in
          Transition(
            serial: id.serial, lane: entry.lane, upstream: entry.upstream,
            change: .retry(at: bench.clock.now), at: bench.clock.now,
            attempt: bench.attempt(number, .unreachable), epoch: bench.epoch)
        })
      await bench.observer.waitUntilRecorded(Int(total))
      try await bench.record(
        id, .end(.delivered, reason: ""),
        attempt: bench.attempt(total + 1, .delivered, status: 200))
      let record = try #require(try await bench.planned.envelope(id))
      #expect(record.attemptCount == total + 1)
      #expect(record.attempts.count == StoreLimits.attemptsKeptMax)
      #expect(record.attempts.last?.number == total + 1)
      #expect(record.attempts.first?.number == total + 2 - Int32(StoreLimits.attemptsKeptMax))
    }
  }

  @Test("attempts are counted upwards, whichever is told last", arguments: StoreFactory.planned)
  func attemptsToldLate(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft())
      let due = bench.clock.now
      try await bench.record(id, .retry(at: due), attempt: bench.attempt(3, .unreachable))
      try await bench.record(id, .retry(at: due), attempt: bench.attempt(2, .unreachable))
      #expect(try await bench.planned.envelope(id)?.attemptCount == 3)
    }
  }

  @Test("many calls at once after close are refused with a word", arguments: StoreFactory.all)
  func closed(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft())
      let store = bench.store
      await store.close()
      await store.close()
      let kinds = [
        await #expect(throws: StoreError.self) {
          try await store.append([bench.draft()], isAtomic: false)
        },
        await #expect(throws: StoreError.self) { try await store.envelope(id) },
        await #expect(throws: StoreError.self) { try await store.load([1]) },
        await #expect(throws: StoreError.self) { try await store.beginBody() },
      ].map { $0?.kind }
      #expect(kinds.allSatisfy { $0 == .closed })
    }
  }
}
