import Testing

@testable import RelayCore

@Suite("Lanes that turn while a run waits for them")
struct RunTurnTests {
  private let client = ClientNumber(rawValue: 1)

  /// A relay whose client 1 has a held envelope, 1, with another one behind it.
  private func heldRelay() -> ManualRelay {
    var relay = ManualRelay()
    relay.accept(relay.makeEntry(lane: 1, standing: .held))
    relay.accept(lane: 1)
    return relay
  }

  /// A relay with one envelope that was answered 503, and that waits and is about to be replaced.
  private func relayWithReservedHead(
    latest: Set<LaneNumber> = []
  ) -> (relay: ManualRelay, serial: Serial) {
    var relay = ManualRelay()
    relay.latest = latest
    let serial = relay.accept(lane: 1)
    relay.answer(serial, status: 503)
    relay.commit()
    let isReserved = relay.reserve(serial)
    #expect(isReserved)
    return (relay, serial)
  }

  /// A filter that names each member, so that no hold keeps one from being run.
  private func naming(_ relay: ManualRelay) -> RunFilter { .ids(Set(relay.members().map(\.id))) }

  /// Takes the whole backlog of client 1 as the store would cancel it.
  private func backlog(of relay: inout ManualRelay) -> ClearedBacklog {
    let spared = relay.scheduler.reserveAll(of: client)
    var backlog = ClearedBacklog(client: client)
    for entry in relay.line where entry.client == client && !spared.contains(entry.serial) {
      backlog.append(
        ClearedBacklog.Item(serial: entry.serial, lane: entry.lane, upstream: entry.upstream))
    }
    return backlog
  }

  @Test("a held head that is about to be replaced is waited for, not asked for over and over")
  func reserved() {
    var relay = heldRelay()
    let isReserved = relay.reserve(1)
    #expect(isReserved)
    relay.run(naming(relay))
    #expect(relay.runs.takeOrders().isEmpty)
    #expect(relay.verdicts() == [1: .pending, 2: .pending])
    relay.release(1)
    relay.deliverAll()
    #expect(relay.verdicts() == [1: .delivered, 2: .delivered])
  }

  @Test("a head that waits and is replaced by one that is held is passed over as held")
  func replaced() {
    var (relay, serial) = relayWithReservedHead()
    relay.run()
    #expect(relay.verdicts() == [serial: .pending])
    relay.coalesce(serial, by: relay.draft(hold: true))
    #expect(relay.verdicts() == [serial: .skipped(.held)])
  }

  @Test("a head that waits, and would wait on were it not for the run, is let go once replaced")
  func replacedAlike() {
    var (relay, serial) = relayWithReservedHead()
    relay.run()
    relay.coalesce(serial, by: relay.draft())
    relay.deliverAll()
    #expect(relay.verdicts() == [serial: .delivered])
  }

  @Test("heads of a backlog that was not cancelled after all are let go")
  func clearingFailed() {
    var relay = heldRelay()
    _ = backlog(of: &relay)
    relay.run(naming(relay))
    #expect(relay.verdicts() == [1: .pending, 2: .pending])
    relay.scheduler.clearingFailed(of: client, now: relay.clock)
    relay.take()
    relay.deliverAll()
    #expect(relay.verdicts() == [1: .delivered, 2: .delivered])
  }

  @Test("what is cancelled with all else of its client is passed over as cancelled, each of it")
  func cleared() {
    var relay = heldRelay()
    let backlog = backlog(of: &relay)
    relay.run(naming(relay))
    relay.line = []
    relay.scheduler.cleared(backlog, now: relay.clock)
    relay.runs.cleared(backlog, in: &relay.scheduler, now: relay.clock)
    relay.take()
    #expect(relay.verdicts() == [1: .skipped(.cancelled), 2: .skipped(.cancelled)])
    #expect(relay.runs.takeSettled() == [1])
  }

  @Test("a newer one that goes before a head that waits leaves that one behind")
  func newest() {
    var (relay, serial) = relayWithReservedHead(latest: [LaneNumber(rawValue: 1)])
    relay.run()
    #expect(relay.verdicts() == [serial: .pending])
    relay.accept(lane: 1)
    #expect(relay.verdicts() == [serial: .skipped(.behind)])
  }

  @Test("an attempt that was called off in a pause is not waited for")
  func withdrawn() {
    var relay = ManualRelay()
    let serial = relay.accept(lane: 1)
    relay.run()
    relay.setPaused(true, .lane(LaneNumber(rawValue: 1)))
    #expect(relay.verdicts() == [serial: .pending])
    relay.withdraw(serial)
    #expect(relay.verdicts() == [serial: .skipped(.paused)])
  }
}
