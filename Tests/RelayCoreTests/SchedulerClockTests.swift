@testable import RelayCore
import Testing

@Suite("Waits, and a clock that is set back")
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

  private func setBack(_ relay: inout ManualRelay) {
    relay.clock.wall = relay.clock.wall.adding(milliseconds: -Self.day)
    relay.scheduler.clockWasSetBack(byMs: Self.day)
  }

  @Test("a wait that has begun is as long as it was")
  func waitStands() {
    var relay = waiting()
    setBack(&relay)
    relay.pass(ms: 4900)
    #expect(relay.attempted == [1])
    relay.pass(ms: 1200)
    #expect(relay.attempted == [1, 1])
  }

  @Test("a pause in between does not make it longer by the step")
  func pausedMeanwhile() {
    var relay = waiting()
    relay.setPaused(true, .lane(LaneNumber(rawValue: 1)))
    setBack(&relay)
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
}
