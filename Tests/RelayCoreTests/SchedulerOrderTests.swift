@testable import RelayCore
import Testing

@Suite("Order within a lane")
struct SchedulerOrderTests {
  @Test("an attempt tells of an error exactly if it did not deliver", arguments: [200, 404, 503])
  func errorOfAnAttempt(status: Int) {
    var relay = ManualRelay()
    relay.accept(lane: 1)
    relay.answer(1, status: status)
    let errors = relay.uncommitted.map { $0.attempt?.error }
    #expect(errors == [status == 200 ? nil : "the upstream answered \(status)"])
  }

  @Test("one attempt of a lane is in flight, and the next begins once the first's end is stored")
  func oneInFlight() {
    var relay = ManualRelay()
    relay.accept(count: 3, lane: 1)
    #expect(relay.attempted == [1])
    relay.answer(1)
    #expect(relay.attempted == [1])
    relay.commit()
    #expect(relay.attempted == [1, 2])
  }

  @Test("a position counts everything that waits in the lane, the envelope itself included")
  func positions() {
    var relay = ManualRelay(limits: .init(windowEntriesMax: 1, laneWindowMin: 1))
    let positions = (0..<3).map { _ in relay.accept(relay.makeEntry(lane: 1)) }
    #expect(positions == [1, 2, 3])
    #expect(relay.accept(relay.makeEntry(lane: 2)) == 1)
    #expect(relay.scheduler.position(of: 1, in: LaneNumber(rawValue: 1)) == 1)
  }

  @Test("a blocked lane stands while others go on")
  func blockedLane() {
    var relay = ManualRelay()
    relay.accept(relay.makeEntry(lane: 1, onFailure: .block))
    relay.accept(relay.makeEntry(lane: 1))
    relay.accept(lane: 2)
    relay.answer(1, status: 422)
    relay.answer(3)
    relay.commit()
    relay.accept(lane: 2)
    #expect(relay.attempted == [1, 3, 4])
    #expect(relay.phase(of: 1) == .blocked)
    #expect(relay.scheduler.blockedLanes(countMax: 9).map(\.head.serial) == [1])
  }

  @Test("under the policy skip, a refused envelope fails and its lane goes on")
  func skips() {
    var relay = ManualRelay()
    relay.accept(count: 2, lane: 1)
    relay.answer(1, status: 404)
    #expect(relay.uncommitted.first?.change == .end(.failed, reason: "the upstream answered 404"))
    relay.commit()
    #expect(relay.attempted == [1, 2])
  }

  @Test("a held envelope keeps its place, and those behind it wait")
  func held() {
    var relay = ManualRelay()
    relay.accept(relay.makeEntry(lane: 1, standing: .held))
    relay.accept(lane: 1)
    relay.pass(ms: 1_000_000)
    #expect(relay.attempted.isEmpty)
    #expect(relay.phase(of: 1) == .held)
  }

  @Test("an envelope that waits for its time keeps its place, and those behind it wait")
  func notBefore() {
    var relay = ManualRelay()
    relay.accept(relay.makeEntry(lane: 1, dueInMs: 5000))
    relay.accept(lane: 1)
    relay.pass(ms: 4999)
    #expect(relay.attempted.isEmpty)
    relay.pass(ms: 1)
    #expect(relay.attempted == [1])
    relay.deliverAll()
    #expect(relay.attempted == [1, 2])
  }

  @Test("envelopes for an upstream that is not configured wait, and nothing else does")
  func unconfigured() {
    var relay = ManualRelay()
    relay.accept(relay.makeEntry(lane: 1, upstream: UpstreamNumber(rawValue: 9)))
    relay.accept(lane: 2)
    relay.pass(ms: 100_000)
    #expect(relay.attempted == [2])
    #expect(relay.phase(of: 1) == .unconfigured)
  }

  @Test("what waits for an upstream that is not configured is shown before its time as well")
  func unconfiguredBeforeItsTime() {
    var relay = ManualRelay()
    let absent = UpstreamNumber(rawValue: 9)
    relay.accept(relay.makeEntry(lane: 1, upstream: absent))
    relay.accept(relay.makeEntry(lane: 2, upstream: absent, dueInMs: 5000))
    relay.accept(lane: 3)
    let views = relay.scheduler.unconfiguredViews()
    #expect(views.count == 1)
    #expect(views[absent]?.waiting == 2)
  }

  @Test("what waits for one that is not configured is counted wherever it stands in its lane")
  func unconfiguredBehind() {
    var relay = ManualRelay()
    let (absent, other) = (UpstreamNumber(rawValue: 9), UpstreamNumber(rawValue: 8))
    relay.accept(relay.makeEntry(lane: 1, upstream: absent))
    relay.accept(relay.makeEntry(lane: 1, upstream: other))
    relay.accept(lane: 2)
    relay.accept(relay.makeEntry(lane: 2, upstream: other))
    let views = relay.scheduler.unconfiguredViews()
    #expect(views.mapValues(\.waiting) == [absent: 1, other: 2])
    #expect(views[absent]?.oldestWaitingAt != nil && views[other]?.oldestWaitingAt == nil)
  }

