import RelayCore
import SQLite
import Synchronization
import Testing

@testable import SQLiteStore

/// How the writer gathers what waits.
@Suite("SQLite store: group commit", .timeLimit(.minutes(5)))
struct GroupCommitTests {
  @Test("many appends at once share few commits, and each is told its own result")
  func groups() async throws {
    try await Bench.with { bench in
      let store = try #require(bench.store as? SQLiteStore)
      let ids = try await withThrowingTaskGroup(of: (Int, EnvelopeID).self) { group in
        for index in 0..<2000 {
          group.addTask {
            (index, try await bench.accept(bench.draft(client: "c\(index)")))
          }
        }
        return try await group.reduce(into: [Int: EnvelopeID]()) { $0[$1.0] = $1.1 }
      }
      #expect(store.commitCount < 1000)
      for (index, id) in ids where index % 100 == 0 {
        #expect(try await bench.store.envelope(id)?.draft.client == "c\(index)")
      }
      #expect(Set(ids.values.map(\.serial)) == Set(1...2000))
    }
  }

  @Test("what is placed while a backlog is being cancelled is cancelled with it")
  func clearingWhatMoves() async throws {
    try await Bench.with { bench in
      let store = try #require(bench.store as? SQLiteStore)
      let parked = try await bench.accept(bench.draft(sequence: 2))
      let other = try await bench.accept(bench.draft(lane: "other"))
      let client = try await bench.entry(parked).client
      let read = try await store.waiting(of: BacklogSelection(client), through: other.serial)
      #expect(read == [parked.serial, other.serial])
      let first = try await bench.accept(bench.draft(sequence: 1))
      let moved = try #require(try await store.envelope(parked)?.entry.serial)
      #expect(moved > first.serial)
      // The line, read after the move, shows it as well, and not what was accepted since.
      #expect(
        try await store.waiting(of: BacklogSelection(client), through: other.serial) == [
          other.serial, moved,
        ])
      let (count, changingCount) = try await store.write("cancel") { writer throws(StoreError) in
        try writer.cancelAll(read, of: BacklogSelection(client), reason: "so")
      }
      #expect(count == 2 && changingCount == 0)
      let told = try #require(bench.observer.state.withLock { $0.cleared.first })
      #expect(told.items.map(\.serial) == [other.serial, moved])
      #expect(told.items.allSatisfy { !$0.isParked && told.contains($0.serial) })
      #expect(try await store.envelope(parked)?.state == .cancelled)
      #expect(try await store.line(after: 0, countMax: 9).entries.map(\.serial) == [first.serial])
    }
  }

  @Test("what has lost its tag while a backlog is being cancelled is left alone")
  func clearingWhatChanges() async throws {
    try await Bench.with { bench in
      let store = try #require(bench.store as? SQLiteStore)
      let ids = [try await bench.accept(bench.draft()), try await bench.accept(bench.draft())]
      let entry = try await bench.entry(ids[0])
      let selection = BacklogSelection(entry.client, tag: "t")
      let read = try await store.waiting(of: selection, through: ids[1].serial)
      #expect(read == ids.map(\.serial))
      let content = try #require(try await store.envelope(ids[0])).draft.content
      try await bench.record(
        ids[0], .edit(EnvelopeEdit(content: content, tag: nil, entry: entry, notBefore: nil)))
      let (count, _) = try await store.write("cancel") { writer throws(StoreError) in
        try writer.cancelAll(read, of: selection, reason: "so")
      }
      #expect(count == 1)
      let waiting = try await store.line(after: 0, countMax: 9).entries.map(\.serial)
      #expect(waiting == [ids[0].serial])
    }
  }

  @Test("what is forgotten from memory is found in the tables again")
  func cacheMiss() async throws {
    var cache = GenerationCache<Int, Int>(countMax: 10)
    for key in 0..<5 { cache.insert(key, for: key) }
    for key in 5..<8 {
      cache.insert(key, for: key)
      #expect(cache.value(for: 1) == 1)
    }
    for key in 8..<30 { cache.insert(key, for: key) }
    #expect(cache.value(for: 1) == nil)
    #expect(cache.value(for: 29) == 29)
  }

  @Test("endings are added up in their lanes once enough of them are listed")
  func folding() async throws {
    try await Bench.with { bench in
      let count = StoreTuning.endedLogEntriesMax + 500
      var observed = 0
      while observed < count {
        let drafts = (0..<1000).map { bench.draft(client: "c\($0 % 7)") }
        _ = try await bench.store.append(drafts, isAtomic: false)
        let page = try await bench.store.line(after: Serial(observed), countMax: 1000)
        bench.store.record(
          page.entries.map {
            Transition(
              serial: $0.serial, lane: $0.lane, upstream: $0.upstream,
              change: .end(.delivered, reason: ""), at: bench.clock.now, epoch: 1)
          })
        observed += 1000
        await bench.observer.waitUntilRecorded(observed)
      }
      var total = 0
      for client in 0..<7 {
        total += try await bench.store.client("c\(client)")?.lanes.first?.ended[.delivered] ?? 0
      }
      #expect(total == observed)
      let connection = try Connection(
        path: DataFolder.database(in: bench.folder), access: .readOnly)
      #expect(try connection.number("SELECT sum(delivered) FROM lane") > 10_000)
      #expect(try connection.number("SELECT sum(length(entries)) FROM ended_log") < 10_000)
    }
  }

  @Test("the log stays bounded while much is written")
  func logIsBounded() async throws {
    try await Bench.with { bench in
      let body = [UInt8](repeating: 3, count: 8000)
      let wal = DataFolder.database(in: bench.folder) + "-wal"
      var largest: Int64 = 0
      for _ in 0..<150 {
        let drafts = (0..<100).map { _ in bench.draft(body: .inline(body)) }
        _ = try await bench.store.append(drafts, isAtomic: false)
        largest = max(largest, DataFolder.size(ofFile: wal))
      }
      // 150 batches of about 1.6 MB, of which the log may hold what one checkpoint takes.
      #expect(largest < 2 * Int64(StoreTuning.logBytesKept))
    }
  }

  @Test("20,000 waiting envelopes are read in order, page by page")
  func longLine() async throws {
    let batches = 20
    try await Bench.with { bench in
      for _ in 0..<batches {
        let drafts = (0..<1000).map { bench.draft(client: "c\($0 % 50)", body: .inline([1])) }
        _ = try await bench.store.append(drafts, isAtomic: false)
      }
      try await bench.reopen()
      var after: Serial = 0
      var pages = 0
      while true {
        let page = try await bench.store.line(after: after, countMax: 4096)
        #expect(page.entries.first?.serial == after + 1)
        after = page.scannedThrough
        pages += 1
        if !page.hasMore { break }
      }
      #expect(after == Serial(batches) * 1000)
      // The last page is not a full one.
      #expect(pages == 5)
    }
  }

  @Test("pages that retention frees are given back to the disk")
  func givesSpaceBack() async throws {
    try await Bench.with { bench in
      let body = [UInt8](repeating: 3, count: 30_000)
      var observed = 0
      for _ in 0..<20 {
        _ = try await bench.store.append(
          (0..<100).map { _ in bench.draft(body: .inline(body)) }, isAtomic: false)
        let page = try await bench.store.line(after: 0, countMax: 100)
        bench.store.record(
          page.entries.map {
            Transition(
              serial: $0.serial, lane: $0.lane, upstream: $0.upstream,
              change: .end(.delivered, reason: ""), at: bench.clock.now, epoch: 1)
          })
        observed += 100
        await bench.observer.waitUntilRecorded(observed)
      }
      let later = bench.clock.now.adding(milliseconds: 1)
      let cutoffs = RetentionCutoffs(delivered: later, failed: later)
      while try await !bench.store.deleteEnded(cutoffs, countMax: 500).isRoundDone {}
      // It goes on when nobody deletes any more, until what is kept for new envelopes is left.
      let store = try #require(bench.store as? SQLiteStore)
      var free = Int64.max
      while free > StoreTuning.freePagesKept {
        free = try await store.write("look") { writer throws(StoreError) in
          try writer.connection.number("PRAGMA freelist_count")
        }
      }
      await bench.store.close()
      let size = DataFolder.size(ofFile: DataFolder.database(in: bench.folder))
      #expect(size < 20_000_000, "60 MB were stored")
    }
  }
}
