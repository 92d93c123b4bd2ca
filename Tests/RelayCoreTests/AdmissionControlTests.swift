import Testing

@testable import RelayCore

@Suite("Admission")
struct AdmissionControlTests {
  /// What came of a load on a store that takes so many posts a second.
  private struct Outcome {
    var offered = 0
    var accepted = 0
    var refused = 0
    var delaysMs: [Int64] = []
    var waitingMax = 0

    var p99: Int64 { delaysMs.sorted()[max(0, delaysMs.count * 99 / 100 - 1)] }
  }

  /// A store that commits in groups: whatever waits when a commit begins is in it, up to 1024.
  private struct World {
    var control = AdmissionControl(AdmissionLimits(delayMsMax: 1000))
    var random = SplitMix64(seed: 7)
    var queue: [(ticket: AdmissionControl.Ticket, at: Int64)] = []
    var now: Int64 = 0
    var budget = 0.0

    /// Goes on in steps of a millisecond; posts come in at random.
    mutating func run(ms: Int64, offered: Double, capacity: Double) -> Outcome {
      var outcome = Outcome()
      for _ in 0..<ms {
        now += 1
        let at = MonotonicTime(nanoseconds: now * 1_000_000)
        let share = Double(random.next() % 2000) / 1000
        for _ in 0..<Int((offered * share / 1000).rounded()) {
          outcome.offered += 1
          if control.refusal(at: at) == nil {
            queue.append((control.begin(at: at), now))
          } else {
            outcome.refused += 1
          }
        }
        outcome.waitingMax = max(outcome.waitingMax, control.waitingCount)
        budget = min(budget + capacity / 1000, 1024)
        // A commit each 10 ms, as large as the store's speed allows.
        guard now % 10 == 0 else { continue }
        let count = min(queue.count, Int(budget))
        for post in queue.prefix(count) {
          control.end(post.ticket, at: at)
          outcome.delaysMs.append(now - post.at)
        }
        outcome.accepted += count
        budget -= Double(count)
        queue.removeFirst(count)
      }
      return outcome
    }
  }

  @Test("below what the store takes nothing is refused")
  func belowCapacity() {
    var world = World()
    let outcome = world.run(ms: 10_000, offered: 9000, capacity: 10_000)
    #expect(outcome.refused == 0)
    #expect(outcome.p99 < 100)
  }

  @Test("at twice that it goes on taking nearly as much, in time, and refuses the rest")
  func twiceCapacity() {
    var world = World()
    let before = world.run(ms: 5000, offered: 8000, capacity: 10_000)
    let outcome = world.run(ms: 20_000, offered: 20_000, capacity: 10_000)
    #expect(outcome.p99 < 1000, "p99 \(outcome.p99) ms")
    #expect(Double(outcome.accepted) > 0.95 * 10_000 * 20, "accepted \(outcome.accepted)")
    #expect(outcome.refused > outcome.offered * 2 / 5)
    #expect(outcome.waitingMax < 16_384)
    let after = world.run(ms: 5000, offered: 8000, capacity: 10_000)
    let settled = world.run(ms: 5000, offered: 8000, capacity: 10_000)
    #expect(after.p99 < 1000)
    #expect(settled.refused == 0 && settled.p99 <= before.p99 * 2)
  }

  @Test("a burst that is worked off in time is taken whole")
  func burst() {
    var world = World()
    let outcome = world.run(ms: 200, offered: 20_000, capacity: 10_000)
    #expect(outcome.refused == 0)
    _ = world.run(ms: 1000, offered: 100, capacity: 10_000)
    #expect(world.queue.isEmpty)
  }

  @Test("where the store stands still, only so many wait")
  func stall() {
    var world = World()
    _ = world.run(ms: 1000, offered: 1000, capacity: 10_000)
    let stalled = world.run(ms: 20_000, offered: 1000, capacity: 0)
    // What comes until it shows, and no more.
    #expect(stalled.waitingMax < 1000, "\(stalled.waitingMax)")
    #expect(stalled.refused > 18_000)
    _ = world.run(ms: 1000, offered: 1000, capacity: 10_000)
    let after = world.run(ms: 2000, offered: 1000, capacity: 10_000)
    #expect(after.refused == 0 && after.p99 < 100)
  }

