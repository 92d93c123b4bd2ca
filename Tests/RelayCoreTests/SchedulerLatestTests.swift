@testable import RelayCore
import Testing

@Suite("Lanes that want the newest first")
struct SchedulerLatestTests {
  private static let lane = LaneNumber(rawValue: 1)

  private func relay(
    limits: Scheduler.Limits = .init(), policy: UpstreamPolicy = .manual,
    others: [UpstreamNumber: UpstreamPolicy] = [:]
  ) -> ManualRelay {
    var relay = ManualRelay(policy: policy, limits: limits, others: others)
    relay.latest = [Self.lane]
    return relay
  }

  @Test("a new envelope goes before all that wait, but not before one that is under way")
  func newestFirst() {
    var relay = relay()
    let positions = (0..<4).map { _ in relay.accept(relay.makeEntry(lane: 1)) }
    #expect(positions == [1, 2, 2, 2])
    relay.deliverAll()
    #expect(relay.attempted == [1, 4, 3, 2])
    #expect(relay.scheduler.lanes.isEmpty && relay.waiting == 0)
  }

  @Test("a head whose attempt failed stands back behind newer ones, in the order of the lane")
  func standsBack() {
    var relay = relay()
    relay.accept(count: 3, lane: 1)  // 1 is under way, and 3 and 2 stand behind it.
    relay.fail(1)
    relay.commit()
    #expect(relay.scheduler.position(of: 3, in: Self.lane) == 1)
    #expect(relay.scheduler.position(of: 1, in: Self.lane) == 3)
    relay.pass(ms: 60_000)
    relay.deliverAll()
    #expect(relay.attempted == [1, 3, 2, 1])
  }

  @Test("a head that stands alone in the window goes behind newer ones that only the line knows")
  func leavesToLine() {
    var relay = relay(limits: .init(windowEntriesMax: 2, laneWindowMin: 2))
    relay.accept(count: 3, lane: 1)  // 1 is under way, 3 is behind it, and 2 was left to the line.
    #expect(relay.scheduler.windowEntries == 2)
    #expect(relay.obey(.cancel(reason: "so"), of: relay.line[2]) == .recording)
    relay.commit()
    relay.fail(1)
    relay.commit()
    #expect(relay.scheduler.windowEntries == 0)
    relay.readLine()
    relay.pass(ms: 60_000)
    relay.deliverAll()
    #expect(relay.attempted == [1, 2, 1])
    #expect(relay.waiting == 0 && relay.scheduler.windowEntries == 0)
  }

  @Test("a new envelope waits as long as the one that failed before it")
  func takesOverBackoff() {
    var relay = relay()
    relay.accept(lane: 1)
    relay.answer(1, status: 429, retryAfter: "30")
    relay.commit()
    relay.accept(count: 50, lane: 1)
    relay.pass(ms: 29_999)
    #expect(relay.attempted == [1])
    relay.pass(ms: 1001)
    #expect(relay.attempted == [1, 51])
  }

  @Test("the wait outlasts the envelope that it was meant for, and grows from one to the next")
  func backoffOutlasts() {
    var relay = relay()
    relay.accept(relay.makeEntry(lane: 1, expiresInMs: 5000))
    relay.accept(lane: 1)
    relay.answer(1, status: 503, retryAfter: "30")
    relay.commit()
    relay.pass(ms: 5000)
    relay.expire(1)
    relay.commit()
    relay.accept(lane: 1)
    relay.pass(ms: 24_999)
    #expect(relay.attempted == [1])
    relay.pass(ms: 1001)
    #expect(relay.attempted == [1, 3])
    relay.answer(3, status: 503)
    #expect(relay.scheduler.lane(Self.lane)?.failuresInARow == 2)
  }

  @Test("many new envelopes during a wait make no more timers than one")
  func timers() {
    var relay = relay()
    relay.accept(lane: 1)
    relay.answer(1, status: 429, retryAfter: "30")
    relay.commit()
    let count = relay.scheduler.timers.count
    relay.accept(count: 1000, lane: 1)
    #expect(relay.scheduler.timers.count == count)
  }

