@testable import RelayCore
import Testing

@Suite("A machine's clock that is set")
struct SettledTimeTests {
  private static let start: Int64 = 1_800_000_000_000
  private static let day: Int64 = 86_400_000

  /// A machine's clock that can be set, and one that nobody sets.
  private struct Machine {
    var settled = SettledTime(settleMs: 300_000)
    var elapsedMs: Int64 = 5000
    var offMs: Int64 = 0

    var right: WallTime { WallTime(millisecondsSinceEpoch: start + elapsedMs) }

    mutating func read(
      afterMs milliseconds: Int64 = 1
    ) -> (time: WallTime, step: SettledTime.Step?) {
      elapsedMs += milliseconds
      return settled.read(right.adding(milliseconds: offMs), elapsedMs: elapsedMs)
    }

    /// By how much what deadlines count from lies ahead of the right time.
    mutating func deadlineErrorMs(afterMs milliseconds: Int64 = 1) -> Int64 {
      _ = read(afterMs: milliseconds)
      let machine = right.adding(milliseconds: offMs)
      return settled.deadlineStart(machine, elapsedMs: elapsedMs).milliseconds(since: right)
    }

    /// By how much the time of day is off.
    mutating func errorMs(afterMs milliseconds: Int64 = 1) -> Int64 {
      let time = read(afterMs: milliseconds).time
      return time.milliseconds(since: right)
    }
  }

  @Test("while nobody sets it, the clock is followed to the millisecond, and as it is adjusted")
  func adjusted() {
    var machine = Machine()
    for off in [0, 500, 999, 1500, 2400, 1600, 700] as [Int64] {
      machine.offMs = off
      #expect(machine.read().step == nil)
      #expect(machine.errorMs() == off)
    }
  }

  @Test("a step ahead does not count before it has lasted")
  func ahead() {
    var machine = Machine()
    #expect(machine.errorMs() == 0)
    machine.offMs = Self.day
    let first = machine.read()
    #expect(first.step == .ahead(milliseconds: Self.day) && first.time == machine.right)
    #expect(machine.read(afterMs: 299_999).step == nil)
    #expect(machine.errorMs(afterMs: 0) == 0)
    #expect(machine.read().step == .believed(milliseconds: Self.day))
    #expect(machine.errorMs() == Self.day)
  }

  @Test("a step ahead that is taken back never counted")
  func takenBack() {
    var machine = Machine()
    _ = machine.read()
    for _ in 0..<100 {
      machine.offMs = 10 * 365 * Self.day
      #expect(machine.errorMs(afterMs: 290_000) == 0)
      machine.offMs = 0
      #expect(machine.read(afterMs: 20_000).step == .takenBack)
      #expect(machine.errorMs() == 0)
    }
  }

  @Test("of several steps ahead the least that lasted is what counts")
  func leastOfSeveral() {
    var machine = Machine()
    _ = machine.read()
    machine.offMs = 9 * Self.day
    _ = machine.read()
    machine.offMs = Self.day
    _ = machine.read(afterMs: 100_000)
    machine.offMs = 3 * Self.day
    #expect(machine.read(afterMs: 200_000).step == .believed(milliseconds: Self.day))
    #expect(machine.errorMs() == Self.day)
    #expect(machine.read(afterMs: 300_000).step == .believed(milliseconds: 2 * Self.day))
  }

  @Test("a step back counts at once")
  func back() {
    var machine = Machine()
    _ = machine.read()
    machine.offMs = -Self.day
    let read = machine.read()
    #expect(read.step == .back(milliseconds: Self.day))
    #expect(machine.errorMs() == -Self.day)
    #expect(machine.read().step == nil)
  }

  @Test("a clock that shows 1970 is not followed, and is told of once")
  func implausible() {
    var machine = Machine()
    _ = machine.read()
    machine.offMs = -Self.start
    #expect(machine.read().step == .implausible)
    #expect(machine.read(afterMs: 1_000_000).step == nil)
    #expect(machine.errorMs() == 0)
    machine.offMs = 0
    #expect(machine.read().step == .takenBack)
  }

