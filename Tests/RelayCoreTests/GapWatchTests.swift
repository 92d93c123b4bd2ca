@testable import RelayCore
import Testing

@Suite("Giving up missing sequence numbers")
struct GapWatchTests {
  private static let hour: Int64 = 3_600_000
  private let lane = LaneNumber(rawValue: 7)
  private let start = Now(
    wall: WallTime(millisecondsSinceEpoch: 1_700_000_000_000),
    monotonic: MonotonicTime(nanoseconds: 5_000_000_000))

  /// So much later, by a clock that was set ahead by so much since.
  private func now(afterMs milliseconds: Int64, ahead: Int64 = 0) -> Now {
    Now(
      wall: start.wall.adding(milliseconds: milliseconds + ahead),
      monotonic: start.monotonic.adding(milliseconds: milliseconds))
  }

  /// What is parked by now, as it is written down.
  private func note(
    _ watch: inout GapWatch, _ lane: LaneNumber, timeoutMs: Int64, at now: Now
  ) {
    watch.note(lane, since: now.wall, timeoutMs: timeoutMs, now: now)
  }

  @Test("a lane is due once what is parked has waited for its timeout, and is told once")
  func due() {
    var watch = GapWatch()
    #expect(watch.nextDue == nil && watch.takeDue(at: start).isEmpty)
    let later = now(afterMs: 900)
    watch.note(lane, since: now(afterMs: 500).wall, timeoutMs: 1000, now: later)
    watch.note(lane, since: start.wall, timeoutMs: 1000, now: later)
    watch.note(lane, since: later.wall, timeoutMs: 1000, now: later)
    #expect(watch.nextDue == now(afterMs: 1000).monotonic)
    #expect(watch.takeDue(at: now(afterMs: 999)).isEmpty)
    let parkedBy = now(afterMs: 200).wall
    #expect(
      watch.takeDue(at: now(afterMs: 1200))
        == [GapWatch.Due(lane: lane, parkedBy: parkedBy, timeoutMs: 1000)])
    #expect(watch.nextDue == nil && watch.takeDue(at: now(afterMs: 1200)).isEmpty)
  }

  @Test("lanes wait for themselves")
  func lanes() {
    var watch = GapWatch()
    let lanes = (1...3).map { LaneNumber(rawValue: $0) }
    for (index, lane) in lanes.enumerated() {
      note(&watch, lane, timeoutMs: Int64(3 - index) * 1000, at: start)
    }
    #expect(watch.nextDue == now(afterMs: 1000).monotonic)
    #expect(watch.takeDue(at: now(afterMs: 2000)).map(\.lane) == [lanes[1], lanes[2]])
    #expect(watch.nextDue == now(afterMs: 3000).monotonic)
  }

  @Test("a lane that was looked at in vain is not looked at again at once")
  func rests() {
    var watch = GapWatch()
    watch.note(lane, since: start.wall, timeoutMs: 0, leastMs: 1000, now: now(afterMs: 100))
    #expect(watch.takeDue(at: now(afterMs: 1099)).isEmpty)
    #expect(watch.takeDue(at: now(afterMs: 1100)).map(\.lane) == [lane])
  }

  @Test("a step ahead ends no wait, seen by whichever reading comes first")
  func ahead() {
    for looks in [[], [now(afterMs: 10_000, ahead: Self.hour)]] {
      var watch = GapWatch()
      note(&watch, lane, timeoutMs: 60_000, at: start)
      for look in looks { #expect(watch.takeDue(at: look).isEmpty) }
      #expect(watch.takeDue(at: now(afterMs: 59_999, ahead: Self.hour)).isEmpty)
      let due = watch.takeDue(at: now(afterMs: 61_000, ahead: Self.hour))
      // As the store has it, which knows the time before the step.
      #expect(due.map(\.parkedBy) == [now(afterMs: 1000).wall])
    }
  }

  @Test("what was parked before a step and is found after it has waited since then, and no longer")
  func foundAfter() {
    var watch = GapWatch()
    note(&watch, LaneNumber(rawValue: 1), timeoutMs: 1000, at: start)
    watch.note(
      lane, since: now(afterMs: 5000).wall, timeoutMs: 60_000,
      now: now(afterMs: 10_000, ahead: Self.hour))
    #expect(watch.nextDue == now(afterMs: 1000).monotonic)
    #expect(
      watch.takeDue(at: now(afterMs: 64_999, ahead: Self.hour)).map(\.lane.rawValue) == [1])
    #expect(watch.nextDue == now(afterMs: 65_000).monotonic)
  }

  @Test("a step back puts no wait off")
  func back() {
    var watch = GapWatch()
    note(&watch, lane, timeoutMs: 60_000, at: start)
    #expect(watch.takeDue(at: now(afterMs: 59_999, ahead: -Self.hour)).isEmpty)
    #expect(watch.takeDue(at: now(afterMs: 60_000, ahead: -Self.hour)).map(\.lane) == [lane])
    // The store says that it was accepted in the future.
    watch.note(
      lane, since: start.wall, timeoutMs: 60_000, now: now(afterMs: 60_000, ahead: -Self.hour))
    #expect(watch.nextDue == now(afterMs: 120_000).monotonic)
  }

  @Test("missing numbers are told as far as they stand before one")
  func before() {
    let ranges = [SequenceRange(first: 2, last: 3), SequenceRange(first: 7, last: 7)]
    let missing = MissingNumbers(ranges: ranges, hasMore: true)
    #expect(missing.before(9) == missing)
    #expect(missing.before(5) == MissingNumbers(ranges: [ranges[0]], hasMore: false))
    #expect(missing.before(2).isEmpty && !missing.before(2).hasMore)
    #expect(ranges[0].count == 2)
  }
}