  @Test("the wait is for the upstream that asked for it, and not for another one")
  func backoffIsTheUpstreams() {
    let other = UpstreamNumber(rawValue: 2)
    var relay = relay(others: [other: .manual])
    relay.accept(lane: 1)
    relay.answer(1, status: 429, retryAfter: "30")
    relay.commit()
    relay.accept(relay.makeEntry(lane: 1, upstream: other))
    #expect(relay.attempted == [1, 2])
    relay.answer(2)
    relay.commit()
    relay.accept(lane: 1)
    relay.pass(ms: 29_999)
    #expect(relay.attempted == [1, 2])
    relay.pass(ms: 1001)
    #expect(relay.attempted == [1, 2, 3])
  }

  @Test("a restart keeps the order and the wait, and no wait is longer than a failure's")
  func restart() {
    var relay = relay()
    relay.accept(lane: 1)
    relay.answer(1, status: 429, retryAfter: "30")
    relay.commit()
    relay.accept(count: 2, lane: 1)
    relay.restart()
    relay.pass(ms: 29_999)
    #expect(relay.attempted == [1])
    relay.pass(ms: 1001)
    relay.deliverAll()
    #expect(relay.attempted == [1, 3, 2, 1])
  }

  @Test("somebody who has put an attempted envelope off puts off no others by it")
  func putOff() {
    var relay = relay()
    relay.accept(lane: 1)
    relay.line[0].attempts = 1
    relay.line[0].dueAt = relay.clock.wall.adding(milliseconds: 86_400_000)
    relay.accept(lane: 1)
    relay.restart()
    relay.pass(ms: UpstreamPolicy.manual.retry.longestDelayMs)
    #expect(relay.attempted.last == 2)
  }

  @Test("one that blocks the lane stays its head, also over a restart, until it is resolved")
  func blocked() {
    var relay = relay()
    relay.accept(relay.makeEntry(lane: 1, onFailure: .block))
    relay.answer(1, status: 422)
    relay.commit()
    relay.accept(count: 2, lane: 1)
    #expect(relay.phase(of: 1) == .blocked && relay.attempted == [1])
    relay.restart()
    #expect(relay.phase(of: 1) == .blocked && relay.attempted == [1])
    relay.obey(.retry, of: relay.line[0])
    relay.commit()
    relay.deliverAll()
    #expect(relay.attempted == [1, 3, 2, 1])
  }

  @Test("one that is held stands, and newer ones go before it")
  func held() {
    var relay = relay()
    relay.accept(lane: 1)
    relay.answer(1, status: 503)
    relay.commit()
    relay.accept(relay.makeEntry(lane: 1, standing: .held))
    relay.pass(ms: 60_000)
    #expect(relay.phase(of: 1) == .held && relay.attempted == [1])
    relay.accept(lane: 1)
    #expect(relay.attempted == [1, 3])
    relay.answer(3)
    relay.commit()
    #expect(relay.phase(of: 1) == .held)
    relay.obey(.run, of: relay.line[1])
    relay.commit()
    relay.deliverAll()
    #expect(relay.attempted == [1, 3, 2, 1])
  }

  @Test("an upstream that is back is tried with the newest, at that one's own time at the soonest")
  func upstreamIsBack() {
    var relay = relay(policy: .manual.concurrency(8))
    for lane in 1...3 { relay.accept(lane: Int64(lane)) }
    for serial in 1...3 { relay.fail(Serial(serial)) }
    relay.commit()
    relay.accept(relay.makeEntry(lane: 1, dueInMs: 40_000))
    relay.pass(ms: 20_000)
    while let other = relay.inFlight.first(where: { $0.lane != Self.lane }) {
      relay.answer(other.serial)
      relay.commit()
    }
    #expect(!relay.attempted.contains(4))
    relay.accept(lane: 1)
    #expect(relay.attempted.last == 5)
  }

  @Test("what was requeued stands where its number puts it")
  func requeued() {
    var relay = relay(policy: .manual.concurrency(1))
    let failed = (0..<2).map { _ in relay.makeEntry(lane: 1) }
    relay.accept(lane: 2)  // Takes the slot.
    relay.accept(count: 2, lane: 1)
    relay.obey(.requeue(into: .latest), of: failed[1])
    relay.commit()
    relay.accept(lane: 1)
    relay.deliverAll()
    #expect(relay.attempted == [3, 6, 5, 4, 2])
    relay.obey(.requeue(into: .latest), of: failed[0])
    relay.commit()
    relay.accept(lane: 1)
    relay.deliverAll()
    #expect(relay.attempted.suffix(2) == [1, 7])
  }