  @Test("a machine that starts in 1970 follows the first clock that can be right")
  func startsImplausible() {
    var machine = Machine()
    machine.offMs = -Self.start
    #expect(machine.errorMs() == -Self.start)
    machine.offMs = 0
    let read = machine.read(afterMs: 30_000)
    #expect(read.step == .believed(milliseconds: Self.start))
    #expect(machine.errorMs() == 0)
  }

  @Test("one that starts in 1970 with a store goes on from what the store knows")
  func goesOn() {
    var machine = Machine()
    machine.offMs = -Self.start
    _ = machine.read()
    machine.settled.resume(
      from: machine.right.adding(milliseconds: -Self.day), elapsedMs: machine.elapsedMs)
    #expect(machine.errorMs(afterMs: 60_000) == -Self.day)
    // It may be later by nobody knows how much.
    let start = machine.settled.deadlineStart(
      machine.right.adding(milliseconds: -Self.start), elapsedMs: machine.elapsedMs)
    #expect(start.deadline(afterMs: 1000) == .never)
    machine.offMs = 0
    #expect(machine.read().step == .believed(milliseconds: Self.day))
    #expect(machine.errorMs() == 0)
    machine.settled.resume(
      from: machine.right.adding(milliseconds: 5000), elapsedMs: machine.elapsedMs)
    #expect(machine.errorMs() == 0)
  }

  @Test("a step while the relay was down is one like any other")
  func resumes() throws {
    var machine = Machine()
    _ = machine.read()
    let offset = try #require(machine.settled.offsetMs)
    machine.settled = SettledTime(settleMs: 300_000)
    machine.offMs = 3650 * Self.day
    machine.settled.resume(offsetMs: offset)
    #expect(machine.read(afterMs: 60_000).step == .ahead(milliseconds: 3650 * Self.day))
    #expect(machine.errorMs() == 0)
  }

  @Test("deadlines count from where the clock may yet turn out to be right, ahead or back")
  func deadlineStart() {
    var machine = Machine()
    #expect(machine.deadlineErrorMs() == 0)
    machine.offMs = 500
    #expect(machine.deadlineErrorMs() == 500)
    // Ahead: from the first moment on, and once it counts.
    machine.offMs = Self.day
    #expect(machine.deadlineErrorMs() == Self.day && machine.errorMs() == 500)
    #expect(machine.deadlineErrorMs(afterMs: 300_000) == Self.day)
    #expect(machine.errorMs() == Self.day)
    // Back: as long as a step ahead would take to be believed, by which it is taken back.
    machine.offMs = 0
    #expect(machine.deadlineErrorMs() == Self.day && machine.errorMs() == 0)
    machine.offMs = -Self.day
    #expect(machine.deadlineErrorMs(afterMs: 290_000) == Self.day)
    #expect(machine.deadlineErrorMs(afterMs: 299_999) == Self.day)
    #expect(machine.deadlineErrorMs() == -Self.day)
  }

  @Test("a clock that shows 1970 sets no deadlines")
  func deadlineStartImplausible() {
    var machine = Machine()
    _ = machine.read()
    machine.offMs = -Self.start
    #expect(machine.deadlineErrorMs() == 0)
    machine.offMs = 0
    #expect(machine.deadlineErrorMs() == 0)
  }

  @Test("times at the ends of the range overflow nothing")
  func ends() {
    var settled = SettledTime(settleMs: .max)
    for wall in [0, .max, .min, 1, .max] as [Int64] {
      for elapsed in [0, .max, 1] as [Int64] {
        let machine = WallTime(millisecondsSinceEpoch: wall)
        _ = settled.read(machine, elapsedMs: elapsed)
        _ = settled.deadlineStart(machine, elapsedMs: elapsed).deadline(afterMs: .max)
      }
    }
  }

  @Test("what is accepted in 1970 has no deadline of the relay's own")
  func noDeadline() {
    #expect(WallTime(millisecondsSinceEpoch: 5000).deadline(afterMs: 1000) == .never)
    let now = WallTime(millisecondsSinceEpoch: Self.start)
    #expect(now.deadline(afterMs: 1000) == now.adding(milliseconds: 1000))
    #expect(now.deadline(afterMs: .max) == .never)
    #expect(RFC3339.format(.never).hasPrefix("9999-12-31T23:59:59"))
  }
}
