import RelayCore
import SQLite
import Synchronization
import Testing

@testable import SQLiteStore

/// Rows that make no sense any more, met while everything else goes on.
@Suite("SQLite store: damaged rows", .timeLimit(.minutes(5)))
struct DamagedRowTests {
  private func number(_ bench: Bench, _ sql: String) async throws -> Int64 {
    try await (try #require(bench.store as? SQLiteStore)).write("look") {
      writer throws(StoreError) in
      try writer.connection.number(sql)
    }
  }

  private func damage(_ bench: Bench, _ sql: String) async throws {
    try await (try #require(bench.store as? SQLiteStore)).write("damage") {
      writer throws(StoreError) in
      try writer.connection.execute(sql)
    }
  }

  private func transition(
    _ bench: Bench, _ entry: LineEntry, _ change: Transition.Change
  ) -> Transition {
    var transition = Transition(
      serial: entry.serial, lane: entry.lane, upstream: entry.upstream, change: change,
      at: bench.clock.now, epoch: 1)
    if case .block = change { transition.isQuarantine = true }
    return transition
  }

  /// Accepts an envelope and has it quarantined.
  private func quarantined(_ bench: Bench, _ draft: EnvelopeDraft) async throws -> EnvelopeID {
    let id = try await bench.accept(draft)
    let count = bench.observer.recordedCount
    bench.store.record([
      transition(bench, try await bench.entry(id), .block(reason: "quarantined: so"))
    ])
    await bench.observer.waitUntilRecorded(count + 1)
    #expect(try bench.files.damage.quarantined > 0)
    return id
  }

  private func edit(_ bench: Bench, _ entry: LineEntry) -> EnvelopeEdit {
    EnvelopeEdit(content: bench.draft().content, tag: nil, entry: entry, notBefore: nil)
  }

  @Test("a change that cannot be written is told of, and its neighbours are written")
  func unwritten() async throws {
    try await Bench.with { bench in
      var entries: [LineEntry] = []
      for client in ["a", "b", "c"] {
        entries.append(try await bench.entry(try await bench.accept(bench.draft(client: client))))
      }
      try await damage(bench, "DELETE FROM envelope WHERE serial = 2")
      bench.store.record([
        transition(bench, entries[0], .end(.delivered, reason: "")),
        transition(bench, entries[1], .edit(edit(bench, entries[1]))),
        transition(bench, entries[2], .end(.delivered, reason: "")),
      ])
      await bench.observer.waitUntilRecorded(2)
      await bench.observer.waitUntilUnwritten(1)
      #expect(bench.observer.state.withLock { $0.recorded.map(\.serial) } == [1, 3])
      #expect(bench.observer.state.withLock { $0.unwritten.map(\.serial) } == [2])
      #expect(try bench.files.damage.unwritten == 1)
      bench.store.record([transition(bench, entries[1], .block(reason: "quarantined: lost"))])
      await bench.observer.waitUntilRecorded(3)
      let left = EnvelopeID(serial: 2, acceptedAt: entries[1].acceptedAt, random: 0)
      let record = try #require(try await bench.store.envelope(left))
      #expect(record.isUnreadable && record.state == .blocked && record.draft.client == "b")
      #expect(record.reason == "quarantined: lost")
      // Its place is there without it, so it has not just vanished.
      await #expect(throws: StoreError.self) { _ = try await bench.store.load([2]) }
    }
  }