  @Test(
    "ten thousand envelopes go newest first through windows of forty, beside strict lanes",
    arguments: [1, 7, 100])
  func tinyWindows(lanes: Int64) {
    var relay = ManualRelay(
      policy: .manual.concurrency(1), limits: .init(windowEntriesMax: 40, laneWindowMin: 2))
    relay.latest = Set((0..<lanes).filter { $0 % 2 == 0 }.map(LaneNumber.init))
    for number in 0..<10_000 { relay.accept(lane: Int64(number) % lanes) }
    #expect(relay.scheduler.windowEntries <= 40 + 2 * Int(lanes))
    relay.deliverAll()
    #expect(relay.line.isEmpty && relay.waiting == 0 && relay.scheduler.lanes.isEmpty)
    #expect(relay.attempted.count == 10_000)
    for (lane, serials) in Dictionary(grouping: relay.attempted, by: { ($0 - 1) % lanes }) {
      // The first came into an empty lane, and was attempted, or stood first, before the others.
      let rest = Array(lane == 0 ? serials.dropFirst() : serials[...])
      let isLatest = relay.latest.contains(LaneNumber(rawValue: lane))
      #expect(isLatest ? rest == rest.sorted(by: >) : serials == serials.sorted())
    }
  }

  @Test("while a lane is being filled from the line, what comes in goes first all the same")
  func duringTheWalk() {
    var relay = relay(limits: .init(windowEntriesMax: 2, laneWindowMin: 2))
    relay.accept(count: 8, lane: 1)
    for serial in [1, 8] as [Serial] {
      relay.answer(serial)
      relay.commit()
    }
    while relay.linesAskedForBackwards.isEmpty {
      relay.answer(relay.inFlight[0].serial)
      relay.commit()
    }
    let left = relay.line.map(\.serial)
    let page = relay.page(before: relay.linesAskedForBackwards[0], countMax: 2)
    #expect(page.entries.map(\.serial) == left.suffix(2).reversed())
    relay.accept(lane: 1)
    #expect(relay.attempted.last == 9)
    relay.refillBackwards(page)
    relay.deliverAll()
    #expect(relay.attempted.suffix(left.count + 1) == [9] + left.reversed())
  }

  @Test("a head that stands back behind the window is left to a walk along the line")
  func standsBackBehindWindow() {
    var relay = relay(limits: .init(windowEntriesMax: 2, laneWindowMin: 2))
    relay.accept(count: 9, lane: 1)
    relay.fail(1)
    relay.commit()
    #expect(relay.scheduler.windowEntries == 1)
    relay.pass(ms: 60_000)
    relay.deliverAll()
    #expect(relay.attempted == [1] + (1...9).reversed())
    #expect(relay.scheduler.lanes.isEmpty && relay.waiting == 0)
  }

  @Test("a head that ends while a page is on its way, which shows it still, does not come back")
  func endsDuringTheWalk() {
    var relay = relay(limits: .init(windowEntriesMax: 2, laneWindowMin: 2))
    relay.latest.insert(LaneNumber(rawValue: 2))
    relay.accept(count: 3, lane: 1)  // 1 is under way, 3 is behind it, and 2 was left to the line.
    relay.obey(.cancel(reason: "so"), of: relay.line[1])
    relay.commit()
    relay.accept(count: 4, lane: 2)  // A lane that will want a walk along the line.
    for serial in [4, 7] as [Serial] {
      relay.answer(serial)
      relay.commit()
    }
    let page = relay.page(before: relay.linesAskedForBackwards[0], countMax: 10)
    #expect(page.entries.map(\.serial) == [6, 5, 3, 1])
    relay.answer(1)
    relay.commit()
    relay.refillBackwards(page)
    relay.deliverAll()
    #expect(relay.attempted.filter { $0 == 1 }.count == 1)
    #expect(relay.scheduler.lanes.isEmpty && relay.waiting == 0)
  }

  @Test("paused, such a lane stands, and goes on with the newest")
  func paused() {
    var relay = relay()
    relay.scheduler.setPaused(true, .lane(Self.lane), now: relay.clock)
    relay.accept(count: 3, lane: 1)
    #expect(relay.phase(of: 1) == .paused && relay.attempted.isEmpty)
    relay.scheduler.setPaused(false, .lane(Self.lane), now: relay.clock)
    relay.take()
    relay.deliverAll()
    #expect(relay.attempted == [3, 2, 1])
  }
}
