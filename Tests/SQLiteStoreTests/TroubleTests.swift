import Foundation
import RelayCore
import SQLiteStore
import Testing

/// A disk without room, and requests that the database refuses.
@Suite("SQLite store: trouble", .timeLimit(.minutes(5)))
struct TroubleTests {
  private func sqlite(_ bench: Bench) throws -> SQLiteStore {
    try #require(bench.store as? SQLiteStore)
  }

  /// Holds the file to its present size, as a full disk does, and uses up what is free within it.
  private func fill(_ bench: Bench) async throws -> StoreError {
    try await sqlite(bench).limitPages(to: 1)
    let big = bench.draft(body: .inline([UInt8](repeating: 1, count: 200_000)))
    do throws(StoreError) {
      while true { _ = try await bench.store.append([big], isAtomic: false) }
    } catch {
      return error
    }
  }

  @Test("a full disk fails appends clearly, and appends go on once there is room")
  func appendsOnFullDisk() async throws {
    try await Bench.with { bench in
      let id = try await bench.accept(bench.draft(key: "before", sequence: 1))
      let error = try await fill(bench)
      #expect(error.kind == .diskFull)
      #expect(bench.store.statistics().trouble?.contains("full") == true)
      let counts = bench.store.statistics()
      // Reading goes on.
      #expect(try await bench.store.envelope(id)?.state == .queued)
      #expect(try await bench.store.line(after: 0, countMax: 9).entries.count == 1)
      try await sqlite(bench).limitPages(to: nil)
      let after = try await bench.accept(bench.draft(client: "new", lane: "new", sequence: 1))
      #expect(bench.store.statistics().trouble == nil)
      #expect(bench.store.statistics().envelopes[.queued] == (counts.envelopes[.queued] ?? 0) + 1)
      #expect(try await bench.store.client("new")?.lanes.first?.lastSequence == 1)
      #expect(try await bench.entry(after).serial == after.serial)
    }
  }