  @Test("ten thousand envelopes go in order through windows of forty", arguments: [1, 7, 100])
  func tinyWindows(lanes: Int64) {
    var relay = ManualRelay(limits: .init(windowEntriesMax: 40, laneWindowMin: 2))
    for number in 0..<10_000 { relay.accept(lane: Int64(number) % lanes) }
    relay.deliverAll()
    #expect(relay.line.isEmpty && relay.waiting == 0 && relay.scheduler.lanes.isEmpty)
    let byLane = Dictionary(grouping: relay.attempted) { ($0 - 1) % lanes }
    #expect(relay.attempted.count == 10_000)
    #expect(byLane.values.allSatisfy { $0 == $0.sorted() })
  }

  @Test("a lane that came up behind a walk along the line takes nothing out of turn from it")
  func laneBehindTheWalk() {
    var relay = ManualRelay(limits: .init(windowEntriesMax: 1, laneWindowMin: 1))
    relay.accept(count: 3, lane: 1)
    relay.answer(1)
    relay.commit()  // Lane 1 is empty: the line is asked for.
    let news = (0..<3).map { _ in relay.makeEntry(lane: 2) }
    relay.line += news
    // The page shows what was committed and has not been told yet.
    let first = relay.page(after: 1, countMax: 4)
    #expect(first.entries.map(\.serial) == [2, 3, 4, 5] && first.hasMore)
    relay.refill(first)
    for entry in news { _ = relay.scheduler.accepted(entry, now: relay.clock) }
    relay.take()
    relay.answer(4)
    relay.commit()  // Lane 2 has room again when the walk comes to its third envelope.
    relay.readLine()
    relay.deliverAll()
    let ofLane2 = relay.attempted.filter { $0 >= 4 }
    #expect(ofLane2 == [4, 5, 6])
  }

  @Test("a restart keeps order, attempts and waits")
  func restart() {
    var relay = ManualRelay()
    relay.accept(count: 2, lane: 1)
    relay.answer(1, status: 503, retryAfter: "30")
    relay.commit()
    relay.restart()
    relay.pass(ms: 29_999)
    #expect(relay.attempted == [1])
    relay.pass(ms: 1001)
    #expect(relay.attempted == [1, 1])
    #expect(relay.inFlight.first?.attempts == 1)
    relay.answer(1)
    #expect(relay.uncommitted.first?.attempt?.number == 2)
    relay.deliverAll()
    #expect(relay.attempted == [1, 1, 2])
  }

  @Test("an attempt that is withdrawn leaves the envelope and its attempts as they were")
  func withdrawn() {
    var relay = ManualRelay()
    relay.accept(count: 2, lane: 1)
    relay.scheduler.stop()
    relay.withdraw(1)
    #expect(relay.uncommitted.isEmpty && relay.attempted == [1])
    #expect(relay.scheduler.inFlightCount == 0)
    #expect(relay.scheduler.lane(LaneNumber(rawValue: 1))?.head?.attempts == 0)
    relay.restart()
    #expect(relay.attempted == [1, 1])
  }

  @Test("an envelope that has vanished is counted out, and its lane goes on")
  func vanished() {
    var relay = ManualRelay()
    relay.accept(count: 2, lane: 1)
    relay.vanish(1)
    #expect(relay.attempted == [1, 2])
    #expect(relay.waiting == 1)
    #expect(relay.scheduler.waiting(of: ClientNumber(rawValue: 1)) == 1)
    relay.deliverAll()
    #expect(relay.scheduler.lanes.isEmpty && relay.waiting == 0)
  }

  @Test("a line that could not be read is left alone for a moment, however many lanes run empty")
  func unreadable() {
    var relay = ManualRelay(
      policy: .manual.concurrency(8), limits: .init(windowEntriesMax: 1, laneWindowMin: 1))
    for lane in 1...3 { relay.accept(count: 3, lane: Int64(lane)) }
    relay.answer(1)
    relay.commit()
    #expect(relay.linesAskedFor.count == 1)
    relay.failToRead()
    relay.answer(4)
    relay.answer(7)
    relay.commit()
    #expect(relay.linesAskedFor.isEmpty)
    relay.retryReading()
    #expect(relay.linesAskedFor.count == 1)
    relay.deliverAll()
    #expect(Set(relay.attempted) == Set(1...9) && relay.line.isEmpty)
  }

  @Test("a relay that ends does not ask to be woken")
  func stopped() {
    var relay = ManualRelay(policy: .manual.concurrency(8))
    for lane in 1...4 { relay.accept(lane: Int64(lane)) }
    for serial in 1...3 { relay.fail(Serial(serial)) }
    relay.commit()
    #expect(relay.scheduler.nextWake != nil)
    relay.scheduler.stop()
    #expect(relay.scheduler.nextWake == nil)
  }

  @Test("what is requeued before a blocked head goes behind one that was requeued before it")
  func requeuedBeforeBlocked() {
    var relay = ManualRelay()
    let ended = [relay.makeEntry(lane: 1), relay.makeEntry(lane: 1)]
    let head = relay.makeEntry(lane: 1, onFailure: .block)
    relay.accept(head)
    // While the head is under way it stays the head.
    relay.obey(.requeue(into: .strict), of: ended[0])
    relay.commit()
    relay.answer(head.serial, status: 422)
    relay.commit()
    #expect(relay.phase(of: 1) == .blocked)
    relay.obey(.requeue(into: .strict), of: ended[1])
    relay.commit()
    #expect(relay.attempted == [head.serial])
    relay.obey(.discard(reason: "so"), of: head)
    relay.commit()
    relay.deliverAll()
    #expect(relay.attempted == [head.serial, ended[0].serial, ended[1].serial])
  }
}
