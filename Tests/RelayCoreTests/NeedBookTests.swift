import RelayCore
import Testing

@Suite("The list of needs")
struct NeedBookTests {
  private static let start = WallTime(millisecondsSinceEpoch: 1_800_000_000_000)

  /// A relay of one upstream, with what waits for it and what it made of envelopes.
  private func facts(
    afterMs: Int64, waiting: Int = 0, reachable: Bool = true, refused: Int = 0,
    quotas: [String: Int] = [:], roomBytes: Int64? = nil
  ) -> NeedFacts {
    var facts = NeedFacts(now: Self.start.adding(milliseconds: afterMs))
    var upstream = NeedFacts.Upstream(name: "api")
    upstream.waiting = waiting
    upstream.isReachable = reachable
    upstream.outcomes.refused = refused
    upstream.failure = NeedFacts.Failure(
      status: 400, reason: "the upstream answered 400", since: facts.now, example: nil)
    facts.upstreams = [upstream]
    facts.quotaRefusals = quotas
    facts.roomBytes = roomBytes
    return facts
  }

  @Test("a need begins once, keeps its beginning while it lasts, and ends once")
  func changes() throws {
    var book = NeedBook()
    #expect(book.update(facts(afterMs: 0)).isEmpty)
    guard case .began(let need)? = book.update(facts(afterMs: 1000, refused: 10)).first else {
      Issue.record("it did not begin")
      return
    }
    #expect(need.key.kind == .upstreamFailing)
    #expect(book.update(facts(afterMs: 2000, refused: 11)).isEmpty)
    #expect(book.needs.first?.since == need.since)
    #expect(book.needs.first?.count == 11)
    let changed = book.update(facts(afterMs: 3000, refused: NeedLimits.failingCriticalMin))
    guard case .changed(let worse)? = changed.first else {
      Issue.record("it did not get worse")
      return
    }
    #expect(worse.severity == .critical)
    guard case .ended(let over)? = book.update(facts(afterMs: 4000)).first else {
      Issue.record("it did not end")
      return
    }
    #expect(over.key == need.key)
    #expect(book.needs.isEmpty)
  }

  @Test("what lasts is told once more after each day, such as a certificate that ends")
  func reminders() {
    var book = NeedBook()
    let hourMs: Int64 = 3_600_000
    var told: [Int64] = []
    for hour in 0..<73 {
      var facts = facts(afterMs: Int64(hour) * hourMs)
      facts.certificates = [
        NeedFacts.Certificate(
          what: "the certificate of 0.0.0.0:8443",
          endsAt: Self.start.adding(milliseconds: 13 * 24 * hourMs))
      ]
      for change in book.update(facts) {
        if case .lasted(let need) = change, need.key.kind == .certificateEnding {
          told.append(Int64(hour))
        }
      }
    }
    #expect(told == [24, 48, 72])
  }

  @Test("a backlog that grows for minutes is told of, and one that stands still is not")
  func growth() {
    var book = NeedBook()
    for minute in 0..<3 {
      _ = book.update(facts(afterMs: Int64(minute) * 60_000, waiting: 1000))
    }
    #expect(book.needs.isEmpty)
    for minute in 3..<5 {
      _ = book.update(
        facts(afterMs: Int64(minute) * 60_000, waiting: 1000 + NeedLimits.growthMin))
    }
    #expect(book.needs.map(\.key.kind) == [.backlogGrowing])
    #expect(book.needs.first?.count == Int64(NeedLimits.growthMin))
    #expect(book.needs.first?.since == Self.start.adding(milliseconds: 120_000))
    // What came long ago is no growth any more.
    for minute in 5..<30 {
      _ = book.update(facts(afterMs: Int64(minute) * 60_000, waiting: 1100))
    }
    #expect(book.needs.isEmpty)
  }

  @Test("what came at once and becomes less is no backlog that grows")
  func burst() {
    var book = NeedBook()
    for step in 0..<60 {
      let waiting = step < 20 ? 0 : max(0, 3000 - (step - 20) * 100)
      _ = book.update(facts(afterMs: Int64(step) * 30_000, waiting: waiting))
      #expect(book.needs.isEmpty, "\(step)")
    }
  }

