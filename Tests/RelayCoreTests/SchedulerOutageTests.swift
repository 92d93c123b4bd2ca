@testable import RelayCore
import Testing

@Suite("Upstreams that go away and come back")
struct SchedulerOutageTests {
  /// Eight lanes, of which the first three have failed and made the upstream unreachable.
  private func relayInOutage() -> ManualRelay {
    var relay = ManualRelay(policy: .manual.concurrency(3))
    for lane in 1...8 { relay.accept(lane: Int64(lane)) }
    for serial in 1...3 { relay.fail(Serial(serial)) }
    relay.commit()
    return relay
  }

  private func isReachable(_ relay: ManualRelay) -> Bool? {
    relay.scheduler.upstreamViews()[ManualRelay.upstream]?.isReachable
  }

  @Test("while an upstream is unreachable, one probe is in flight however much time passes")
  func oneProbe() {
    var relay = relayInOutage()
    let before = relay.inFlight.count
    #expect(isReachable(relay) == false)
    for entry in relay.inFlight { relay.fail(entry.serial) }
    relay.commit()
    #expect(before == 2 && relay.inFlight.isEmpty)
    for _ in 0..<5 { relay.pass(ms: 60_000) }
    #expect(relay.inFlight.count == 1)
  }

  /// Ends an attempt with an answer that says that the upstream refuses the relay's credentials.
  private func refuse(_ serial: Serial, at relay: inout ManualRelay) {
    relay.inFlight.removeAll { $0.serial == serial }
    var report = AttemptReport(
      serial: serial, event: .failed(.credentials, detail: ""), startedAt: relay.clock.wall,
      durationMs: 1)
    report.isToldByAnswer = true
    relay.scheduler.attemptEnded(report, now: relay.clock)
    relay.take()
  }

  @Test("an answer that may be an echo holds all lanes only if nothing else has been answered")
  func echoes() {
    var relay = ManualRelay(policy: .manual.concurrency(3))
    for lane in 1...8 { relay.accept(lane: Int64(lane)) }
    refuse(1, at: &relay)
    #expect(isReachable(relay) == false, "nobody has shown that it takes anything")
    for serial in [2, 3] { relay.answer(Serial(serial)) }
    relay.commit()
    #expect(isReachable(relay) == true)
    let echo = relay.inFlight[0].serial
    refuse(echo, at: &relay)
    relay.commit()
    #expect(isReachable(relay) == true && !relay.inFlight.contains { $0.serial == echo })
    relay.fail(relay.inFlight[0].serial, .credentials)
    #expect(isReachable(relay) == false, "nobody repeats what ends a handshake")
  }

  private func view(_ relay: ManualRelay) -> Scheduler.UpstreamView? {
    relay.scheduler.upstreamViews()[ManualRelay.upstream]
  }

  /// Ends an attempt with an alert that names the relay's certificate.
  private func refuseIdentity(_ serial: Serial, at relay: inout ManualRelay) {
    relay.inFlight.removeAll { $0.serial == serial }
    var report = AttemptReport(
      serial: serial, event: .failed(.credentials, detail: "it asks for a certificate"),
      startedAt: relay.clock.wall, durationMs: 1)
    report.isOfIdentity = true
    relay.scheduler.attemptEnded(report, now: relay.clock)
    relay.take()
  }

