import Foundation
import RelayCore
import SQLite
import SQLitePages
import Synchronization
import Testing

@testable import SQLiteStore

/// Pages that are damaged beneath a running store, where they concern no envelope by itself: what
/// retention looks for, and what a transaction writes at its end.
@Suite("SQLite store: damage that is gone round", .timeLimit(.minutes(5)))
struct DamagedSealTests {
  /// So that every table has several pages.
  private static let smallPages = StoreFactory(testDescription: "SQLite, pages of 1 KiB") {
    folder, clock, rules in
    var options = SQLiteStore.Options(clock: { clock.now }, pageBytes: 1024)
    options.rules = rules
    return try SQLiteStore.open(folder: folder, options: options)
  }

  /// Zeroes the page of a table on which a row is, and has everybody read it anew.
  ///
  /// - Returns: The numbers of the rows that stood there.
  @discardableResult
  private func damage(_ bench: Bench, _ table: String, at row: Int64) throws -> [Int64] {
    let path = DataFolder.database(in: bench.folder)
    let beside = try Connection(path: path, access: .readWrite)
    try beside.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    var page = Int(
      try beside.number("SELECT rootpage FROM sqlite_schema WHERE name = '\(table)'"))
    let image = try DatabaseImage(path: path, indexTrust: .hint)
    while let tree = image.tree(page), tree.kind.isInterior {
      let cell = tree.cells.compactMap { $0 }.first { ($0.row ?? 0) >= row }
      page = try #require(cell?.child ?? tree.lastChild)
    }
    let rows = try #require(image.tree(page)).cells.compactMap { $0?.row }
    try Damage.overwrite(
      path, at: (page - 1) * image.pageBytes, with: [UInt8](repeating: 0, count: image.pageBytes))
    // A commit of somebody else's: what a connection has kept of the file counts no longer.
    try beside.execute("PRAGMA user_version = \(Migration.latest)")
    return rows
  }

  /// Asks the writer's connection.
  private func ask<Value: Sendable>(
    _ bench: Bench, _ body: @escaping @Sendable (Writer) throws(StoreError) -> Value
  ) async throws -> Value {
    try await (try #require(bench.store as? SQLiteStore)).write("look") {
      writer throws(StoreError) in try body(writer)
    }
  }

  /// Accepts envelopes and has them end, in a lane of each of so many clients.
  private func fill(_ bench: Bench, clients: Int, rounds: Int = 1) async throws {
    for _ in 0..<rounds {
      let drafts = (0..<clients).map { bench.draft(client: "device-\($0)") }
      let count = bench.observer.recordedCount
      _ = try await bench.store.append(drafts, isAtomic: false)
      let line = try await bench.store.line(after: 0, countMax: clients).entries
      bench.store.record(
        line.map { entry in
          Transition(
            serial: entry.serial, lane: entry.lane, upstream: entry.upstream,
            change: .end(.delivered, reason: ""), at: bench.clock.now, epoch: 1)
        })
      await bench.observer.waitUntilRecorded(count + clients)
    }
  }

  /// Looks that the store goes on, without just this, and has told so once.
  private func goesOn(_ bench: Bench, without parts: Set<StoreDamage.Part>) async throws {
    let id = try await bench.accept(bench.draft(client: "sound"))
    try await bench.record(id, .end(.delivered, reason: ""))
    #expect(try await bench.store.envelope(id)?.state == .delivered)
    #expect(bench.store.statistics().trouble == nil)
    let damage = try bench.files.damage
    #expect(damage.leftOut == parts)
    #expect(damage.sentence?.contains("store salvage") == true)
    #expect(bench.observer.state.withLock { $0.goesOnWithout } == [parts])
  }

  @Test("retention goes round a damaged page of what has ended, and deletes all else in time")
  func retention() async throws {
    try await Bench.with(Self.smallPages) { bench in
      try await fill(bench, clients: 10, rounds: 60)
      let lost = try damage(bench, "ended", at: 300)
      #expect(lost.contains(300) && lost.count > 5)
      let cutoffs = RetentionCutoffs(
        delivered: bench.clock.now.adding(milliseconds: 1), failed: bench.clock.now)
      var left: [Int64] = []
      for _ in 0..<3 {
        while try await !bench.store.deleteEnded(cutoffs, countMax: 100).isRoundDone {}
        left.append(
          try await ask(bench) { writer throws(StoreError) in
            try writer.connection.number("SELECT count(*) FROM envelope")
          })
      }
      // SQLite touches the neighbours of a page as it empties one: a few rows of theirs stay too.
      #expect(left[0] >= lost.count && left[0] <= 3 * lost.count, "\(left), \(lost.count)")
      #expect(left == [left[0], left[0], left[0]])
      // What ends later is deleted as well.
      try await fill(bench, clients: 10, rounds: 2)
      while try await !bench.store.deleteEnded(cutoffs, countMax: 100).isRoundDone {}
      let after = try await ask(bench) { writer throws(StoreError) in
        try writer.connection.number("SELECT count(*) FROM envelope")
      }
      #expect(after == left[0])
      try await goesOn(bench, without: [.envelopeDeletion])
    }
  }