  @Test("a handful is let in however slow the disk is")
  func handful() {
    var control = AdmissionControl()
    var now: Int64 = 0
    for _ in 0..<63 {
      _ = control.begin(at: MonotonicTime(nanoseconds: now))
      now += 1_000_000_000
      #expect(control.refusal(at: MonotonicTime(nanoseconds: now)) == nil)
    }
    _ = control.begin(at: MonotonicTime(nanoseconds: now))
    #expect(control.refusal(at: MonotonicTime(nanoseconds: now)) == .slowStore)
  }

  @Test("as many wait as may, and no more")
  func limit() {
    var limits = AdmissionLimits()
    limits.countMax = 3
    var control = AdmissionControl(limits)
    let now = MonotonicTime(nanoseconds: 0)
    var tickets: [AdmissionControl.Ticket] = []
    for _ in 0..<3 {
      #expect(control.refusal(at: now) == nil)
      tickets.append(control.begin(at: now))
    }
    #expect(control.refusal(at: now) == .tooMany)
    control.end(tickets[1], at: now)
    #expect(control.refusal(at: now) == nil)
  }

  @Test("a queue that has been empty is allowed a burst again", arguments: [true, false])
  func emptied(wasEmpty: Bool) {
    let limits = AdmissionLimits(delayMsMax: 1000)
    var control = AdmissionControl(limits)
    let at = { (ms: Int64) in MonotonicTime(nanoseconds: ms * 1_000_000) }
    let first = control.begin(at: at(0))
    if !wasEmpty { _ = control.begin(at: at(390)) }
    // It has waited longer than one of a standing queue may.
    control.end(first, at: at(400))
    for _ in 0..<limits.freeCount { _ = control.begin(at: at(400)) }
    #expect(control.refusal(at: at(700)) == (wasEmpty ? nil : .slowStore))
  }

  @Test("posts may end in any order")
  func anyOrder() {
    var control = AdmissionControl()
    let at = { (ms: Int64) in MonotonicTime(nanoseconds: ms * 1_000_000) }
    let tickets = (0..<10).map { control.begin(at: at($0)) }
    #expect(control.oldestWaitMs(at: at(20)) == 20)
    for ticket in tickets.dropFirst() { control.end(ticket, at: at(20)) }
    #expect(control.oldestWaitMs(at: at(20)) == 20 && control.waitingCount == 1)
    control.end(tickets[0], at: at(20))
    #expect(control.oldestWaitMs(at: at(20)) == 0 && control.waitingCount == 0)
    let next = control.begin(at: at(30))
    control.end(next, at: at(31))
  }

  @Test("loops that stay behind refuse posts, and one late request does not")
  func slowLoops() {
    var control = AdmissionControl()
    let at = { (ms: Int64) in MonotonicTime(nanoseconds: ms * 1_000_000) }
    control.noteReadDelay(5000, at: at(0))
    #expect(control.refusal(at: at(1000)) == nil)
    for ms in 1000..<1400 { control.noteReadDelay(300, at: at(Int64(ms))) }
    // Every other: reading them costs what it costs.
    for _ in 0..<3 {
      #expect(control.refusal(at: at(1400)) == .slowLoops)
      #expect(control.refusal(at: at(1400)) == nil)
    }
    // One that was read at once shows that they have caught up.
    control.noteReadDelay(3, at: at(1401))
    #expect(control.refusal(at: at(1401)) == nil)
    // And what nobody samples any more is over.
    for ms in 2000..<2400 { control.noteReadDelay(300, at: at(Int64(ms))) }
    #expect(control.refusal(at: at(2400)) == .slowLoops)
    #expect(control.refusal(at: at(2700)) == nil)
  }
}