  @Test("a certificate that is refused stays the reason while the connection only breaks off")
  func refusedIdentity() throws {
    var relay = ManualRelay(policy: .manual.concurrency(3))
    for lane in 1...8 { relay.accept(lane: Int64(lane)) }
    refuseIdentity(1, at: &relay)
    for failure in [ConnectionFailure.cut, .tls, .cut] {
      relay.commit()
      relay.pass(ms: 60_000)
      relay.fail(try #require(relay.inFlight.first).serial, failure)
      #expect(view(relay)?.lastFailure == .credentials)
      #expect(view(relay)?.lastError == "it asks for a certificate")
    }
    relay.commit()
    relay.pass(ms: 60_000)
    relay.fail(try #require(relay.inFlight.first).serial, .timeout)
    #expect(view(relay)?.lastFailure == .timeout)
    relay.commit()
    relay.pass(ms: 60_000)
    relay.fail(try #require(relay.inFlight.first).serial, .cut)
    #expect(view(relay)?.lastFailure == .cut, "something else was seen since")
  }

  @Test("what went wrong last is also an answer that takes nothing, until one takes something")
  func lastAnswer() throws {
    var relay = ManualRelay(policy: .manual.concurrency(1))
    for lane in 1...4 { relay.accept(lane: Int64(lane)) }
    for (status, words) in [(503, "the upstream answered 503"), (422, "the upstream answered 422")]
    {
      relay.answer(try #require(relay.inFlight.first).serial, status: status)
      relay.commit()
      #expect(view(relay)?.lastError == words)
    }
    relay.answer(try #require(relay.inFlight.first).serial)
    #expect(view(relay)?.lastError == nil)
  }

  @Test("no probe is said to be due while nothing waits that could be one, or once it is due")
  func probeTime() throws {
    let relay = relayInOutage()
    var view = try #require(self.view(relay))
    let due = relay.clock.monotonic.adding(milliseconds: 1)
    view.nextProbeAt = due
    #expect(view.probeAt(after: relay.clock.monotonic) == due)
    #expect(view.probeAt(after: due) == nil)
    view.waiting = 0
    #expect(view.probeAt(after: relay.clock.monotonic) == nil)
    (view.waiting, view.isPaused) = (1, true)
    #expect(view.probeAt(after: relay.clock.monotonic) == nil)
  }

  @Test("so it does once the upstream is sought elsewhere")
  func echoesAfterChange() {
    var relay = ManualRelay(policy: .manual.concurrency(3))
    for lane in 1...8 { relay.accept(lane: Int64(lane)) }
    relay.answer(1)
    relay.commit()
    relay.scheduler.seekAnew(ManualRelay.upstream, now: relay.clock)
    relay.take()
    guard let last = relay.inFlight.last?.serial else { return }
    refuse(last, at: &relay)
    #expect(isReachable(relay) == false)
  }

  @Test("a failed probe goes behind the other lanes, and all of them take turns")
  func probesTakeTurns() {
    var relay = ManualRelay(policy: .manual.concurrency(1))
    for lane in 1...4 { relay.accept(lane: Int64(lane)) }
    for serial in 1...3 { relay.fail(Serial(serial)) }
    relay.commit()
    var probes: [Serial] = []
    for _ in 0..<8 {
      relay.pass(ms: 8000)
      guard let probe = relay.inFlight.first?.serial else { break }
      probes.append(probe)
      relay.fail(probe)
      relay.commit()
    }
    #expect(probes.count == 8 && Set(probes.prefix(4)).count == 4)
    #expect(Array(probes.prefix(4)) == Array(probes.suffix(4)))
  }

  @Test("the first answer lets all lanes go, and the attempts ramp up from one")
  func recovery() {
    var relay = relayInOutage()
    for entry in relay.inFlight { relay.fail(entry.serial) }
    relay.commit()
    relay.pass(ms: 1000)
    var sizes: [Int] = []
    while !relay.inFlight.isEmpty {
      sizes.append(relay.inFlight.count)
      for entry in relay.inFlight { relay.answer(entry.serial) }
      relay.commit()
    }
    #expect(sizes.first == 1 && sizes.max() == 3 && sizes.reduce(0, +) == 8)
    #expect(isReachable(relay) == true && relay.line.isEmpty)
  }

  @Test("time spent unreachable lengthens no envelope's own backoff")
  func outageCostsNoBackoff() {
    var relay = ManualRelay(policy: .manual.concurrency(1))
    for lane in 1...4 { relay.accept(lane: Int64(lane)) }
    for serial in 1...3 { relay.fail(Serial(serial)) }
    relay.commit()
    for _ in 0..<20 {
      relay.pass(ms: 8000)
      if let probe = relay.inFlight.first?.serial { relay.fail(probe) }
      relay.commit()
    }
    #expect(relay.scheduler.lanes.values.allSatisfy { $0.failuresInARow <= 1 })
  }

  @Test("a dead upstream holds up no other")
  func otherUpstream() {
    let other = UpstreamNumber(rawValue: 2)
    var relay = ManualRelay(policy: .manual.concurrency(1), others: [other: .manual])
    for lane in 1...3 { relay.accept(lane: Int64(lane)) }
    for serial in 1...3 { relay.fail(Serial(serial)) }
    relay.commit()
    relay.accept(relay.makeEntry(lane: 4, upstream: other))
    #expect(relay.attempted.last == 4)
  }

  @Test("an old attempt that is withdrawn during an outage sends out no second probe")
  func withdrawnIsNoProbe() {
    var relay = relayInOutage()
    let old = relay.inFlight.map(\.serial)
    relay.pass(ms: 2000)
    #expect(relay.inFlight.count == old.count + 1)
    relay.withdraw(old[0])
    #expect(relay.inFlight.count == old.count)
  }

  @Test("a probe that is withdrawn is followed by another")
  func withdrawnProbe() {
    var relay = relayInOutage()
    for entry in relay.inFlight { relay.fail(entry.serial) }
    relay.commit()
    relay.pass(ms: 2000)
    relay.withdraw(relay.inFlight[0].serial)
    #expect(relay.inFlight.count == 1)
  }

  @Test("a fresh envelope hastens the probe and is the probe")
  func freshEnvelopeHastens() {
    var relay = relayInOutage()
    for entry in relay.inFlight { relay.fail(entry.serial) }
    relay.commit()
    for _ in 0..<6 {
      relay.pass(ms: 8000)
      for entry in relay.inFlight { relay.fail(entry.serial) }
      relay.commit()
    }
    relay.pass(ms: 999)
    let fresh = relay.accept(lane: 50)
    #expect(relay.inFlight.isEmpty)
    relay.pass(ms: 1)
    #expect(relay.inFlight.map(\.serial) == [fresh])
  }
}
