import RelayCore
import StoreModel
import Testing

/// What every store promises of changes of what has ended undelivered, and of putting it back in
/// line.
@Suite("conformance: what has ended", .timeLimit(.minutes(5)))
struct EndedConformance {
  private func fail(_ id: EnvelopeID, _ bench: Bench, _ end: EnvelopeState = .failed) async throws {
    try await bench.record(
      id, .end(end, reason: "so it went"), attempt: bench.attempt(1, .refused, status: 422))
  }

  private func edit(
    _ record: EnvelopeRecord, path: String, body: EnvelopeBody = .inline([1, 2, 3])
  ) -> EnvelopeEdit {
    var content = record.draft.content
    content.target = Array(path.utf8)
    content.body = body
    return EnvelopeEdit(
      content: content, tag: "corrected", entry: record.entry, notBefore: nil, hold: false)
  }

  @Test(
    "a correction leaves the end as it was, and is what waits once it is put back in line",
    arguments: StoreFactory.all, [EnvelopeState.failed, .expired, .cancelled])
  func corrected(_ factory: StoreFactory, _ end: EnvelopeState) async throws {
    try await Bench.with(factory) { bench in
      let file = try await bench.store.write([[7, 7]])
      let id = try await bench.accept(bench.draft(body: .file(file)))
      try await fail(id, bench, end)
      let before = try #require(try await bench.store.envelope(id))
      let bytesBefore = bench.store.statistics().contentBytes
      #expect(try await bench.store.correctEnded(edit(before, path: "/right")))
      let bytes = bench.store.statistics().contentBytes
      try await bench.reopen()
      let after = try #require(try await bench.store.envelope(id))
      #expect(after.state == end && after.reason == "so it went")
      #expect(after.endedAt == before.endedAt && after.attempts == before.attempts)
      #expect(after.draft.tag == "corrected")
      #expect(after.draft.content.target == Array("/right".utf8))
      let grownBy = after.draft.content.target.count - before.draft.content.target.count + 1
      #expect(bytes == bytesBefore + Int64(grownBy))
      await bench.store.waitUntilSwept()
      await #expect(throws: StoreError.self) { try await bench.store.bytes(of: file) }
      #expect(bench.store.statistics().envelopes[end] == 1)
      let event = try #require(try await bench.events().last)
      #expect(event.kind == .edited && event.id == id && event.state == nil)
      try await bench.requeue(after.entry)
      let loaded = try #require(try await bench.store.load([after.entry.serial]).first)
      #expect(loaded.content == after.draft.content)
    }
  }

