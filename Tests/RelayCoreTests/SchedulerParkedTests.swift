@testable import RelayCore
import Testing

@Suite("Envelopes that wait for sequence numbers")
struct SchedulerParkedTests {
  /// A lane of which the second envelope is parked.
  private func relayWithParked(
    expiresInMs: Int64 = 604_800_000
  ) -> (relay: ManualRelay, parked: LineEntry) {
    var relay = ManualRelay()
    relay.accept(relay.makeEntry(lane: 1, standing: .held))
    let parked = relay.makeEntry(lane: 1, expiresInMs: expiresInMs, standing: .parked)
    #expect(relay.accept(parked) == 0)
    return (relay, parked)
  }

  @Test("what is parked is counted and never attempted, and what comes later passes it")
  func isPassed() {
    var relay = ManualRelay()
    relay.accept(relay.makeEntry(lane: 1, standing: .parked))
    #expect(relay.phase(of: 1) == .parked && relay.waiting == 1)
    #expect(relay.accept(relay.makeEntry(lane: 1)) == 1)
    relay.deliverAll()
    #expect(relay.attempted == [2])
    #expect(relay.phase(of: 1) == .parked && relay.scheduler.waitingCount == 1)
    relay.restart()
    #expect(relay.phase(of: 1) == .parked && relay.scheduler.waitingCount == 1)
    #expect(relay.attempted == [2])
  }

  @Test("one that has moved takes its turn at the end of its lane, and is counted once")
  func moves() {
    var (relay, parked) = relayWithParked()
    relay.accept(lane: 1)
    #expect(relay.place(parked.serial) == 3)
    #expect(relay.scheduler.waiting(of: parked.client) == 3 && relay.waiting == 3)
    #expect(relay.scheduler.lane(parked.lane)?.parked == 0)
    relay.obey(.run, of: relay.line[0])
    relay.commit()
    relay.deliverAll()
    #expect(relay.attempted == [1, 3, 4])
    #expect(relay.scheduler.waitingCount == 0 && relay.phase(of: 1) == nil)
  }

  @Test("one that moves into a lane in which nothing stands is attempted at once")
  func movesIntoEmptyLane() {
    var relay = ManualRelay()
    let parked = relay.makeEntry(lane: 1, standing: .parked)
    relay.accept(parked)
    relay.accept(relay.makeEntry(lane: 1))
    relay.deliverAll()
    #expect(relay.place(parked.serial) == 1)
    relay.deliverAll()
    #expect(relay.attempted == [2, 3])
    #expect(relay.scheduler.waitingCount == 0)
  }

  @Test("a walk along the line passes over what is parked, and forgets no lane for it")
  func walk() {
    var relay = ManualRelay(limits: .init(windowEntriesMax: 1, laneWindowMin: 1))
    relay.accept(relay.makeEntry(lane: 1, standing: .parked))
    relay.accept(count: 3, lane: 1)
    relay.deliverAll()
    #expect(relay.attempted == [2, 3, 4])
    #expect(relay.phase(of: 1) == .parked && relay.scheduler.waitingCount == 1)
    relay.place(1)
    relay.deliverAll()
    #expect(relay.attempted == [2, 3, 4, 5])
  }

  @Test("one that is parked can be cancelled and corrected, and not be run or resolved")
  func commands() {
    var (relay, parked) = relayWithParked()
    #expect(relay.obey(.run, of: parked) == .parked)
    #expect(relay.obey(.retry, of: parked) == .notBlocked)
    #expect(relay.obey(.discard(reason: "x"), of: parked) == .notBlocked)
    let content = EnvelopeContent(
      method: "POST", target: [0x2F], headers: HeaderBlock(), body: .inline([]))
    let edit = EnvelopeEdit(content: content, tag: nil, entry: parked, notBefore: nil, hold: true)
    #expect(relay.obey(.edit(edit), of: parked) == .recording)
    #expect(relay.obey(.cancel(reason: "x"), of: parked) == .busy)
    relay.commit()
    #expect(relay.obey(.cancel(reason: "x"), of: parked) == .recording)
    #expect(relay.waiting == 2)
    relay.commit()
    #expect(relay.waiting == 1 && relay.scheduler.lane(parked.lane)?.parked == 0)
    #expect(relay.obey(.cancel(reason: "x"), of: parked) == .gone)
  }

  @Test("a change that was on its way while its envelope moved is moot, and stops nothing")
  func changeWhileMoving() {
    var relay = ManualRelay()
    let parked = relay.makeEntry(lane: 1, standing: .parked)
    relay.accept(parked)
    #expect(relay.obey(.cancel(reason: "x"), of: parked) == .recording)
    relay.place(parked.serial)
    #expect(relay.attempted == [2])
    relay.commit()
    #expect(relay.waiting == 1 && relay.scheduler.changingCount == 0)
    relay.deliverAll()
    #expect(relay.scheduler.waitingCount == 0 && relay.attempted == [2])
  }

  @Test("one that is parked expires, and the lane is forgotten with the last one")
  func expires() {
    var relay = ManualRelay()
    relay.accept(relay.makeEntry(lane: 1, expiresInMs: 1000, standing: .parked))
    relay.expire(1)
    #expect(relay.uncommitted.isEmpty)
    relay.pass(ms: 1000)
    relay.expire(1)
    relay.expire(1)
    #expect(relay.uncommitted.count == 1)
    relay.commit()
    #expect(relay.phase(of: 1) == nil && relay.scheduler.waitingCount == 0)
  }

  @Test("one that is put back in line where only parked ones are is attempted")
  func requeued() {
    var relay = ManualRelay()
    let ended = relay.makeEntry(lane: 1)
    relay.accept(relay.makeEntry(lane: 1, standing: .parked))
    #expect(relay.obey(.requeue(into: .strict), of: ended) == .recording)
    relay.commit()
    #expect(relay.attempted == [1])
    relay.accept(relay.makeEntry(lane: 1))
    relay.deliverAll()
    #expect(relay.attempted == [1, 3])
    #expect(relay.scheduler.waitingCount == 1)
  }

  @Test("since when a lane waits is the acceptance of the oldest that is parked, after a start too")
  func since() {
    var relay = ManualRelay()
    #expect(relay.scheduler.survey().parkedLanes.count == 0)
    let first = relay.makeEntry(lane: 1, standing: .parked)
    relay.accept(first)
    relay.clock.wall = relay.clock.wall.adding(milliseconds: 120_000)
    let second = relay.makeEntry(lane: 1, standing: .parked)
    relay.accept(second)
    relay.accept(relay.makeEntry(lane: 2, standing: .parked))
    let parked = relay.scheduler.survey().parkedLanes
    #expect(parked.count == 2 && parked.earliest == first.acceptedAt)
    #expect(parked.count(through: first.acceptedAt) == 1)
    relay.restart()
    #expect(relay.scheduler.survey().parkedLanes == parked)
    relay.place(first.serial)
    #expect(relay.scheduler.survey().parkedLanes.earliest == second.acceptedAt)
    relay.obey(.cancel(reason: "x"), of: second)
    relay.commit()
    #expect(relay.scheduler.survey().parkedLanes.count == 1)
  }
}
