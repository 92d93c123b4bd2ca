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
    _ = book.update(facts(afterMs: 180_000, waiting: 1000 + NeedLimits.growthMin))
    #expect(book.needs.map(\.key.kind) == [.backlogGrowing])
    #expect(book.needs.first?.count == Int64(NeedLimits.growthMin))
    // What came long ago is no growth any more.
    for minute in 4..<30 {
      _ = book.update(facts(afterMs: Int64(minute) * 60_000, waiting: 1100))
    }
    #expect(book.needs.isEmpty)
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
}