  @Test("a large body that stays keeps its file", arguments: StoreFactory.all)
  func sameFile(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let file = try await bench.store.write([[7, 7]])
      let id = try await bench.accept(bench.draft(body: .file(file)))
      try await fail(id, bench)
      let record = try #require(try await bench.store.envelope(id))
      #expect(
        try await bench.store.correctEnded(
          edit(record, path: "/right", body: record.draft.content.body)))
      try await bench.reopen()
      #expect(try await bench.store.bytes(of: file) == [7, 7])
    }
  }

  @Test("what failed is cancelled once, and counted so", arguments: StoreFactory.all)
  func cancelled(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft())
      try await fail(id, bench)
      let record = try #require(try await bench.store.envelope(id))
      bench.clock.advance(milliseconds: 1000)
      let endedAt = bench.clock.now
      #expect(try await bench.store.cancelEnded(record.entry, reason: "taken back"))
      bench.clock.advance(milliseconds: 1000)
      #expect(try await bench.store.cancelEnded(record.entry, reason: "again"))
      for _ in 0..<2 {
        let after = try #require(try await bench.store.envelope(id))
        #expect(after.state == .cancelled && after.reason == "taken back")
        #expect(after.endedAt == endedAt && after.attempts == record.attempts)
        let counts = bench.store.statistics().envelopes
        #expect(counts[.failed] == 0 && counts[.cancelled] == 1)
        let lane = try await bench.store.client("device-1")?.lanes.first
        #expect(lane?.ended[.failed] ?? 0 == 0 && lane?.ended[.cancelled] == 1)
        try await bench.reopen()
      }
      let events = try await bench.events()
      #expect(events.map(\.kind) == [.accepted, .failed, .cancelled])
      #expect(events.last?.reason == "taken back" && events.last?.state == .cancelled)
      try await bench.requeue(record.entry)
      #expect(bench.store.statistics().envelopes[.cancelled] == 0)
      #expect(try await bench.store.envelope(id)?.attempts == record.attempts)
    }
  }

  @Test(
    "a client is told that what had failed is cancelled", arguments: StoreFactory.all,
    [false, true])
  func told(_ factory: StoreFactory, hasSeenFailure: Bool) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft())
      _ = try await bench.store.checkIn("device-1", seenThrough: 0, countMax: 9)
      try await fail(id, bench)
      let first = try #require(
        try await bench.store.checkIn("device-1", seenThrough: 0, countMax: 9))
      #expect(first.endings.map(\.fate.state) == [.failed])
      let seen = hasSeenFailure ? first.toldThrough : 0
      _ = try await bench.store.checkIn("device-1", seenThrough: seen, countMax: 9)
      let entry = try #require(try await bench.store.envelope(id)?.entry)
      #expect(try await bench.store.cancelEnded(entry, reason: "taken back"))
      let page = try #require(
        try await bench.store.checkIn("device-1", seenThrough: seen, countMax: 9))
      #expect(page.endings.map(\.fate.state) == [.cancelled])
      let last = try await bench.store.checkIn(
        "device-1", seenThrough: page.toldThrough, countMax: 9)
      #expect(last?.endings.isEmpty == true)
    }
  }

  @Test("what waits, was delivered, or is not there is left alone", arguments: StoreFactory.all)
  func leftAlone(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let waiting = try await bench.accept(bench.draft())
      let delivered = try await bench.accept(bench.draft())
      try await bench.record(delivered, .end(.delivered, reason: ""))
      for id in [waiting, delivered] {
        let record = try #require(try await bench.store.envelope(id))
        #expect(try await !bench.store.correctEnded(edit(record, path: "/other")))
        #expect(try await !bench.store.cancelEnded(record.entry, reason: "x"))
        let after = try await bench.store.envelope(id)
        #expect(after?.state == record.state)
        #expect(after?.draft.content == record.draft.content)
      }
      var entry = try await bench.entry(waiting)
      entry.serial = 99
      #expect(try await !bench.store.cancelEnded(entry, reason: "x"))
      #expect(try await bench.events().map(\.kind) == [.accepted, .accepted, .delivered])
    }
  }

  @Test(
    "what is put back in line is held, or waits for its time, as it is said to",
    arguments: StoreFactory.all)
  func waitsAgain(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let ids = [
        try await bench.accept(bench.draft(hold: true)), try await bench.accept(bench.draft()),
      ]
      let dueAt = bench.clock.now.adding(milliseconds: 60_000)
      for (id, isHeld) in zip(ids, [true, false]) {
        try await bench.record(id, .end(.cancelled, reason: "x"))
        var entry = try #require(try await bench.store.envelope(id)?.entry)
        entry.waitAgain(hold: isHeld, notBefore: isHeld ? nil : dueAt, at: bench.clock.now)
        try await bench.requeue(entry)
      }
      try await bench.reopen()
      let line = try await bench.store.line(after: 0, countMax: 9).entries
      #expect(line.map(\.standing) == [.held, .queued])
      #expect(line.map(\.dueAt) == [nil, dueAt])
      let counts = bench.store.statistics().envelopes
      #expect(counts[.held] == 1 && counts[.queued] == 1 && counts[.cancelled] == 0)
      #expect(try await bench.events().suffix(1).map(\.dueAt) == [dueAt])
    }
  }

  @Test("a hold is spent by a run, over a restart too", arguments: StoreFactory.planned)
  func holdSpent(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let run = try await bench.accept(bench.draft(hold: true))
      let held = try await bench.accept(bench.draft(hold: true))
      try await bench.record(run, .release)
      try await bench.reopen()
      #expect(try await bench.planned.envelope(run)?.draft.hold == false)
      #expect(try await bench.planned.envelope(held)?.draft.hold == true)
    }
  }

  @Test(
    "it is told which ends are on record no more, or are others, and of which upstream's envelopes",
    arguments: StoreFactory.planned)
  func endsChanged(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      var ids: [EnvelopeID] = []
      var entries: [LineEntry] = []
      for _ in 0..<6 {
        ids.append(try await bench.accept(bench.draft()))
        entries.append(try await bench.entry(ids[ids.count - 1]))
      }
      for id in ids[..<3] { try await fail(id, bench) }
      try await bench.record(ids[3], .end(.failed, reason: "discarded"))
      try await bench.record(ids[4], .end(.expired, reason: "too late"))
      try await bench.record(
        ids[5], .end(.delivered, reason: "x"), attempt: bench.attempt(1, .delivered, status: 200))
      let endedAt = bench.clock.now
      bench.clock.advance(milliseconds: 1000)
      func told(
        _ place: Int, _ result: EndChange.Result, _ state: EnvelopeState = .failed,
        isTried: Bool = true, at time: WallTime? = nil, upstream: UpstreamNumber? = nil
      ) -> EndChange {
        EndChange(
          serial: entries[place].serial, lane: entries[place].lane,
          upstream: upstream ?? entries[place].upstream, state: state, endedAt: time ?? endedAt,
          isTried: isTried, result: result)
      }
      // A correction that goes to the same upstream changes nothing of that.
      let record = try #require(try await bench.planned.envelope(ids[1]))
      #expect(try await bench.planned.correctEnded(edit(record, path: "/right")))
      #expect(bench.observer.endsChanged.isEmpty)
      let other = try #require(try await bench.planned.register(upstreams: ["other"])["other"])
      var redirected = edit(record, path: "/right")
      redirected.entry.upstream = other
      #expect(try await bench.planned.correctEnded(redirected))
      #expect(bench.observer.endsChanged == [told(1, .redirected(to: other))])
      #expect(try await bench.planned.cancelEnded(entries[0], reason: "x"))
      #expect(try await bench.planned.cancelEnded(entries[0], reason: "again"))
      try await bench.requeue(entries[2])
      // Whoever is told of a later commit has been told all of those before it.
      _ = try await bench.planned.register(upstreams: ["other"])
      #expect(bench.observer.endsChanged.dropFirst() == [told(0, .cancelled), told(2, .gone)])
      let cutoff = bench.clock.now.adding(milliseconds: 1)
      let cutoffs = RetentionCutoffs(delivered: cutoff, failed: cutoff)
      while try await !bench.planned.deleteEnded(cutoffs, countMax: 9).isRoundDone {}
      #expect(
        bench.observer.endsChanged.dropFirst(3) == [
          told(0, .gone, .cancelled, at: bench.clock.now), told(1, .gone, upstream: other),
          told(3, .gone, isTried: false), told(4, .gone, .expired, isTried: false),
        ])
    }
  }

  @Test("a hold is spent by an attempt, and a time that has passed counts no more")
  func spent() {
    let now = WallTime(millisecondsSinceEpoch: 1000)
    var entry = LineEntry(
      serial: 1, client: ClientNumber(rawValue: 1), lane: LaneNumber(rawValue: 1),
      upstream: UpstreamNumber(rawValue: 1), acceptedAt: now, expiresAt: now,
      standing: .blocked, attempts: 1)
    entry.waitAgain(hold: true, notBefore: now, at: now)
    #expect(entry.standing == .queued && entry.dueAt == nil)
    entry.attempts = 0
    entry.waitAgain(hold: true, notBefore: now.adding(milliseconds: 1), at: now)
    #expect(entry.standing == .held && entry.dueAt == now.adding(milliseconds: 1))
  }
}
