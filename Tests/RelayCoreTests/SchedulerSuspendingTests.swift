import RelayCore
import Testing

@Suite("A relay that cannot show that it still has its store")
struct SchedulerSuspendingTests {
  @Test("begins no attempt, takes what is posted, and goes on where it stood")
  func suspended() {
    var relay = ManualRelay(policy: .manual.concurrency(8))
    relay.accept(count: 2, lane: 1)
    #expect(relay.attempted == [1])
    relay.scheduler.suspend(now: relay.clock)
    relay.accept(lane: 2)
    relay.answer(1)
    relay.commit()
    #expect(relay.attempted == [1])
    relay.scheduler.resume(now: relay.clock)
    relay.take()
    #expect(Set(relay.attempted) == [1, 2, 3])
    relay.deliverAll()
    #expect(relay.line.isEmpty)
  }

  @Test("what it breaks off is one more attempt, and begins again when it may")
  func brokenOff() {
    var relay = ManualRelay()
    relay.accept(lane: 1)
    relay.scheduler.suspend(now: relay.clock)
    relay.fail(1, .brokenOff)
    relay.commit()
    #expect(relay.attempted == [1] && relay.line[0].attempts == 1)
    relay.scheduler.resume(now: relay.clock)
    relay.take()
    #expect(relay.attempted == [1, 1])
  }

  @Test("what is handed back as not begun waits until then")
  func withdrawn() {
    var relay = ManualRelay()
    relay.accept(lane: 1)
    relay.scheduler.suspend(now: relay.clock)
    relay.withdraw(1)
    #expect(relay.attempted == [1] && relay.scheduler.inFlightCount == 0)
    relay.scheduler.resume(now: relay.clock)
    relay.take()
    #expect(relay.attempted == [1, 1])
  }

  @Test("an attempt that is announced does not begin, and its announcement is taken back")
  func announced() {
    var policy = UpstreamPolicy.manual
    policy.ambiguity = .block
    var relay = ManualRelay(policy: policy)
    relay.accept(lane: 1)
    #expect(relay.attempted.isEmpty)
    relay.scheduler.suspend(now: relay.clock)
    #expect(relay.scheduler.inFlightCount == 0)
    relay.commit()
    relay.commit()
    #expect(relay.attempted.isEmpty && !relay.line[0].isInDoubt)
    relay.scheduler.resume(now: relay.clock)
    relay.take()
    relay.commit()
    #expect(relay.attempted == [1])
  }

  @Test("it is woken for no probe that it must not send, and for each wait that ends")
  func wakes() {
    var relay = ManualRelay(policy: .manual.concurrency(8))
    for lane in 1...4 { relay.accept(lane: Int64(lane)) }
    for serial in 1...3 { relay.fail(Serial(serial)) }
    relay.commit()
    relay.scheduler.suspend(now: relay.clock)
    for _ in 1...100 {
      guard let wake = relay.scheduler.nextWake else { break }
      #expect(wake > relay.clock.monotonic)
      relay.advance(to: wake)
      relay.timePassed()
    }
    #expect(relay.attempted.count == 4)
    relay.answer(4)
    relay.commit()
    relay.scheduler.resume(now: relay.clock)
    relay.take()
    #expect(relay.attempted.count > 4)
  }
}