  @Test("room that lasts for less than six hours at its pace presses, though much is left")
  func room() {
    var book = NeedBook()
    _ = book.update(facts(afterMs: 0, roomBytes: 10 << 30))
    #expect(book.needs.isEmpty)
    _ = book.update(facts(afterMs: 180_000, roomBytes: 9 << 30))
    #expect(book.needs.map(\.severity) == [.critical])
    #expect(book.needs.first?.cause == "at the present pace it lasts for 27 minutes")
  }

  @Test("refusals of a quota count within a quarter of an hour")
  func quotas() {
    var book = NeedBook()
    _ = book.update(facts(afterMs: 0, quotas: ["requests": 5000]))
    #expect(book.needs.isEmpty)
    _ = book.update(
      facts(afterMs: 60_000, quotas: ["requests": 5000 + NeedLimits.quotaRefusalsMin]))
    #expect(book.needs.map(\.key.subject) == ["requests"])
  }

  @Test("a clock that is set back makes nothing grow")
  func clockSetBack() {
    var book = NeedBook()
    _ = book.update(facts(afterMs: 0, waiting: 1000))
    _ = book.update(facts(afterMs: -3_600_000, waiting: 5000))
    #expect(book.needs.isEmpty)
    _ = book.update(facts(afterMs: -3_599_000, waiting: 5000))
    #expect(book.needs.isEmpty)
  }

  // MARK: - More than are listed

  private static let listedMax = NeedLimits.listedOfKindMax

  /// So many upstreams fail, of which the first so many are critical, and one is paused.
  private func manyFail(
    _ count: Int, critical: Int = 0, besides away: Set<Int> = [], afterMs: Int64
  ) -> NeedFacts {
    var facts = NeedFacts(now: Self.start.adding(milliseconds: afterMs))
    facts.upstreams = (0..<count).filter { !away.contains($0) }.map { number in
      var upstream = NeedFacts.Upstream(name: "u\(number)")
      upstream.outcomes.refused = number < critical ? 20 : 5
      upstream.failure = NeedFacts.Failure(
        status: 400, reason: "the upstream answered 400", since: facts.now, example: nil)
      return upstream
    }
    var paused = NeedFacts.Upstream(name: "paused")
    paused.isPaused = true
    paused.waiting = 1
    facts.upstreams.append(paused)
    return facts
  }

  @Test("a kind of which there are many hides no other, and all are counted")
  func counts() {
    var book = NeedBook()
    let changes = book.update(manyFail(Self.listedMax + 11, afterMs: 0))
    #expect(changes.count == Self.listedMax + 1)
    #expect(book.needs.count == Self.listedMax + 1)
    #expect(book.needs.last?.key.kind == .upstreamPaused)
    #expect(book.needs.dropLast().last?.more == 11)
    #expect(book.counts[.upstreamFailing, .warning] == Self.listedMax + 11)
    #expect(book.counts[.upstreamPaused, .warning] == 1)
    #expect(book.counts[.storeTrouble, .critical] == 0)
  }

  @Test("what is listed stays so while it lasts, whatever presses more, and ends when it is over")
  func stays() {
    var book = NeedBook()
    _ = book.update(manyFail(Self.listedMax + 11, afterMs: 0))
    let listed = Set(book.needs.map(\.key))
    // Ten of those that are left out become critical, and are listed as well.
    var worse = manyFail(Self.listedMax + 11, afterMs: 1000)
    for number in Self.listedMax..<(Self.listedMax + 10) {
      worse.upstreams[number].outcomes.refused = 20
    }
    let changes = book.update(worse)
    #expect(changes.count == 10)
    #expect(
      changes.allSatisfy { change in
        if case .began(let need) = change { need.severity == .critical } else { false }
      })
    #expect(listed.isSubset(of: book.needs.map(\.key)))
    #expect(book.needs.map(\.more).reduce(0, +) == 1)
    // Only what is over is told as over, and another one takes its place once there is room.
    let gone = Set(0..<20)
    let over = book.update(manyFail(Self.listedMax + 11, besides: gone, afterMs: 2000))
    let ended = over.compactMap { if case .ended(let need) = $0 { need.key.upstream } else { nil } }
    #expect(Set(ended) == Set(gone.map { "u\($0)" }))
    #expect(book.needs.map(\.more).reduce(0, +) == 0)
    #expect(book.needs.count == Self.listedMax - 9 + 1)
  }
}