@Suite("Steps of the wall clock, and what was written down before them")
struct ClockStepsTests {
  private let start: Int64 = 1_700_000_000_000

  /// Looks at a clock that is so far off after so long.
  private func look(_ steps: inout ClockSteps, afterMs milliseconds: Int64, offMs: Int64) {
    steps.look(
      at: Now(
        wall: WallTime(millisecondsSinceEpoch: start + milliseconds + offMs),
        monotonic: MonotonicTime(nanoseconds: milliseconds * 1_000_000)))
  }

  private func time(_ milliseconds: Int64) -> WallTime {
    WallTime(millisecondsSinceEpoch: start + milliseconds)
  }

  @Test("what was written down before steps is shifted by those that came after it, and back")
  func shifted() {
    var steps = ClockSteps()
    look(&steps, afterMs: 0, offMs: 0)
    look(&steps, afterMs: 1000, offMs: 900)
    look(&steps, afterMs: 10_000, offMs: 100_000)
    look(&steps, afterMs: 20_000, offMs: 300_000)
    let pairs: [(written: Int64, present: Int64)] = [
      (-5000, 294_100), (9000, 308_100), (115_000, 315_000), (330_000, 330_000),
    ]
    for pair in pairs {
      #expect(steps.present(time(pair.written)) == time(pair.present))
      #expect(steps.written(time(pair.present)) == time(pair.written))
    }
  }

  @Test("a step back undoes the steps ahead before it")
  func undone() {
    var steps = ClockSteps()
    look(&steps, afterMs: 0, offMs: 0)
    look(&steps, afterMs: 10_000, offMs: 100_000)
    look(&steps, afterMs: 20_000, offMs: 300_000)
    look(&steps, afterMs: 30_000, offMs: 40_000)
    #expect(steps.present(time(5000)) == time(45_000))
    look(&steps, afterMs: 40_000, offMs: -100_000)
    #expect(steps.present(time(5000)) == time(5000))
    #expect(steps.written(time(5000)) == time(5000))
  }

  @Test("a clock that is set over and over costs no memory without bound")
  func bounded() {
    var steps = ClockSteps()
    for step in 0..<1000 as Range<Int64> {
      look(&steps, afterMs: step * 1000, offMs: step * 100_000)
    }
    let newest = time(999 * 101_000)
    #expect(steps.present(newest) == newest)
    let kept = Int64(ClockSteps.countMax)
    #expect(steps.present(time(998 * 101_000)) == newest.adding(milliseconds: -1000))
    #expect(steps.present(time(0)) < newest.adding(milliseconds: -kept * 100_000))
  }
}
