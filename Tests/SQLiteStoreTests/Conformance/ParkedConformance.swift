import Foundation
import RelayCore
import StoreModel
import Synchronization
import Testing

/// What every store promises of changes of what is parked, and of its way into the line.
@Suite("conformance: what is parked", .timeLimit(.minutes(5)))
struct ParkedConformance {
  @Test(
    "the number of one that ended while it was parked counts as taken",
    arguments: StoreFactory.planned)
  func ended(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let two = try await bench.accept(bench.draft(sequence: 2))
      let three = try await bench.accept(bench.draft(sequence: 3))
      try await bench.record(two, .end(.cancelled, reason: "x"))
      let again = try await bench.planned.append([bench.draft(sequence: 2)], isAtomic: false)
      #expect(again == [.duplicate(id: two, state: .cancelled)])
      try await bench.reopen()
      try await bench.accept(bench.draft(sequence: 1))
      #expect(try await numbersInLine(bench) == [1, 3])
      #expect(try await bench.planned.envelope(two)?.state == .cancelled)
      #expect(try await bench.planned.envelope(three)?.state == .queued)
      let lane = try #require(try await bench.planned.client("device-1")?.lanes.first)
      #expect(lane.ended[.cancelled] == 1 && lane.lastSequence == 3)
    }
  }

  @Test(
    "one that is deleted while its number is ahead of a gap still counts as taken",
    arguments: StoreFactory.planned)
  func deleted(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let two = try await bench.accept(bench.draft(key: "k", sequence: 2))
      try await bench.accept(bench.draft(sequence: 3))
      try await bench.record(two, .end(.cancelled, reason: "x"))
      try await deleteAll(bench)
      #expect(try await bench.planned.envelope(two) == nil)
      let again = try await bench.planned.append([bench.draft(sequence: 2)], isAtomic: false)
      #expect(again == [.forgotten])
      try await bench.reopen()
      try await bench.accept(bench.draft(sequence: 1))
      #expect(try await numbersInLine(bench) == [1, 3])
      let later = try await bench.planned.append([bench.draft(sequence: 2)], isAtomic: false)
      #expect(later == [.forgotten])
    }
  }

  @Test(
    "one that is requeued is parked again, or takes the place that its number gives it",
    arguments: StoreFactory.planned)
  func requeued(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let two = try await bench.accept(bench.draft(sequence: 2, hold: true))
      let three = try await bench.accept(bench.draft(sequence: 3))
      for id in [two, three] { try await bench.record(id, .end(.cancelled, reason: "x")) }
      try await requeue(three, bench)
      #expect(try await bench.planned.envelope(three)?.state == .parked)
      let told = try #require(bench.observer.state.withLock { $0.recorded.last })
      guard case .requeue(let entry) = told.change, entry.standing == .parked else {
        throw Unexpected(description: "\(told)")
      }
      try await bench.reopen()
      try await bench.accept(bench.draft(sequence: 1))
      try await requeue(two, bench)
      #expect(try await numbersInLine(bench) == [1, 2, 3])
      #expect(bench.planned.statistics().envelopes[.queued] == 3)
      #expect(bench.planned.statistics().envelopes[.cancelled] == 0)
    }
  }

  @Test(
    "a change of one that has moved is moot, and changes nothing", arguments: StoreFactory.planned)
  func late(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let two = try await bench.accept(bench.draft(sequence: 2))
      let old = try await bench.entry(two)
      try await bench.accept(bench.draft(sequence: 1))
      let count = bench.observer.recordedCount
      bench.planned.record([
        Transition(
          serial: old.serial, lane: old.lane, upstream: old.upstream,
          change: .end(.cancelled, reason: "x"), at: bench.clock.now, epoch: bench.epoch)
      ])
      await bench.observer.waitUntilRecorded(count + 1)
      #expect(bench.observer.state.withLock { $0.recorded.last?.isMoot } == true)
      #expect(try await bench.planned.envelope(two)?.state == .queued)
      #expect(bench.planned.statistics().envelopes[.cancelled] == 0)
    }
  }

  @Test(
    "one that is corrected stays parked, and is in line as it was corrected",
    arguments: StoreFactory.planned)
  func edited(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft(sequence: 2))
      let record = try #require(try await bench.planned.envelope(id))
      var content = record.draft.content
      content.target = Array("/other".utf8)
      try await bench.record(
        id,
        .edit(
          EnvelopeEdit(
            content: content, tag: nil, entry: record.entry, notBefore: nil, hold: true)))
      #expect(try await bench.planned.envelope(id)?.state == .parked)
      try await bench.reopen()
      try await bench.accept(bench.draft(sequence: 1))
      let moved = try #require(try await bench.planned.envelope(id))
      #expect(moved.state == .held && moved.draft.hold)
      #expect(moved.draft.content.target == Array("/other".utf8))
      #expect(bench.planned.statistics().envelopes[.held] == 1)
    }
  }

  @Test("a large body comes along, and outlives a restart", arguments: StoreFactory.all)
  func body(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let file = try await bench.store.write([Array("large".utf8)])
      let id = try await bench.accept(bench.draft(body: .file(file), sequence: 2))
      try await bench.accept(bench.draft(sequence: 1))
      try await bench.reopen()
      let serial = try #require(try await bench.planned.envelope(id)?.entry.serial)
      let loaded = try #require(try await bench.planned.load([serial]).first)
      #expect(loaded.content.body == .file(file))
      #expect(try await bench.store.bytes(of: file) == Array("large".utf8))
      try await bench.record(id, .end(.delivered, reason: ""))
      try await deleteAll(bench)
      #expect(try await bench.planned.envelope(id) == nil)
      #expect(bench.planned.statistics().envelopes[.delivered] == 0)
    }
  }

  @Test("passed deadlines of what is parked are found", arguments: StoreFactory.all)
  func expiry(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft(sequence: 2, expiresInMs: 100))
      bench.clock.advance(milliseconds: 100)
      let page = try await bench.store.expiredEntries(at: bench.clock.now, countMax: 10)
      #expect(page.expired.map(\.serial) == [id.serial])
      #expect(page.expired.map(\.standing) == [.parked])
    }
  }

  @Test(
    "a long queue behind a gap moves in steps, and a restart goes on with it",
    arguments: StoreFactory.all)
  func steps(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let count: Int64 = 3000
      for start in stride(from: Int64(2), through: count, by: 500) {
        _ = try await bench.store.append(
          (start..<start + 500).map { bench.draft(sequence: $0) }, isAtomic: false)
      }
      let last = start(count, by: 500)
      let first = bench.draft(sequence: 1)
      let commits = bench.observer.state.withLock { $0.acceptedGroups }
      try await bench.accept(first)
      // Whatever this process has not moved by now, the next one does.
      try await bench.reopen()
      try await bench.store.placeParked()
      while try await bench.store.client("device-1")?.lanes.first?.missing.isEmpty == false
        || bench.store.statistics().envelopes[.parked] != 0
      {
        await Task.yield()
      }
      let page = try await bench.store.line(after: 0, countMax: 10_000)
      #expect(page.entries.count == Int(last))
      #expect(bench.observer.state.withLock { $0.acceptedGroups } > commits + 2)
      let told = bench.observer.state.withLock { $0.accepted }
      #expect(told.filter { $0.movedFrom != nil }.count == Int(last) - 1)
      // Their ids carry the old numbers, which tell the order in which they came.
      let ids = try await bench.store.ids(of: page.entries.map(\.serial))
      let moved = page.entries.dropFirst().compactMap { ids[$0.serial]?.serial }
      #expect(moved == moved.sorted())
    }
  }

  private func start(_ count: Int64, by step: Int64) -> Int64 {
    (count - 2) / step * step + step + 1
  }

  private func requeue(_ id: EnvelopeID, _ bench: Bench) async throws {
    let record = try #require(try await bench.planned.envelope(id))
    let count = bench.observer.recordedCount
    bench.planned.record([
      Transition(
        serial: record.entry.serial, lane: record.lane, upstream: record.entry.upstream,
        change: .requeue(record.entry), at: bench.clock.now, epoch: bench.epoch)
    ])
    await bench.observer.waitUntilRecorded(count + 1)
  }
}
