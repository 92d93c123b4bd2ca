import RelayCore
import SQLite
import StoreModel
import Synchronization
import Testing

/// What every store promises of taking envelopes.
@Suite("conformance: acceptance", .timeLimit(.minutes(5)))
struct AcceptanceConformance {
  @Test("what is accepted comes back byte for byte", arguments: StoreFactory.planned)
  func roundTrip(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let body = (0..<3000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
      let id = try await bench.accept(
        bench.draft(
          body: .inline(body), key: "k1", sequence: 1, notBefore: bench.clock.now,
          onFailure: .block))
      let record = try #require(try await bench.planned.envelope(id))
      #expect(record.id == id)
      #expect(record.state == .queued)
      #expect(record.draft.client == "device-1")
      #expect(record.draft.key == "k1")
      #expect(record.draft.fingerprint == [UInt8](repeating: 1, count: 32))
      #expect(record.draft.sequence == 1)
      #expect(record.draft.tag == "t")
      #expect(record.draft.onFailure == .block)
      #expect(record.draft.notBefore == bench.clock.now)
      #expect(record.dueAt == bench.clock.now)
      #expect(record.draft.content.target == Array("/a?b=c".utf8))
      let loaded = try #require(try await bench.planned.load([id.serial]).first)
      #expect(loaded.id == id && loaded.key == "k1" && loaded.client == "device-1")
      #expect(loaded.content.method == "POST")
      #expect(loaded.content.headers.first("content-type") == "text/plain")
      guard case .inline(let bytes) = loaded.content.body else {
        throw Unexpected(description: "the body is not inline")
      }
      #expect(bytes == body)
    }
  }

  /// Two drafts between which every part is said that a post can say.
  private func wholeDrafts(_ bench: Bench) -> [EnvelopeDraft] {
    let later = bench.clock.now.adding(milliseconds: 60_000)
    let numbered = bench.draft(
      key: "k", sequence: 1, hold: true, notBefore: later, expiresInMs: 5000, onFailure: .block)
    var named = bench.draft(lane: "other", coalesce: "position")
    named.references = true
    return [numbered, named]
  }

