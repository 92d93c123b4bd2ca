@testable import RelayCore
import Testing

@Suite("Deadlines of waiting envelopes")
struct SchedulerExpiryTests {
  /// A series: one slot, taken by an envelope of another lane.
  private func busyRelay() -> ManualRelay {
    var relay = ManualRelay(policy: .manual.concurrency(1))
    relay.accept(lane: 99)
    return relay
  }

  @Test("a head past its deadline ends as expired instead of being attempted")
  func headAtItsTurn() {
    var relay = busyRelay()
    relay.accept(relay.makeEntry(lane: 1, expiresInMs: 1000))
    relay.accept(lane: 1)
    relay.pass(ms: 1000)
    relay.deliverAll()
    #expect(relay.attempted == [1, 3])
  }

  @Test("an envelope behind the head expires where it stands, and is counted out once")
  func behindHead() {
    var relay = ManualRelay()
    relay.accept(lane: 1)
    relay.accept(relay.makeEntry(lane: 1, expiresInMs: 1000))
    relay.accept(lane: 1)
    relay.pass(ms: 1000)
    relay.expire(2)
    relay.expire(2)
    #expect(relay.uncommitted.count == 1)
    #expect(relay.scheduler.changingCount == 1)
    relay.commit()
    #expect(relay.waiting == 2 && relay.scheduler.changingCount == 0)
    relay.deliverAll()
    #expect(relay.attempted == [1, 3])
  }

  @Test("an envelope in flight, or whose outcome is being stored, does not expire")
  func inFlight() {
    var relay = ManualRelay()
    relay.accept(relay.makeEntry(lane: 1, expiresInMs: 1000))
    relay.pass(ms: 2000)
    relay.expire(1)
    #expect(relay.uncommitted.isEmpty)
    relay.answer(1)
    relay.expire(1)
    #expect(
      relay.uncommitted.map(\.change) == [
        .end(.delivered, reason: "the upstream answered 200")
      ])
  }

  @Test("one that becomes head while its end is being stored is neither attempted nor ended twice")
  func becomesHeadWhileEnding() {
    var relay = ManualRelay()
    relay.accept(lane: 1)
    relay.accept(relay.makeEntry(lane: 1, expiresInMs: 1000))
    relay.accept(lane: 1)
    relay.answer(1)
    relay.pass(ms: 1000)
    relay.expire(2)
    relay.clock.wall = relay.clock.wall.adding(milliseconds: -500_000)
    relay.commit()
    #expect(relay.attempted == [1, 3])
    #expect(relay.uncommitted.isEmpty)
    #expect(relay.waiting == 1 && relay.scheduler.changingCount == 0)
    relay.deliverAll()
    #expect(relay.waiting == 0 && relay.scheduler.lanes.isEmpty)
  }

  @Test("what ended behind a window does not come back with a page that was read before")
  func stalePage() {
    var relay = ManualRelay(limits: .init(windowEntriesMax: 1, laneWindowMin: 1))
    relay.accept(count: 2, lane: 2)
    relay.accept(lane: 1)
    relay.accept(relay.makeEntry(lane: 1, expiresInMs: 1000))
    relay.accept(lane: 1)
    relay.answer(1)
    relay.commit()  // Lane 2 is empty: the line is asked for.
    let page = relay.page(after: 1, countMax: 10)
    relay.pass(ms: 1000)
    relay.expire(4)
    relay.commit()
    relay.clock.wall = relay.clock.wall.adding(milliseconds: -500_000)
    relay.answer(3)
    relay.commit()
    relay.refill(page)
    #expect(relay.attempted == [1, 3, 2, 5])
    relay.deliverAll()
    #expect(relay.waiting == 0 && relay.scheduler.lanes.isEmpty)
  }

  @Test("a blocked, a held and an unconfigured head expire, and their lanes go on")
  func standingHeads() {
    var relay = ManualRelay()
    relay.accept(relay.makeEntry(lane: 1, expiresInMs: 1000, standing: .blocked))
    relay.accept(relay.makeEntry(lane: 2, expiresInMs: 1000, standing: .held))
    relay.accept(
      relay.makeEntry(lane: 3, upstream: UpstreamNumber(rawValue: 9), expiresInMs: 1000))
    for lane in 1...3 { relay.accept(lane: Int64(lane)) }
    relay.pass(ms: 1000)
    for serial in 1...3 { relay.expire(Serial(serial)) }
    relay.commit()
    #expect(relay.attempted == [4, 5, 6])
    #expect(relay.scheduler.blockedLaneCount == 0)
  }

  @Test("heads that expire while their upstream is away leave nothing behind in its queue")
  func queueDoesNotGrow() {
    var relay = busyRelay()
    for _ in 0..<100 {
      relay.accept(relay.makeEntry(lane: 1, expiresInMs: 1000))
      relay.pass(ms: 1000)
      relay.expire(relay.line.last?.serial ?? 0)
      relay.commit()
    }
    let queued = relay.scheduler.upstreams[ManualRelay.upstream]?.ready.count ?? 0
    #expect(queued <= 1)
  }

  @Test("waits that came to nothing leave the timers within minutes")
  func timersDoNotGrow() {
    var relay = ManualRelay()
    for _ in 0..<1000 {
      relay.accept(relay.makeEntry(lane: 1, expiresInMs: 1000, dueInMs: 31_536_000_000))
      relay.pass(ms: 1000)
      relay.expire(relay.line.last?.serial ?? 0)
      relay.commit()
    }
    #expect(relay.scheduler.timers.count <= 61)
  }
}
