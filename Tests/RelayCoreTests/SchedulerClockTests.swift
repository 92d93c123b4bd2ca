@testable import RelayCore
import Testing

@Suite("Waits, and a clock that is set")
struct SchedulerClockTests {
  private static let day: Int64 = 86_400_000
  private static let policy: UpstreamPolicy = {
    var policy = UpstreamPolicy.manual
    policy.retry = RetryPolicy(
      firstDelayMs: 1000, maxDelayMs: 30_000, factor: 2, retryAfterMaxMs: 60_000)
    return policy
  }()

  /// A relay whose first envelope waits 5 s or a little more, since the upstream asked for it.
  private func waiting() -> ManualRelay {
    var relay = ManualRelay(policy: Self.policy)
    relay.accept(lane: 1)
    relay.answer(1, status: 503, retryAfter: "5")
    relay.commit()
    return relay
  }

  private func setBack(_ relay: inout ManualRelay) { relay.setClock(byMs: -Self.day) }

  @Test("a wait that has begun is as long as it was", arguments: [-day, day])
  func waitStands(stepMs: Int64) {
    var relay = waiting()
    relay.setClock(byMs: stepMs)
    relay.pass(ms: 4900)
    #expect(relay.attempted == [1])
    relay.pass(ms: 1200)
    #expect(relay.attempted == [1, 1])
  }

  @Test("a pause in between makes it neither longer nor shorter", arguments: [-day, day])
  func pausedMeanwhile(stepMs: Int64) {
    var relay = waiting()
    relay.setPaused(true, .lane(LaneNumber(rawValue: 1)))
    relay.setClock(byMs: stepMs)
    relay.setPaused(false, .lane(LaneNumber(rawValue: 1)))
    relay.pass(ms: 4900)
    #expect(relay.attempted == [1])
    relay.pass(ms: 1200)
    #expect(relay.attempted == [1, 1])
  }

  @Test("a step between an attempt's end and its commit costs no more than the longest wait")
  func stepBeforeCommit() {
    var relay = ManualRelay(policy: Self.policy)
    relay.accept(lane: 1)
    relay.answer(1, status: 503, retryAfter: "5")
    setBack(&relay)
    relay.commit()
    relay.pass(ms: 61_000)
    #expect(relay.attempted == [1, 1])
  }

  @Test("a step while the relay was down costs no more than the longest wait")
  func stepOverRestart() {
    var relay = waiting()
    relay.clock.wall = relay.clock.wall.adding(milliseconds: -Self.day)
    relay.restart(policy: Self.policy, wasClockSetBack: true)
    relay.pass(ms: 61_000)
    #expect(relay.attempted == [1, 1])
  }

  @Test("what a sender asked for by the time of day stays so")
  func notBeforeStands() {
    var relay = ManualRelay(policy: Self.policy)
    relay.accept(relay.makeEntry(lane: 1, dueInMs: 2 * Self.day))
    setBack(&relay)
    relay.restart(policy: Self.policy, wasClockSetBack: true)
    for _ in 0..<10 { relay.pass(ms: Self.day / 4) }
    #expect(relay.attempted.isEmpty)
    for _ in 0..<2 { relay.pass(ms: Self.day / 4) }
    #expect(relay.attempted == [1])
  }

  @Test("what a sender asked for by the time of day goes at once when the clock is set past it")
  func notBeforeAhead() {
    var relay = ManualRelay()
    relay.accept(relay.makeEntry(lane: 1, dueInMs: 3_600_000))
    relay.accept(relay.makeEntry(lane: 2, dueInMs: 2 * Self.day))
    relay.setClock(byMs: Self.day)
    #expect(relay.attempted == [1])
    // What is left of the other's wait is as much shorter.
    relay.pass(ms: Self.day - 1)
    #expect(relay.attempted == [1])
    relay.pass(ms: 1)
    #expect(relay.attempted == [1, 2])
  }

  @Test("and as much later when it is set back, though nothing else is looked at meanwhile")
  func notBeforeBack() throws {
    var relay = ManualRelay()
    relay.accept(relay.makeEntry(lane: 1, dueInMs: 10_000))
    relay.setClock(byMs: -30_000)
    relay.pass(ms: 10_000)
    #expect(relay.attempted.isEmpty)
    // The timer is for the new time, and not for the next slice.
    let wake = try #require(relay.scheduler.nextWake)
    #expect(wake.milliseconds(since: relay.clock.monotonic) == 30_000)
    relay.pass(ms: 30_000)
    #expect(relay.attempted == [1])
  }

  @Test("a wish that lies beyond any failure's wait stays a time of day, though it was attempted")
  func wishOfAttempted() {
    var relay = ManualRelay(policy: Self.policy)
    var entry = relay.makeEntry(lane: 1, dueInMs: 2 * Self.day)
    entry.attempts = 1
    relay.accept(entry)
    relay.setClock(byMs: Self.day)
    relay.pass(ms: Self.day - 61_000)
    #expect(relay.attempted.isEmpty)
    relay.pass(ms: 61_000)
    #expect(relay.attempted == [1])
  }

  @Test("where the machine slept, what the clock shows by now is over")
  func slept() {
    var relay = ManualRelay()
    relay.accept(relay.makeEntry(lane: 1, dueInMs: 40_000))
    relay.clock.wall = relay.clock.wall.adding(milliseconds: 40_000)
    relay.scheduler.clockWasSet(byMs: 0, now: relay.clock)
    relay.take()
    #expect(relay.attempted == [1])
  }

  @Test("however often a wait begins anew, its lane has one timer", arguments: [false, true])
  func oneTimer(isShortened: Bool) {
    var relay = ManualRelay()
    relay.accept(relay.makeEntry(lane: 1, dueInMs: Self.day))
    for step in 1...1000 {
      let isReserved = relay.reserve(1)
      #expect(isReserved)
      let later = Int64(step) * 1000
      relay.coalesce(1, by: relay.draft(dueInMs: Self.day + (isShortened ? -later : later)))
    }
    #expect(relay.scheduler.timers.count == 1)
  }
}