  @Test("every part of a post is read back as it was said", arguments: StoreFactory.planned)
  func everyPart(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let drafts = wholeDrafts(bench)
      for (part, said) in Parts(drafts[0]).values where said == "nil" {
        #expect(Parts(drafts[1]).values[part] != "nil", "say \(part) in wholeDrafts(_:)")
      }
      for draft in drafts {
        let id = try await bench.accept(draft)
        let record = try #require(try await bench.planned.envelope(id))
        #expect(Parts(record.draft).differing(from: Parts(draft)).isEmpty)
      }
    }
  }

  @Test("every part of a correction is read back as it was said", arguments: StoreFactory.planned)
  func everyPartCorrected(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft(hold: true))
      let before = try #require(try await bench.planned.envelope(id))
      var (content, entry) = (before.draft.content, before.entry)
      content.target = Array("/right".utf8)
      entry.onFailure = .block
      entry.standing = .queued
      let edit = EnvelopeEdit(
        content: content, tag: "corrected", entry: entry, notBefore: bench.clock.now,
        references: true)
      let (said, had) = (Parts(edit), Parts(before.draft))
      for part in said.values.keys where part != "entry" {
        #expect(said.values[part] != had.values[part], "change \(part) in this test")
      }
      try await bench.record(id, .edit(edit))
      let after = try #require(try await bench.planned.envelope(id))
      #expect(said.differing(from: Parts(after.draft), besides: ["entry"]).isEmpty)
      #expect(after.draft.onFailure == .block && after.entry.standing == .queued)
    }
  }

  @Test("an empty body stays an empty body", arguments: StoreFactory.planned)
  func emptyBody(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft(body: .inline([])))
      let loaded = try #require(try await bench.planned.load([id.serial]).first)
      guard case .inline(let bytes) = loaded.content.body else {
        throw Unexpected(description: "the body is not inline")
      }
      #expect(bytes.isEmpty)
    }
  }

  @Test(
    "the order of acceptance is the order of the line, and positions count up",
    arguments: StoreFactory.planned)
  func order(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let drafts = (0..<10).map { bench.draft(lane: $0 % 2 == 0 ? "even" : "odd") }
      let results = try await bench.planned.append(drafts, isAtomic: false)
      let positions = results.map { result -> Int in
        guard case .accepted(_, .queued, let position) = result else { return -1 }
        return position
      }
      #expect(positions == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5])
      let page = try await bench.planned.line(after: 0, countMax: 100)
      #expect(page.entries.map(\.serial) == Array(1...10))
      #expect(Set(page.entries.map(\.lane)).count == 2)
      #expect(!page.hasMore && page.scannedThrough == 10)
      let first = try await bench.planned.line(after: 0, countMax: 4)
      #expect(first.hasMore && first.scannedThrough == 4)
      let told = bench.observer.state.withLock { $0.accepted.map(\.entry) }
      #expect(told == page.entries)
    }
  }

  @Test("the line can be read backwards, page by page", arguments: StoreFactory.planned)
  func backwards(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let drafts = (0..<10).map { bench.draft(hold: $0 == 3) }
      _ = try await bench.planned.append(drafts, isAtomic: false)
      let forwards = try await bench.planned.line(after: 0, countMax: 100).entries
      let first = try await bench.planned.line(before: 9, countMax: 5)
      #expect(first.hasMore && first.scannedThrough == 4)
      let second = try await bench.planned.line(before: first.scannedThrough, countMax: 5)
      #expect(!second.hasMore && second.scannedThrough == 0)
      #expect(first.entries + second.entries == forwards.dropLast(2).reversed())
    }
  }

  @Test("a held envelope is stored as held", arguments: StoreFactory.planned)
  func held(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft(hold: true))
      #expect(try await bench.entry(id).standing == .held)
      #expect(try await bench.planned.envelope(id)?.state == .held)
      #expect(try await bench.planned.envelope(id)?.draft.hold == true)
      #expect(bench.planned.statistics().envelopes[.held] == 1)
    }
  }

  @Test(
    "ids follow a clock that was set back, and are never alike", arguments: StoreFactory.planned)
  func clockIsSetBack(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let right = bench.clock.now
      var ids: [EnvelopeID] = []
      for step in [315_360_000_000, 0, 86_400_000, -86_400_000, 0] as [Int64] {
        bench.clock.advance(
          milliseconds: right.milliseconds(since: bench.clock.now).addingSaturated(step))
        ids.append(try await bench.accept(bench.draft()))
        #expect(ids.last?.acceptedAt == bench.clock.now)
      }
      #expect(Set(ids).count == ids.count && ids.map(\.serial) == ids.map(\.serial).sorted())
      let latest = try #require(bench.planned.statistics().latestTime)
      #expect(latest == right.adding(milliseconds: 315_360_000_000))
      try await bench.reopen()
      #expect(bench.planned.statistics().latestTime == latest)
    }
  }

  @Test("ids do not go back in time for a clock that is adjusted", arguments: StoreFactory.planned)
  func clockGoesBack(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let first = try await bench.accept(bench.draft())
      bench.clock.advance(milliseconds: -60_000)
      let second = try await bench.accept(bench.draft())
      #expect(second.acceptedAt >= first.acceptedAt)
      try await bench.reopen()
      let third = try await bench.accept(bench.draft())
      #expect(third.acceptedAt >= second.acceptedAt)
      #expect(first.high >> 16 <= third.high >> 16)
    }
  }

  @Test("another envelope's id with the same number finds nothing", arguments: StoreFactory.planned)
  func forgedID(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft())
      let forged = EnvelopeID(high: id.high, low: id.low ^ 1)
      #expect(forged.serial == id.serial)
      #expect(try await bench.planned.envelope(forged) == nil)
      #expect(try await bench.planned.response(forged) == nil)
      let unknown = EnvelopeID(serial: 999, acceptedAt: bench.clock.now, random: 1)
      #expect(try await bench.planned.envelope(unknown) == nil)
    }
  }

  @Test("names keep their numbers", arguments: StoreFactory.planned)
  func names(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let numbers = try await bench.planned.register(upstreams: ["one", "two"])
      #expect(Set(numbers.values).count == 2)
      let id = try await bench.accept(bench.draft(client: "c", lane: "l", upstream: "two"))
      let entry = try await bench.entry(id)
      #expect(entry.upstream == numbers["two"])
      try await bench.reopen()
      #expect(try await bench.planned.register(upstreams: ["two", "one"]) == numbers)
      let names = try await bench.planned.upstreamNames()
      #expect(names.count == 2 && numbers.allSatisfy { names[$0.value] == $0.key })
      #expect(try await bench.planned.clientNames([entry.client]) == [entry.client: "c"])
      #expect(
        try await bench.planned.laneNames([entry.lane])
          == [entry.lane: LaneName(client: "c", lane: "l")])
      #expect(try await bench.planned.client("nobody") == nil)
    }
  }

  @Test("every shard is leased", arguments: StoreFactory.all)
  func leases(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      #expect(bench.store.leases().map(\.shard) == Array(0..<Shard.count))
    }
  }
}

/// The parts of a value by their names, so that one that is added later is compared as well.
private struct Parts {
  let values: [String: String]

  init(_ value: Any) {
    values = Dictionary(
      uniqueKeysWithValues: Mirror(reflecting: value).children.map {
        ($0.label ?? "", "\($0.value)")
      })
  }

  /// The parts that another value does not have, or has otherwise, with both.
  func differing(from other: Parts, besides known: Set<String> = []) -> [String] {
    values.filter { !known.contains($0.key) && other.values[$0.key] != $0.value }.map {
      "\($0.key): \($0.value), and not \(other.values[$0.key] ?? "there")"
    }
  }
}