  @Test("without the page of the counts everything goes on, and a salvage counts anew")
  func counts() async throws {
    try await DamageBench.with { bench in
      try await bench.fill(rounds: 2)
      try damage(bench.bench, "ledger", at: 1)
      try await goesOn(bench.bench, without: [.counts])
      let before = try await bench.contents()
      let counts = bench.bench.store.statistics().envelopes
      await bench.bench.store.close()
      let refused = #expect(throws: StoreError.self) {
        _ = try SQLiteStore.open(folder: bench.folder)
      }
      #expect(refused?.kind == .corrupt)
      _ = try bench.salvage()
      #expect(try await bench.salvaged() == before)
      #expect(try StoreCheck.run(folder: bench.newFolder).isSound)
      let store = try SQLiteStore.open(folder: bench.newFolder)
      #expect(store.statistics().envelopes == counts)
      await store.close()
    }
  }

  @Test("without the end of the log of events everything goes on, and who listens is told")
  func events() async throws {
    try await Bench.with(Self.smallPages) { bench in
      try await fill(bench, clients: 10, rounds: 20)
      let end = try await bench.store.eventLogSpan().end
      try damage(bench, "event_log", at: end.row - 1)
      try await goesOn(bench, without: [.events])
      await #expect(throws: StoreError.self) { _ = try await bench.store.eventLogSpan() }
    }
  }

  @Test("events that cannot be deleted keep no others from being logged and read")
  func eventDeletion() async throws {
    try await Bench.with(Self.smallPages) { bench in
      try await fill(bench, clients: 10, rounds: 60)
      let rows = try damage(bench, "event_log", at: 1)
      let later = bench.clock.now.adding(milliseconds: 1)
      for _ in 0..<2 { #expect(try await bench.store.forgetEvents(before: later, countMax: 99)) }
      try await goesOn(bench, without: [.eventDeletion])
      let last = try #require(rows.max())
      let count = try await ask(bench) { writer throws(StoreError) in
        try writer.connection.number("SELECT count(*) FROM event_log WHERE number > \(last + 1)")
      }
      #expect(count > 100)
    }
  }

  @Test("of lanes whose rows cannot be written nothing is counted, of all others it is")
  func laneCounts() async throws {
    try await Bench.with(Self.smallPages) { bench in
      try await fill(bench, clients: 200)
      try damage(bench, "lane", at: 100)
      // Time to add up.
      try await ask(bench) { writer throws(StoreError) in
        writer.state.endedLog.loggedCount = StoreTuning.endedLogEntriesMax
      }
      try await goesOn(bench, without: [.laneCounts])
      let sound = try await bench.store.client("device-1")
      #expect(sound?.lanes.map { $0.ended[.delivered] } == [1])
      #expect(
        try await ask(bench) { writer throws(StoreError) in
          try writer.connection.number("SELECT delivered FROM lane WHERE number = 2")
        } == 1)
    }
  }

  @Test("where what ends cannot be listed by lane, it ends all the same")
  func list() async throws {
    try await Bench.with(Self.smallPages) { bench in
      try await fill(bench, clients: 3)
      try damage(bench, "ended_log", at: 1)
      try await goesOn(bench, without: [.laneCounts])
    }
  }

  @Test("a lane whose sequence number cannot be written is refused alone")
  func numbers() async throws {
    try await Bench.with(Self.smallPages) { bench in
      for index in 0..<200 {
        try await bench.accept(bench.draft(client: "device-\(index)", sequence: 1))
      }
      try damage(bench, "lane", at: 100)
      let store = bench.store
      let hit = bench.draft(client: "device-99", sequence: 2)
      let sound = bench.draft(client: "device-1", sequence: 2)
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<3 {
          group.addTask {
            await #expect(throws: StoreError.self) {
              _ = try await store.append([hit], isAtomic: false)
            }
          }
        }
        group.addTask {
          await #expect(throws: Never.self) { _ = try await store.append([sound], isAtomic: false) }
        }
      }
      #expect(store.statistics().trouble == nil)
      let client = try await store.client("device-1")
      #expect(client?.lanes.map(\.lastSequence) == [2])
    }
  }

  @Test("a store that refuses every post says so until one is written, whatever else it writes")
  func refusesAll() async throws {
    try await Bench.with(Self.smallPages) { bench in
      try await fill(bench, clients: 40)
      // The last page, on which every new envelope is put.
      try damage(bench, "envelope", at: .max)
      for round in 0..<3 {
        await #expect(throws: StoreError.self) {
          try await bench.accept(bench.draft(client: "device-\(round)"))
        }
        #expect(bench.store.statistics().trouble?.contains("SQLite result 11") == true)
        // What needs no new envelope is written all the same.
        try await bench.store.setPaused(
          round % 2 == 0, .lane(LaneName(client: "device-1", lane: "default"))
        ) { _ in }
        #expect(bench.store.statistics().trouble != nil)
      }
      // Nor does a look by itself, which comes behind the next transaction, take that something
      // can be written for that posts are.
      let past = MonotonicTime(nanoseconds: 0)
      try await ask(bench) { writer throws(StoreError) in writer.recovery.noteLook(at: past) }
      let lookAt = try await ask(bench) { writer throws(StoreError) in writer.recovery.lookAt }
      #expect(lookAt != nil && lookAt != past.adding(milliseconds: StoreTuning.lookPauseMs))
      #expect(bench.store.statistics().trouble != nil)
    }
  }

  @Test("a store that refuses the posts of one lane is ready for those of others")
  func refusesOne() async throws {
    try await Bench.with(Self.smallPages) { bench in
      for index in 0..<200 {
        try await bench.accept(bench.draft(client: "device-\(index)", sequence: 1))
      }
      try damage(bench, "lane", at: 100)
      for _ in 0..<3 {
        await #expect(throws: StoreError.self) {
          try await bench.accept(bench.draft(client: "device-99", sequence: 2))
        }
        #expect(bench.store.statistics().trouble == nil)
      }
      try await bench.accept(bench.draft(client: "device-1", sequence: 2))
    }
  }
}
