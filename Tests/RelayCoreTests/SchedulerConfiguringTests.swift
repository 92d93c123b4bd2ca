@testable import RelayCore
import Testing

@Suite("Upstreams that are configured anew")
struct SchedulerConfiguringTests {
  private static let other = UpstreamNumber(rawValue: 2)

  private func configure(
    _ relay: inout ManualRelay, _ policies: [UpstreamNumber: UpstreamPolicy]
  ) {
    relay.scheduler.configure(upstreams: policies, now: relay.clock)
    relay.take()
  }

  @Test("what waits for one that is taken out stands, and goes on once it is back")
  func removal() {
    var relay = ManualRelay(policy: .manual.concurrency(1))
    relay.accept(count: 2, lane: 1)
    relay.accept(count: 1, lane: 2)
    #expect(relay.inFlight.map(\.serial) == [1])
    configure(&relay, [:])
    // What is under way ends, and counts.
    relay.answer(1)
    relay.commit()
    #expect(relay.inFlight.isEmpty)
    #expect(relay.scheduler.upstreamViews().isEmpty)
    #expect(relay.scheduler.unconfiguredViews()[ManualRelay.upstream]?.waiting == 2)
    for _ in 0..<3 { relay.pass(ms: 60_000) }
    #expect(relay.inFlight.isEmpty)
    relay.accept(count: 1, lane: 3)
    #expect(relay.inFlight.isEmpty)
    configure(&relay, [ManualRelay.upstream: .manual.concurrency(8)])
    #expect(Set(relay.inFlight.map(\.serial)) == [2, 3, 4])
    #expect(relay.scheduler.upstreamViews()[ManualRelay.upstream]?.waiting == 3)
  }

  @Test("nothing wakes the relay for an upstream that is taken out while it is unreachable")
  func removedInOutage() {
    var relay = ManualRelay(policy: .manual.concurrency(3))
    for lane in 1...8 { relay.accept(lane: Int64(lane)) }
    for serial in 1...3 { relay.fail(Serial(serial)) }
    relay.commit()
    configure(&relay, [Self.other: .manual])
    for entry in relay.inFlight { relay.fail(entry.serial) }
    relay.commit()
    relay.pass(ms: 600_000)
    #expect(relay.inFlight.isEmpty)
    #expect(relay.scheduler.nextWake == nil)
    let wasProbed = relay.scheduler.probe(ManualRelay.upstream, now: relay.clock)
    #expect(!wasProbed)
  }

  @Test("an attempt that fails after its upstream was taken out leaves its envelope in its place")
  func failureAfterRemoval() {
    var relay = ManualRelay(policy: .manual.concurrency(1))
    relay.accept(count: 2, lane: 1)
    configure(&relay, [:])
    relay.fail(1)
    relay.commit()
    relay.pass(ms: 600_000)
    #expect(relay.inFlight.isEmpty)
    configure(&relay, [ManualRelay.upstream: .manual.concurrency(1)])
    #expect(relay.inFlight.map(\.serial) == [1])
    #expect(relay.scheduler.waitingCount == 2)
  }

  @Test("one that is added takes up what has waited for it, and counts it")
  func addition() {
    var relay = ManualRelay()
    for lane in 1...3 { relay.accept(relay.makeEntry(lane: Int64(lane), upstream: Self.other)) }
    #expect(relay.inFlight.isEmpty)
    configure(&relay, [ManualRelay.upstream: .manual, Self.other: .manual])
    #expect(relay.inFlight.map(\.serial) == [1, 2, 3])
    for serial in 1...3 { relay.answer(Serial(serial)) }
    relay.commit()
    #expect(relay.scheduler.upstreamViews()[Self.other]?.waiting == 0)
  }

  @Test("more attempts at once begin at once; fewer let those end that are under way")
  func concurrency() {
    var relay = ManualRelay(policy: .manual.concurrency(1))
    for lane in 1...6 { relay.accept(lane: Int64(lane)) }
    #expect(relay.inFlight.count == 1)
    configure(&relay, [ManualRelay.upstream: .manual.concurrency(4)])
    #expect(relay.inFlight.count == 4)
    configure(&relay, [ManualRelay.upstream: .manual.concurrency(2)])
    #expect(relay.inFlight.count == 4)
    for serial in 1...3 { relay.answer(Serial(serial)) }
    relay.commit()
    #expect(relay.inFlight.count == 2)
  }

  @Test("what a status means counts from then on, for what is under way as well")
  func outcomes() {
    var relay = ManualRelay()
    relay.accept(lane: 1)
    var policy = UpstreamPolicy.manual
    policy.outcomes = OutcomeRules(deliver: StatusSet(codes: [422]), retry: policy.outcomes.retry)
    configure(&relay, [ManualRelay.upstream: policy])
    relay.answer(1, status: 422)
    relay.commit()
    #expect(relay.scheduler.waitingCount == 0)
  }
}
