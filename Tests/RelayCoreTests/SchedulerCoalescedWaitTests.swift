import Testing

@testable import RelayCore

@Suite("A wait of what was replaced")
struct SchedulerCoalescedWaitTests {
  @Test("what takes the place of one in backoff waits for its own time, too")
  func ownTime() {
    var relay = ManualRelay()
    let head = relay.accept(lane: 1)
    relay.answer(head, status: 503, retryAfter: "5")
    relay.commit()
    let isReserved = relay.reserve(head)
    #expect(isReserved)
    relay.coalesce(head, by: relay.draft(dueInMs: 60_000))
    relay.pass(ms: 30_000)
    #expect(relay.attempted == [head])
    relay.pass(ms: 30_000)
    #expect(relay.attempted == [head, head])
  }
}
