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

  /// What is under way for an upstream, as others see it.
  private func shown(_ relay: ManualRelay) -> Int? {
    relay.scheduler.upstreamViews()[ManualRelay.upstream]?.inFlight
  }

  private func seekAnew(_ relay: inout ManualRelay) {
    relay.scheduler.seekAnew(ManualRelay.upstream, now: relay.clock)
    relay.take()
  }

  @Test("attempts that hang where an upstream was sought before keep only their own lanes waiting")
  func hanging() {
    var relay = ManualRelay(policy: .manual.concurrency(2))
    for lane in 1...4 { relay.accept(count: 2, lane: Int64(lane)) }
    let hanging = relay.inFlight.map(\.serial)
    seekAnew(&relay)
    #expect(relay.inFlight.count == 4 && shown(relay) == 4)
    seekAnew(&relay)
    #expect(relay.inFlight.count == 4, "all lanes are under way")
    for entry in relay.inFlight where !hanging.contains(entry.serial) {
      relay.answer(entry.serial)
    }
    relay.commit()
    #expect(relay.inFlight.count == 4, "the lanes of those that have ended go on")
    relay.fail(hanging[0], .timeout)
    relay.commit()
    #expect(!relay.inFlight.contains { $0.serial == hanging[0] }, "both slots are taken")
    relay.deliverAll()
    #expect(relay.scheduler.waitingCount == 0 && shown(relay) == 0)
  }

  @Test("no more is sent to where an upstream is sought now than may be at once")
  func slots() {
    var relay = ManualRelay(policy: .manual.concurrency(1))
    for lane in 1...4 { relay.accept(lane: Int64(lane)) }
    seekAnew(&relay)
    #expect(relay.inFlight.count == 2)
    let first = relay.inFlight[0].serial
    relay.answer(first)
    relay.commit()
    #expect(relay.inFlight.count == 1, "the end of an earlier one frees no slot")
  }

  @Test("a probe that hangs where an upstream was sought before is not waited for")
  func hangingProbe() {
    var relay = ManualRelay(policy: .manual.concurrency(1))
    for lane in 1...5 { relay.accept(lane: Int64(lane)) }
    for _ in 1...3 {
      relay.fail(relay.inFlight[0].serial)
      relay.commit()
    }
    relay.pass(ms: 60_000)
    #expect(relay.inFlight.count == 1)
    let stuck = relay.inFlight[0].serial
    seekAnew(&relay)
    #expect(relay.inFlight.count == 2, "another probe goes out at once")
    relay.fail(stuck, .timeout)
    relay.commit()
    #expect(relay.inFlight.count == 1, "its end says nothing of where the upstream is now")
    relay.answer(relay.inFlight[0].serial)
    relay.commit()
    #expect(relay.scheduler.upstreamViews()[ManualRelay.upstream]?.isReachable == true)
    relay.deliverAll()
    #expect(relay.scheduler.waitingCount == 0)
  }

  @Test("what fails where an upstream was sought before does not make it unreachable")
  func lateFailures() {
    var relay = ManualRelay(policy: .manual.concurrency(4))
    for lane in 1...4 { relay.accept(lane: Int64(lane)) }
    let earlier = relay.inFlight.map(\.serial)
    seekAnew(&relay)
    for serial in earlier { relay.fail(serial, .timeout) }
    relay.commit()
    #expect(relay.scheduler.upstreamViews()[ManualRelay.upstream]?.isReachable == true)
    #expect(relay.inFlight.count == 4, "and they are tried at once")
  }
}
