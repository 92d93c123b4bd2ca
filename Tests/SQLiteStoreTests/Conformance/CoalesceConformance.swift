import RelayCore
import StoreModel
import Synchronization
import Testing

/// What every store promises of posts that take the place of what waits.
@Suite("conformance: coalescing", .timeLimit(.minutes(5)))
struct CoalesceConformance {
  private func body(_ text: String) -> EnvelopeBody { .inline(Array(text.utf8)) }

  private func append(_ bench: Bench, _ draft: EnvelopeDraft) async throws -> AppendResult {
    try #require(try await bench.planned.append([draft], isAtomic: false).first)
  }

  private func loaded(_ bench: Bench, _ id: EnvelopeID) async throws -> DeliverableEnvelope {
    try #require(try await bench.planned.load([id.serial]).first)
  }

  @Test(
    "the latest content and terms take the waiting one's place, and all else stays",
    arguments: StoreFactory.all)
  func replaced(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft(body: body("old"), coalesce: "c"))
      let next = try await bench.accept(bench.draft())
      let before = try await bench.entry(id)
      bench.clock.advance(milliseconds: 50)
      let due = bench.clock.now.adding(milliseconds: 9000)
      let result = try await append(
        bench,
        bench.draft(
          upstream: "other", body: body("newer"), hold: true, notBefore: due, onFailure: .block,
          coalesce: "c"))
      #expect(result == .coalesced(id: id, state: .held, position: 1))
      for _ in 0..<2 {
        let record = try #require(try await bench.store.envelope(id))
        #expect(record.state == .held && record.draft.hold && record.draft.coalesce == "c")
        #expect(record.draft.upstream == "other" && record.draft.content.body == body("newer"))
        #expect(record.draft.notBefore == due && record.draft.onFailure == .block)
        let entry = try await bench.entry(id)
        #expect(entry.acceptedAt == before.acceptedAt && entry.expiresAt > before.expiresAt)
        #expect(entry.dueAt == due && entry.standing == .held)
        let line = try await bench.store.line(after: 0, countMax: 9).entries.map(\.serial)
        #expect(line == [id.serial, next.serial])
        let page = try await bench.store.list(
          EnvelopeFilter(), after: 0, countMax: 9, looksMax: 9)
        #expect(page.envelopes.map(\.terms.coalesce) == ["c", nil])
        let statistics = bench.store.statistics()
        #expect(statistics.envelopes[.held] == 1 && statistics.envelopes[.queued] == 1)
        let fields = Int64(record.draft.content.headers.bytes.count + 6)
        #expect(statistics.contentBytes == 2 * fields + 5 + 5)
        try await bench.reopen()
      }
      let told = bench.observer.state.withLock { $0.coalesced }
      #expect(told.map(\.entry.serial) == [id.serial] && told.map(\.revision) == [1])
      #expect(told[0].formerUpstream == before.upstream && !told[0].keepsBackoff)
      #expect(bench.observer.state.withLock { $0.reserved.isEmpty })
    }
  }

  @Test(
    "what the upstream may have seen is told apart from what it gets",
    arguments: StoreFactory.planned)
  func revisions(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft(coalesce: "c"))
      #expect(try await loaded(bench, id).idempotencyKey == "\(id)")
      for revision in 1...3 {
        _ = try await append(bench, bench.draft(coalesce: "c"))
        #expect(try await loaded(bench, id).idempotencyKey == "\(id).\(revision)")
      }
    }
  }

  @Test("another name, lane or client is another envelope", arguments: StoreFactory.planned)
  func scope(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let drafts = [
        bench.draft(coalesce: "c"), bench.draft(coalesce: "d"), bench.draft(),
        bench.draft(lane: "other", coalesce: "c"), bench.draft(client: "device-2", coalesce: "c"),
      ]
      for draft in drafts { try await bench.accept(draft) }
      #expect(bench.planned.statistics().envelopes[.queued] == 5)
    }
  }

  @Test(
    "one more follows what is being delivered or has ended, and is replaced in turn",
    arguments: StoreFactory.planned)
  func follows(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let first = try await bench.accept(bench.draft(coalesce: "c"))
      bench.observer.state.withLock { _ = $0.underWay.insert(first.serial) }
      let second = try await bench.accept(bench.draft(coalesce: "c"))
      let third = try await append(bench, bench.draft(body: body("3"), coalesce: "c"))
      #expect(third == .coalesced(id: second, state: .queued, position: 1))
      try await bench.record(second, .end(.delivered, reason: "so"))
      let fourth = try await bench.accept(bench.draft(coalesce: "c"))
      #expect(fourth.serial > second.serial)
    }
  }

  @Test("within one commit the last post of a name counts", arguments: StoreFactory.planned)
  func batch(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      for isAtomic in [false, true] {
        let name = "c\(isAtomic)"
        let results = try await bench.planned.append(
          [
            bench.draft(body: body("1"), coalesce: name), bench.draft(lane: "other"),
            bench.draft(body: body("2"), hold: true, coalesce: name),
            bench.draft(body: body("3"), coalesce: name),
          ], isAtomic: isAtomic)
        guard case .accepted(let id, .queued, let position) = results[0] else {
          throw Unexpected(description: "\(results)")
        }
        #expect(results[2] == .coalesced(id: id, state: .held, position: position))
        #expect(results[3] == .coalesced(id: id, state: .queued, position: position))
        #expect(try await loaded(bench, id).content.body == body("3"))
        let accepted = bench.observer.state.withLock { $0.accepted }
        let told = try #require(accepted.first { $0.id == id })
        #expect(told.draft?.content.body == body("3") && told.revision == 2)
        #expect(told.entry == (try await bench.entry(id)))
      }
      #expect(bench.observer.state.withLock { $0.coalesced.isEmpty })
      #expect(bench.planned.statistics().envelopes[.queued] == 4)
    }
  }

  @Test(
    "every post's key goes on standing for the envelope, until it is forgotten",
    arguments: StoreFactory.planned)
  func keys(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let draft = { (key: String?, fingerprint: UInt8) in
        bench.draft(key: key, fingerprint: fingerprint, coalesce: "c")
      }
      let id = try await bench.accept(draft("k1", 1))
      _ = try await append(bench, draft("k2", 2))
      _ = try await append(bench, draft(nil, 0))
      _ = try await append(bench, draft("k3", 3))
      try await bench.reopen()
      for (key, fingerprint) in [("k1", 1), ("k2", 2), ("k3", 3)] as [(String, UInt8)] {
        #expect(
          try await append(bench, draft(key, fingerprint)) == .duplicate(id: id, state: .queued))
        #expect(try await append(bench, draft(key, 9)) == .keyConflict(id: id))
        #expect(try await bench.planned.envelope(client: "device-1", key: key) == id)
      }
      #expect(try await bench.planned.envelope(id)?.draft.key == "k3")
      try await bench.record(id, .end(.delivered, reason: "so"))
      bench.clock.advance(milliseconds: 1000)
      let cutoffs = RetentionCutoffs(delivered: bench.clock.now, failed: bench.clock.now)
      #expect(try await bench.planned.deleteEnded(cutoffs, countMax: 9).deletedCount == 1)
      for key in ["k1", "k2", "k3"] {
        #expect(try await bench.planned.envelope(client: "device-1", key: key) == nil)
      }
      let again = try await bench.accept(draft("k1", 4))
      #expect(again.serial > id.serial)
    }
  }

  @Test("of many keys the latest are kept", arguments: StoreFactory.all)
  func keysKept(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let total = StoreLimits.coalescedKeysKeptMax + 3
      var posts: [EnvelopeDraft] = []
      for number in 0..<total { posts.append(bench.draft(key: "k\(number)", coalesce: "c")) }
      for start in stride(from: 0, to: total, by: 100) {
        _ = try await bench.store.append(
          Array(posts[start..<min(start + 100, total)]), isAtomic: false)
      }
      let found = try await bench.store.fates(
        of: (0..<total).map { EnvelopeReference.key("k\($0)", client: "device-1") })
      #expect(found.prefix(3).allSatisfy { $0 == nil })
      #expect(found.dropFirst(3).allSatisfy { $0 != nil })
    }
  }

  @Test(
    "a wait after a failed attempt stays a wait, and a blocked one stays blocked",
    arguments: StoreFactory.planned)
  func waits(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft(coalesce: "c"))
      let due = bench.clock.now.adding(milliseconds: 60_000)
      try await bench.record(id, .retry(at: due), attempt: bench.attempt(1, .unreachable))
      _ = try await append(bench, bench.draft(coalesce: "c"))
      #expect(try await bench.entry(id).dueAt == due)
      #expect(try await bench.entry(id).attempts == 1)
      _ = try await append(bench, bench.draft(upstream: "other", coalesce: "c"))
      #expect(try await bench.entry(id).dueAt == nil)
      try await bench.record(
        id, .block(reason: "so"), attempt: bench.attempt(2, .refused, status: 422))
      let result = try await append(bench, bench.draft(hold: true, coalesce: "c"))
      #expect(result == .coalesced(id: id, state: .blocked, position: 1))
      #expect(try await bench.planned.envelope(id)?.reason == "so")
      #expect(bench.planned.statistics().envelopes[.blocked] == 1)
    }
  }

  @Test(
    "the file of a content that was replaced goes, and the new one stays",
    arguments: StoreFactory.all)
  func files(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let old = try await bench.store.write([Array("old".utf8)])
      let id = try await bench.accept(bench.draft(body: .file(old), coalesce: "c"))
      let latest = try await bench.store.write([Array("latest".utf8)])
      _ = try await append(bench, bench.draft(body: .file(latest), coalesce: "c"))
      // A store may delete what is left over at its next start.
      for _ in 0..<2 { try await bench.reopen() }
      #expect(try await loaded(bench, id).content.body == .file(latest))
      #expect(try await bench.store.bytes(of: latest) == Array("latest".utf8))
      await #expect(throws: StoreError.self) { try await bench.store.bytes(of: old) }
      #expect(bench.planned.statistics().contentBytes > 0)
    }
  }

  @Test("what happens is logged", arguments: StoreFactory.all)
  func events(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft(coalesce: "c"))
      _ = try await append(bench, bench.draft(hold: true, coalesce: "c"))
      let events = try await bench.events()
      #expect(events.map(\.kind) == [.accepted, .coalesced])
      #expect(events.map(\.id) == [id, id] && events[1].state == .held)
    }
  }
}