  @Test("a full disk delays changes and loses none")
  func transitionsOnFullDisk() async throws {
    try await Bench.with { bench in
      var ids: [EnvelopeID] = []
      for _ in 0..<20 { ids.append(try await bench.accept(bench.draft())) }
      _ = try await fill(bench)
      let page = try await bench.store.line(after: 0, countMax: 100)
      let body = [UInt8](repeating: 2, count: 300_000)
      bench.store.record(
        page.entries.map { entry in
          Transition(
            serial: entry.serial, lane: entry.lane, upstream: entry.upstream,
            change: .end(.delivered, reason: ""), at: bench.clock.now,
            response: UpstreamResponse(status: 200, headers: HeaderBlock(), body: body), epoch: 1)
        })
      // The writer has tried and failed by the time a later request has been answered.
      await #expect(throws: StoreError.self) {
        try await bench.store.append(
          [bench.draft(body: .inline(body + body))], isAtomic: false)
      }
      #expect(bench.observer.recordedCount == 0)
      #expect(bench.store.statistics().envelopes[.delivered] == 0)
      #expect(bench.store.statistics().trouble != nil)
      try await sqlite(bench).limitPages(to: nil)
      await bench.observer.waitUntilRecorded(ids.count)
      #expect(bench.store.statistics().envelopes[.delivered] == 20)
      #expect(bench.store.statistics().trouble == nil)
      #expect(try await bench.store.line(after: 0, countMax: 100).entries.isEmpty)
    }
  }

  @Test("at the store's limit appends fail, outcomes are stored, and what is forgotten makes room")
  func limitOfTheStore() async throws {
    let small = StoreFactory(testDescription: "SQLite, 1 MiB") { folder, clock, _ in
      try SQLiteStore.open(
        folder: folder,
        options: .init(clock: { clock.now }, disk: DiskLimits(storeBytesMax: 1 << 20)))
    }
    try await Bench.with(small) { bench in
      let big = bench.draft(body: .inline([UInt8](repeating: 1, count: 100_000)))
      var acceptedCount = 0
      let error = try await #require(throws: StoreError.self) {
        while true {
          _ = try await bench.store.append([big], isAtomic: false)
          acceptedCount += 1
        }
      }
      #expect(error.kind == .diskFull)
      #expect(acceptedCount > 1)
      #expect(bench.store.statistics().trouble?.contains("storeBytesMax") == true)
      let page = try await bench.store.line(after: 0, countMax: 100)
      bench.store.record(
        page.entries.map { entry in
          Transition(
            serial: entry.serial, lane: entry.lane, upstream: entry.upstream,
            change: .end(.delivered, reason: ""), at: bench.clock.now,
            response: UpstreamResponse(status: 200, headers: HeaderBlock(), body: []), epoch: 1)
        })
      await bench.observer.waitUntilRecorded(acceptedCount)
      let later = bench.clock.now.adding(milliseconds: 1)
      let deleted = try await bench.store.deleteEnded(
        RetentionCutoffs(delivered: later, failed: later), countMax: 100)
      #expect(deleted.deletedCount == acceptedCount)
      _ = try await bench.store.append([big], isAtomic: false)
      #expect(bench.store.statistics().trouble == nil)
    }
  }

  @Test(
    "trouble is over as soon as there is room, though nobody writes", .timeLimit(.minutes(5)))
  func troubleEndsByItself() async throws {
    try await Bench.with { bench in
      #expect(try await fill(bench).kind == .diskFull)
      try await sqlite(bench).limitPages(to: nil)
      while bench.store.statistics().trouble != nil {
        try await Task.sleep(for: .milliseconds(5))
      }
    }
  }

  @Test("closing does not wait for room")
  func closeOnFullDisk() async throws {
    try await Bench.with { bench in
      let id = try await bench.accept(bench.draft())
      let entry = try await bench.entry(id)
      _ = try await fill(bench)
      let body = [UInt8](repeating: 2, count: 300_000)
      bench.store.record([
        Transition(
          serial: id.serial, lane: entry.lane, upstream: entry.upstream,
          change: .end(.delivered, reason: ""), at: bench.clock.now,
          response: UpstreamResponse(status: 200, headers: HeaderBlock(), body: body), epoch: 1)
      ])
      try await bench.reopen()
      #expect(try await bench.store.envelope(id)?.state == .queued)
    }
  }

  @Test("a request that the database refuses leaves its neighbours alone")
  func poisoned() async throws {
    try await Bench.with { bench in
      let file = try await bench.store.write([[1]])
      try await bench.accept(bench.draft(body: .file(file)))
      // A body file belongs to one envelope: the second reference breaks a constraint.
      let outcomes = await withTaskGroup(of: (Int, Bool).self) { group in
        for index in 0..<60 {
          group.addTask {
            let body: EnvelopeBody = index % 20 == 7 ? .file(file) : .inline([1])
            let drafts = [
              bench.draft(client: "c\(index)", key: "k", sequence: 1),
              bench.draft(client: "c\(index)", body: body),
            ]
            return (index, (try? await bench.store.append(drafts, isAtomic: false)) != nil)
          }
        }
        return await group.reduce(into: [Int: Bool]()) { $0[$1.0] = $1.1 }
      }
      for (index, isStored) in outcomes {
        #expect(isStored == (index % 20 != 7))
        #expect((try await bench.store.client("c\(index)") != nil) == isStored)
      }
      let stored: Int64 = 1 + 57 * 2
      #expect(bench.store.statistics().envelopes[.queued] == stored)
      #expect(try await bench.store.line(after: 0, countMax: 500).entries.count == 1 + 57 * 2)
      let again = try await bench.store.append(
        [bench.draft(client: "c7", key: "k", sequence: 1)], isAtomic: false)
      guard case .accepted = again[0] else { throw Unexpected(description: "\(again)") }
    }
  }

  @Test("a body file that cannot be looked for is trouble, and not damage")
  func bodyAway() async throws {
    try await Bench.with { bench in
      let file = try await bench.store.write([[1, 2, 3]])
      let id = try await bench.accept(bench.draft(body: .file(file)))
      let body = URL(fileURLWithPath: file.path)
      let away = body.appendingPathExtension("away")
      try FileManager.default.moveItem(at: body, to: away)
      // Links that lead to each other: the system says neither that it is there nor that it is not.
      try FileManager.default.createSymbolicLink(at: body, withDestinationURL: body)
      let error = await #expect(throws: StoreError.self) {
        _ = try await bench.store.load([id.serial])
      }
      #expect(error?.kind == .inputOutput, "\(String(describing: error))")
      try FileManager.default.removeItem(at: body)
      try FileManager.default.moveItem(at: away, to: body)
      #expect(try await bench.store.load([id.serial]).count == 1)
    }
  }
}
