import Testing

@testable import RelayCore

@Suite("What cannot be sent")
struct SchedulerUnsendableTests {
  @Test("is refused with its reason, and the lane moves on")
  func skip() throws {
    var relay = ManualRelay()
    let first = relay.accept(lane: 1)
    let second = relay.accept(lane: 1)
    relay.refuseToSend(first, reason: "no answer")
    let transition = try #require(relay.uncommitted.first)
    #expect(transition.change == .end(.failed, reason: "no answer"))
    #expect(transition.attempt?.outcome == .refused && transition.attempt?.status == nil)
    #expect(transition.attempt?.error == "no answer")
    relay.commit()
    #expect(relay.attempted == [first, second])
  }

  @Test("blocks its lane where the policy says so")
  func block() {
    var relay = ManualRelay()
    let entry = relay.makeEntry(lane: 1, onFailure: .block)
    relay.accept(entry)
    relay.refuseToSend(entry.serial, reason: "no answer")
    relay.commit()
    #expect(relay.phase(of: 1) == .blocked)
  }

  @Test("says nothing of its upstream: as a probe, it leaves the next one free")
  func probe() {
    var relay = ManualRelay()
    for lane in 1...3 { relay.accept(lane: Int64(lane)) }
    for serial in 1...3 { relay.fail(Serial(serial)) }
    relay.commit()
    #expect(relay.scheduler.upstreamViews()[ManualRelay.upstream]?.isReachable == false)
    relay.pass(ms: 1000)
    #expect(relay.inFlight.count == 1)
    let probe = relay.attempted[3]
    relay.refuseToSend(probe, reason: "no answer")
    #expect(relay.scheduler.upstreamViews()[ManualRelay.upstream]?.isReachable == false)
    #expect(relay.inFlight.count == 1 && relay.attempted[4] != probe)
  }
}