  @Test("a value that makes no sense is an error each time it is looked at, and ends nothing")
  func invalidRow() async throws {
    try await Bench.with { bench in
      for _ in 0..<3 { try await bench.accept(bench.draft()) }
      try await damage(bench, "UPDATE line SET standing = 9 WHERE serial = 2")
      for _ in 0..<20 {
        await #expect(throws: StoreError.self) {
          _ = try await bench.store.line(after: 0, countMax: 9)
        }
      }
      try await damage(bench, "UPDATE line SET standing = 0 WHERE serial = 2")
      #expect(try await bench.store.line(after: 0, countMax: 9).entries.count == 3)
    }
  }

  @Test("a parked envelope that is damaged keeps its own lane alone, until it is given up")
  func damagedParked() async throws {
    try await Bench.with { bench in
      for number: Int64 in 2...4 {
        try await bench.accept(bench.draft(client: "hit", sequence: number))
      }
      let second = try await bench.accept(bench.draft(client: "sound", sequence: 2))
      try await damage(bench, "UPDATE envelope SET id = x'00' WHERE serial = 2")
      try await bench.reopen()
      try await bench.store.placeParked()
      let first = try await bench.accept(bench.draft(client: "hit", sequence: 1))
      let other = try await bench.accept(bench.draft(client: "sound", sequence: 1))
      try await bench.accept(bench.draft(client: "third"))
      let placed = try #require(try await bench.store.envelope(second))
      #expect(placed.state == .queued && placed.entry.serial > other.serial)
      // The second of the lane that is hit has moved, the third is damaged, and stands.
      let line = try await bench.store.line(after: 0, countMax: 99).entries
      let lane = try await bench.entry(first).lane
      #expect(line.filter { $0.lane == lane && $0.standing == .parked }.map(\.serial) == [2, 3])
      #expect(line.filter { $0.lane == lane && $0.standing == .queued }.count == 2)
      #expect(try bench.files.damage.quarantined == 1)
      let entry = try #require(line.first { $0.serial == 2 })
      let left = EnvelopeID(serial: 2, acceptedAt: entry.acceptedAt, random: 0)
      let record = try #require(try await bench.store.envelope(left))
      #expect(record.state == .parked && record.reason?.hasPrefix("quarantined:") == true)
      let count = bench.observer.recordedCount
      bench.store.record([transition(bench, entry, .end(.cancelled, reason: "lost"))])
      await bench.observer.waitUntilRecorded(count + 1)
      #expect(try await bench.store.envelope(left)?.state == .cancelled)
      try await bench.accept(bench.draft(client: "third"))
      let after = try await bench.store.line(after: 0, countMax: 99).entries
      #expect(after.filter { $0.lane == lane && $0.standing == .queued }.count == 3)
      #expect(try bench.files.damage.quarantined == 0)
    }
  }

  @Test("one that ended while it was parked and is damaged keeps nobody")
  func damagedEnded() async throws {
    try await Bench.with { bench in
      for number in 2...3 { try await bench.accept(bench.draft(sequence: Int64(number))) }
      let entry = try #require(try await bench.store.line(after: 0, countMax: 1).entries.first)
      bench.store.record([transition(bench, entry, .end(.cancelled, reason: "x"))])
      await bench.observer.waitUntilRecorded(1)
      try await damage(bench, "UPDATE envelope SET id = x'00' WHERE serial = 1")
      try await bench.accept(bench.draft(sequence: 1))
      let line = try await bench.store.line(after: 0, countMax: 9).entries
      #expect(line.map(\.standing) == [.queued, .queued])
      #expect(try await number(bench, "SELECT count(*) FROM parked_lane") == 0)
    }
  }

  @Test("a later post stands behind a damaged envelope of its name, and the next in its place")
  func coalescing() async throws {
    try await Bench.with { bench in
      let draft = bench.draft(coalesce: "level")
      let lost = try await bench.accept(draft)
      try await damage(bench, "UPDATE envelope SET id = x'00' WHERE serial = \(lost.serial)")
      let results = try await bench.store.append(
        [draft, bench.draft(client: "other")], isAtomic: false)
      guard case .accepted(let next, _, 2) = results[0], case .accepted = results[1] else {
        throw Unexpected(description: "\(results)")
      }
      guard case .coalesced(next, _, _) = try await bench.store.append([draft], isAtomic: true)[0]
      else { throw Unexpected(description: "the third is not in the place of the second") }
      #expect(bench.observer.state.withLock { $0.reserved.isEmpty })
      let line = try await bench.store.line(after: 0, countMax: 9).entries
      #expect(line.map(\.serial) == [lost.serial, next.serial, next.serial + 1])
    }
  }

  @Test("what was quarantined and can be sent again, or is gone, is so no longer")
  func quarantineEnds() async throws {
    try await Bench.with { bench in
      let rows = "SELECT count(*) FROM quarantine"
      // Corrected, or replaced by a later post.
      let id = try await quarantined(bench, bench.draft(coalesce: "level"))
      try await bench.record(id, .edit(edit(bench, try await bench.entry(id))))
      #expect(try await number(bench, rows) == 0)
      let again = try await quarantined(bench, bench.draft(client: "b", coalesce: "level"))
      let results = try await bench.store.append(
        [bench.draft(client: "b", coalesce: "level")], isAtomic: false)
      guard case .coalesced(again, .blocked, _) = results[0] else {
        throw Unexpected(description: "\(results)")
      }
      #expect(try await number(bench, rows) == 0)
      // Cancelled, and put back in line.
      let ended = try await quarantined(bench, bench.draft(client: "c"))
      var entry = try await bench.entry(ended)
      _ = try await bench.store.cancelAll(
        of: BacklogSelection(entry.client), through: nil, reason: "x")
      #expect(try await bench.store.envelope(ended)?.state == .cancelled)
      #expect(try bench.files.damage.quarantined == 0)
      #expect(try await number(bench, rows) == 1)
      entry.waitAgain(hold: false, notBefore: nil, at: bench.clock.now)
      let count = bench.observer.recordedCount
      bench.store.record([transition(bench, entry, .requeue(entry))])
      await bench.observer.waitUntilRecorded(count + 1)
      #expect(try await number(bench, rows) == 0)
      // Ended, and kept no longer.
      try await bench.record(ended, .end(.delivered, reason: ""))
      let gone = try await quarantined(bench, bench.draft(client: "d"))
      try await bench.record(gone, .end(.failed, reason: "discarded"))
      let later = bench.clock.now.adding(milliseconds: 1)
      _ = try await bench.store.deleteEnded(
        RetentionCutoffs(delivered: later, failed: later), countMax: 99)
      #expect(try await number(bench, rows) == 0)
      #expect(try await bench.store.envelope(gone) == nil)
    }
  }

  @Test("what has neither a place nor an end is not shown as blocked")
  func gone() async throws {
    try await Bench.with { bench in
      let id = try await quarantined(bench, bench.draft())
      try await damage(bench, "DELETE FROM line; DELETE FROM envelope")
      #expect(try await bench.store.envelope(id) == nil)
      #expect(try await bench.store.summaries(of: [id]).isEmpty)
      #expect(try await bench.store.fates(of: [.id(id)]) == [nil])
    }
  }
}
