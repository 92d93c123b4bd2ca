@testable import RelayCore
import Testing

@Suite("What the next head takes over")
struct SchedulerNextHeadTests {
  @Test("the failures of a head that was cancelled lengthen no wait of the next one")
  func failuresEndWithTheirHead() throws {
    var policy = UpstreamPolicy.manual
    policy.retry = RetryPolicy(
      firstDelayMs: 1, maxDelayMs: 1_000_000, factor: 4, retryAfterMaxMs: 0)
    var relay = ManualRelay(policy: policy)
    let first = relay.makeEntry(lane: 1)
    relay.accept(first)
    relay.accept(lane: 1)
    for _ in 0..<9 {
      relay.answer(1, status: 503)
      relay.commit()
      relay.pass(ms: 1_000_000)
    }
    relay.answer(1, status: 503)
    relay.commit()
    #expect(relay.obey(.cancel(reason: "enough"), of: first) == .recording)
    relay.commit()
    relay.answer(2, status: 503)
    guard case .retry(let time) = try #require(relay.uncommitted.last).change else {
      Issue.record("the second envelope is not tried again")
      return
    }
    #expect(time.milliseconds(since: relay.clock.wall) <= 1)
  }
}
