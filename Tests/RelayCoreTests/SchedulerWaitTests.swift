@testable import RelayCore
import Testing

@Suite("Waits between attempts")
struct SchedulerWaitTests {
  @Test("the bound of the wait doubles with each failure, however quickly the waits pass")
  func failuresCount() {
    var policy = UpstreamPolicy.manual
    policy.retry = RetryPolicy(firstDelayMs: 1, maxDelayMs: 100_000, factor: 2, retryAfterMaxMs: 0)
    var relay = ManualRelay(policy: policy)
    relay.accept(lane: 1)
    var longest: Int64 = 0
    for _ in 0..<30 {
      relay.answer(1, status: 503)
      guard case .retry(let time) = relay.uncommitted.first?.change else { break }
      let wait = time.milliseconds(since: relay.clock.wall)
      longest = max(longest, wait)
      relay.pass(ms: wait + 5)  // The commit takes longer than the wait.
      relay.commit()
    }
    #expect(longest > 10_000)
  }

  @Test("what follows one that was cancelled begins with the shortest wait, and not with its")
  func nextHeadBeginsAnew() throws {
    var policy = UpstreamPolicy.manual
    policy.retry = RetryPolicy(
      firstDelayMs: 1000, maxDelayMs: 100_000, factor: 2, retryAfterMaxMs: 0)
    var longest: Int64 = 0
    // Each wait is drawn, so that one of them alone may be short by chance.
    for seed in 1...20 as ClosedRange<UInt64> {
      var relay = ManualRelay(policy: policy, seed: seed)
      relay.accept(count: 2, lane: 1)
      for _ in 0..<8 {
        relay.answer(1, status: 503)
        relay.commit()
        relay.pass(ms: 100_000)
      }
      relay.answer(1, status: 503)
      relay.commit()
      let verdict = relay.obey(.cancel(reason: "so"), of: try #require(relay.line.first))
      #expect(verdict == .recording)
      relay.commit()
      #expect(relay.attempted.last == 2)
      relay.answer(2, status: 503)
      guard case .retry(let time) = relay.uncommitted.first?.change else {
        Issue.record("the second one is not to be tried again")
        break
      }
      longest = max(longest, time.milliseconds(since: relay.clock.wall))
    }
    #expect(longest <= 1000)
  }

  @Test("a lane waits after a failure and another one takes the slot at once")
  func slotGoesOn() {
    var relay = ManualRelay(policy: .manual.concurrency(1))
    relay.accept(lane: 1)
    relay.accept(lane: 2)
    relay.answer(1, status: 500, retryAfter: "5")
    #expect(relay.attempted == [1, 2])
  }

  @Test("a timer of an earlier wait does not end a later one")
  func oldTimer() {
    var relay = ManualRelay()
    relay.accept(relay.makeEntry(lane: 1, expiresInMs: 1000, dueInMs: 30_000))
    relay.pass(ms: 1000)
    relay.expire(1)
    relay.commit()
    relay.accept(relay.makeEntry(lane: 1, dueInMs: 40_000))
    relay.pass(ms: 35_000)
    #expect(relay.attempted.isEmpty)
    relay.pass(ms: 5_000)
    #expect(relay.attempted == [2])
  }

  @Test("an upstream that comes back does not cut short a wait that the sender asked for")
  func sendersWaitStands() {
    var relay = ManualRelay()
    let first = relay.makeEntry(lane: 1, expiresInMs: 500)
    relay.accept(first)
    relay.accept(relay.makeEntry(lane: 1, dueInMs: 100_000))
    relay.fail(1, .cut)
    relay.commit()
    relay.pass(ms: 500)
    relay.expire(1)
    relay.commit()
    relay.accept(lane: 2)
    relay.accept(lane: 3)
    relay.fail(3)
    relay.fail(4)
    relay.commit()
    relay.pass(ms: 8000)
    #expect(relay.inFlight.count == 1)
    relay.deliverAll()
    #expect(!relay.attempted.contains(2))
  }

  @Test("a wait by the wall clock ends soon after that clock was set forward")
  func clockSetForward() {
    var relay = ManualRelay()
    relay.clock.wall = WallTime(millisecondsSinceEpoch: 0)
    relay.accept(relay.makeEntry(lane: 1, expiresInMs: .max, dueInMs: 1_700_000_000_000))
    relay.clock.wall = WallTime(millisecondsSinceEpoch: 1_800_000_000_000)
    relay.pass(ms: Scheduler.waitSliceMs)
    #expect(relay.attempted == [1])
  }

  @Test("a wait of days ends at its time, and not before")
  func longWait() {
    var relay = ManualRelay()
    relay.accept(relay.makeEntry(lane: 1, dueInMs: 172_800_000))
    let due = relay.clock.monotonic.adding(milliseconds: 172_800_000)
    while let wake = relay.scheduler.nextWake, relay.attempted.isEmpty {
      relay.pass(ms: wake.milliseconds(since: relay.clock.monotonic))
    }
    #expect(relay.clock.monotonic == due)
  }

  @Test("a failure of the relay's own says nothing of the upstream")
  func localFailure() {
    var relay = ManualRelay()
    for lane in 1...4 { relay.accept(lane: Int64(lane)) }
    for serial in 1...4 { relay.fail(Serial(serial), .local) }
    relay.commit()
    #expect(relay.scheduler.upstreamViews()[ManualRelay.upstream]?.isReachable == true)
  }
}
