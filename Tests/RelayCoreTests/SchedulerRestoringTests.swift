@testable import RelayCore
import Testing

@Suite("Taking up a line of which the end is counted")
struct SchedulerRestoringTests {
  private static let limits = Scheduler.Limits(windowEntriesMax: 40, laneWindowMin: 2)

  @Test("whether it is read or counted, all of it is delivered, each lane in its order")
  func order() {
    for shown in [0, 1, 40, 500, 1000] {
      var relay = ManualRelay(policy: .manual.concurrency(1), limits: Self.limits)
      relay.latest = Set([3, 5].map(LaneNumber.init))
      for number in 0..<1000 { relay.line.append(relay.makeEntry(lane: 1 + Int64(number) % 7)) }
      relay.restart(policy: .manual.concurrency(1), limits: Self.limits, shown: shown)
      #expect(relay.waiting == 1000)
      for lane in relay.scheduler.lanes.values {
        #expect((142...143).contains(lane.waiting) && lane.head != nil)
      }
      relay.deliverAll()
      #expect(relay.attempted.count == 1000 && relay.scheduler.lanes.isEmpty)
      #expect(relay.scheduler.windowEntries == 0 && relay.waiting == 0)
      for (lane, serials) in Dictionary(grouping: relay.attempted, by: { 1 + ($0 - 1) % 7 }) {
        let isLatest = relay.latest.contains(LaneNumber(rawValue: lane))
        #expect(serials == (isLatest ? serials.sorted(by: >) : serials.sorted()))
      }
    }
  }

  @Test("every lane stands where it stood before anything may be attempted")
  func beforeSettingOff() {
    var relay = ManualRelay()
    relay.line.append(relay.makeEntry(lane: 1))
    relay.line.append(relay.makeEntry(lane: 2))
    relay.line[1].standing = .blocked
    relay.restart(setsOff: false)
    #expect(Array(relay.scheduler.blocked) == [LaneNumber(rawValue: 2)])
    #expect(relay.attempted.isEmpty)
    #expect(relay.scheduler.nextWake == nil)
    relay.accept(lane: 3)
    #expect(relay.attempted.isEmpty)
    relay.scheduler.setOff(now: relay.clock)
    relay.take()
    #expect(Set(relay.attempted) == [1, 3])
  }

  @Test("a lane that is counted alone has its head at once, and only those are asked for")
  func heads() {
    var relay = ManualRelay(limits: Self.limits)
    relay.latest = [LaneNumber(rawValue: 3)]
    let entries = [1, 1, 2, 1, 2, 3, 3].map { relay.makeEntry(lane: $0) }
    let summary = LineSummary(of: entries.dropFirst(2))
    relay.scheduler.restore(
      LinePage(entries: Array(entries.prefix(2)), scannedThrough: 2, hasMore: true))
    #expect(relay.scheduler.headsWanted(of: summary, latest: relay.latest).sorted() == [3, 7])
  }

  @Test("a lane whose head could not be had is filled by a walk along the line")
  func withoutHeads() {
    var relay = ManualRelay(limits: Self.limits)
    for number in 0..<90 { relay.line.append(relay.makeEntry(lane: 1 + Int64(number) % 3)) }
    relay.latest = [LaneNumber(rawValue: 2)]
    relay.scheduler.restore(LineSummary(of: relay.line), heads: [], latest: relay.latest)
    relay.scheduler.restored(now: relay.clock)
    relay.take()
    #expect(relay.waiting == 90 && relay.attempted.isEmpty)
    relay.deliverAll()
    #expect(relay.attempted.count == 90 && relay.waiting == 0)
    for lane in 0..<3 {
      let own = relay.attempted.filter { ($0 - 1) % 3 == lane }
      #expect(own == (lane == 1 ? own.sorted(by: >) : own.sorted()))
    }
  }

  @Test("one that blocks its lane stays the head, wherever in the line it stands", arguments: 0...4)
  func blocked(shown: Int) {
    for isLatest in [false, true] {
      var relay = ManualRelay(limits: Self.limits)
      relay.latest = isLatest ? [LaneNumber(rawValue: 1)] : []
      relay.line = (0..<4).map { _ in relay.makeEntry(lane: 1) }
      let place = isLatest ? 1 : 0
      relay.line[place].standing = .blocked
      relay.restart(limits: Self.limits, shown: shown)
      #expect(relay.phase(of: 1) == .blocked && relay.attempted.isEmpty)
      #expect(relay.scheduler.blockedLanes(countMax: 9).map(\.head) == [relay.line[place]])
      relay.obey(.retry, of: relay.line[place])
      relay.commit()
      relay.deliverAll()
      #expect(relay.attempted == (isLatest ? [4, 3, 2, 1] : [1, 2, 3, 4]))
    }
  }

  @Test("a wait after a failure holds for newer ones of a lane that wants the newest first")
  func backoff() {
    for shown in 0...3 {
      var relay = ManualRelay(limits: Self.limits)
      relay.latest = [LaneNumber(rawValue: 1)]
      relay.line = (0..<3).map { _ in relay.makeEntry(lane: 1) }
      relay.line[0].attempts = 1
      relay.line[0].dueAt = relay.clock.wall.adding(milliseconds: 20_000)
      relay.restart(limits: Self.limits, shown: shown)
      relay.pass(ms: 19_999)
      #expect(relay.attempted.isEmpty)
      relay.pass(ms: 1)
      #expect(relay.attempted == [3])
    }
  }

  @Test("what is parked is counted, and its lane goes on once something stands in it")
  func parked() {
    for shown in 0...4 {
      var relay = ManualRelay(limits: Self.limits)
      relay.line = [
        relay.makeEntry(lane: 1, standing: .parked), relay.makeEntry(lane: 2, standing: .parked),
        relay.makeEntry(lane: 1), relay.makeEntry(lane: 1, standing: .parked),
      ]
      relay.restart(limits: Self.limits, shown: shown)
      #expect(relay.waiting == 4 && relay.scheduler.lane(LaneNumber(rawValue: 1))?.parked == 2)
      #expect(relay.phase(of: 2) == .parked && relay.attempted == [3])
      relay.deliverAll()
      #expect(relay.phase(of: 1) == .parked && relay.waiting == 3)
      relay.accept(lane: 2)
      #expect(relay.attempted == [3, 5])
    }
  }
}
