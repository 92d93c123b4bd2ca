import Testing

@testable import RelayCore

@Suite("A client's whole backlog, cancelled")
struct SchedulerClearingTests {
  private func clear(_ relay: inout ManualRelay, _ client: Int64) -> SparedEnvelopes {
    let spared = relay.scheduler.reserveAll(of: ClientNumber(rawValue: client))
    relay.take()
    return spared
  }

  /// Commits what was to be cancelled.
  private func commit(_ relay: inout ManualRelay, _ client: Int64, _ spared: SparedEnvelopes) {
    var backlog = ClearedBacklog(client: ClientNumber(rawValue: client))
    for entry in relay.line
    where entry.client.rawValue == client && !spared.contains(entry.serial) {
      backlog.append(
        ClearedBacklog.Item(serial: entry.serial, lane: entry.lane, upstream: entry.upstream))
    }
    relay.line.removeAll { backlog.contains($0.serial) }
    relay.scheduler.cleared(backlog, now: relay.clock)
    relay.take()
  }

  @Test("the running one finishes, and nothing else of the client's is ever attempted")
  func finishes() {
    var relay = ManualRelay(limits: .init(windowEntriesMax: 4, laneWindowMin: 2))
    let first = relay.accept(lane: 1)
    relay.accept(count: 9, lane: 1)
    relay.accept(count: 5, lane: 2, client: 1)
    let other = relay.accept(lane: 3)
    relay.answer(11)
    let spared = clear(&relay, 1)
    #expect(spared.inFlight == [first] && spared.changing == [11])
    commit(&relay, 1, spared)
    #expect(relay.line.map(\.serial) == [first, 11, other])
    relay.commit()
    relay.deliverAll()
    #expect(Set(relay.attempted) == [first, 11, other])
    #expect(relay.scheduler.waitingCount == 0 && relay.scheduler.windowEntries == 0)
    #expect(relay.phase(of: 1) == nil && relay.phase(of: 2) == nil)
  }

  @Test("until it is committed nothing of it begins, and if it is not, all goes on")
  func failed() {
    var relay = ManualRelay(policy: UpstreamPolicy.manual.concurrency(1))
    relay.accept(lane: 9)
    let first = relay.accept(lane: 1)
    relay.accept(lane: 2, client: 1)
    _ = clear(&relay, 1)
    relay.answer(1)
    relay.commit()
    relay.pass(ms: 1000)
    #expect(relay.attempted == [1])
    relay.scheduler.clearingFailed(of: ClientNumber(rawValue: 1), now: relay.clock)
    relay.take()
    #expect(relay.attempted == [1, first])
    relay.deliverAll()
    #expect(relay.line.isEmpty)
  }

  @Test("an attempt that is only announced does not begin, and is cancelled if a pause holds it")
  func announced() {
    var relay = ManualRelay(policy: .clearing(.verify))
    relay.accept(lane: 1)
    let spared = clear(&relay, 1)
    #expect(spared.inFlight.isEmpty && spared.changing == [1])
    relay.scheduler.setPaused(true, .lane(LaneNumber(rawValue: 1)), now: relay.clock)
    relay.commit()
    #expect(relay.attempted.isEmpty && relay.uncommitted.count == 1)
    commit(&relay, 1, spared)
    relay.commit()
    #expect(relay.phase(of: 1) == .paused && !relay.line[0].isInDoubt)
    let again = clear(&relay, 1)
    #expect(again == SparedEnvelopes())
    commit(&relay, 1, again)
    #expect(relay.line.isEmpty && relay.attempted.isEmpty && relay.scheduler.inFlightCount == 0)
  }

  @Test("an attempt that is only announced begins after all if nothing was cancelled")
  func announcedAndFailed() {
    var relay = ManualRelay(policy: .clearing(.verify))
    relay.accept(lane: 1)
    _ = clear(&relay, 1)
    relay.commit()
    relay.commit()
    relay.scheduler.clearingFailed(of: ClientNumber(rawValue: 1), now: relay.clock)
    relay.take()
    relay.commit()
    #expect(relay.attempted == [1])
  }

  @Test("one in doubt that waits is cancelled, and not asked for any more")
  func inDoubt() {
    var relay = ManualRelay(policy: .clearing(.verify))
    relay.accept(count: 2, lane: 1)
    relay.commit()
    relay.fail(1, .timeout, isWritten: true)
    relay.commit()
    #expect(relay.line[0].isInDoubt)
    let spared = clear(&relay, 1)
    #expect(spared == SparedEnvelopes())
    commit(&relay, 1, spared)
    relay.pass(ms: 60_000)
    #expect(relay.line.isEmpty && relay.verified.isEmpty && relay.attempted == [1])
    #expect(relay.scheduler.waitingCount == 0)
  }

  @Test("one that the upstream is being asked about is left to what it says")
  func verifying() {
    var relay = ManualRelay(policy: .clearing(.verify))
    relay.accept(count: 2, lane: 1)
    relay.commit()
    relay.fail(1, .timeout, isWritten: true)
    relay.commit()
    relay.pass(ms: 8000)
    #expect(relay.verified == [1])
    let spared = clear(&relay, 1)
    #expect(spared.inFlight == [1])
    commit(&relay, 1, spared)
    relay.answer(1, status: 200)
    relay.commit()
    #expect(relay.line.isEmpty && relay.attempted == [1])
  }

  @Test("what was accepted since goes on")
  func since() {
    var relay = ManualRelay()
    let held = relay.makeEntry(lane: 1, standing: .held)
    relay.accept(held)
    let spared = clear(&relay, 1)
    let cancelled = relay.line
    relay.line = []
    let later = relay.accept(lane: 1)
    var backlog = ClearedBacklog(client: ClientNumber(rawValue: 1))
    for entry in cancelled where !spared.contains(entry.serial) {
      backlog.append(
        ClearedBacklog.Item(serial: entry.serial, lane: entry.lane, upstream: entry.upstream))
    }
    relay.scheduler.cleared(backlog, now: relay.clock)
    relay.take()
    #expect(relay.attempted == [later])
  }
}

extension UpstreamPolicy {
  fileprivate static func clearing(_ ambiguity: AmbiguityPolicy) -> UpstreamPolicy {
    var policy = manual
    policy.ambiguity = ambiguity
    return policy
  }
}
