import RelayCore
import Testing

@Suite("The age of what is kept, whatever the clock is set to")
struct RetentionClockTests {
  private static let dayMs: Int64 = 86_400_000
  private static let hourMs: Int64 = 3_600_000
  private let start: Int64 = 1_700_000_000_000

  /// A machine whose clock is so far off, and what has been recorded on it.
  private struct Machine {
    let start: Int64
    var clock = RetentionClock()
    var elapsedMs: Int64 = 0
    var offMs: Int64 = 0
    /// By what the clock showed, when it truly was recorded.
    var recorded: [(shown: WallTime, atMs: Int64)] = []

    var wall: WallTime { WallTime(millisecondsSinceEpoch: start + elapsedMs + offMs) }

    mutating func record() { recorded.append((wall, elapsedMs)) }

    mutating func look() { _ = clock.look(at: wall, elapsedMs: elapsedMs) }

    mutating func pass(_ milliseconds: Int64) {
      elapsedMs += milliseconds
      look()
    }

    /// Whether something would be deleted that is to be kept for so long.
    func forgets(_ index: Int, keptMs: Int64) -> Bool {
      recorded[index].shown < clock.cutoff(keptMs: keptMs)
    }

    /// What is deleted though it is younger than that, give or take what is no step.
    func forgottenTooEarly(keptMs: Int64) -> Int {
      recorded.indices.count {
        forgets($0, keptMs: keptMs)
          && elapsedMs - recorded[$0].atMs < keptMs - SettledTime.toleranceMs
      }
    }
  }

  private func machine() -> Machine {
    var machine = Machine(start: start)
    machine.look()
    return machine
  }

  @Test("without steps things are forgotten on time")
  func plain() {
    var machine = machine()
    machine.record()
    machine.pass(Self.hourMs)
    #expect(!machine.forgets(0, keptMs: Self.hourMs))
    machine.pass(1)
    #expect(machine.forgets(0, keptMs: Self.hourMs))
  }

  @Test("a step ahead makes nothing older, and what comes after it is forgotten on time")
  func ahead() {
    var machine = machine()
    machine.record()
    machine.pass(1000)
    machine.offMs = 2 * Self.dayMs
    machine.pass(1000)
    machine.record()
    machine.pass(Self.hourMs - 2000)
    #expect(!machine.forgets(0, keptMs: Self.hourMs))
    machine.pass(1001)
    #expect(machine.forgets(0, keptMs: Self.hourMs) && !machine.forgets(1, keptMs: Self.hourMs))
    machine.pass(1000)
    #expect(machine.forgets(1, keptMs: Self.hourMs))
  }

  @Test("a step back makes nothing older, and one ahead that it undoes leaves no trace")
  func back() {
    var machine = machine()
    machine.record()
    machine.offMs = 2 * Self.dayMs
    machine.pass(1000)
    machine.offMs = 0
    machine.pass(1000)
    #expect(machine.clock.steps.steps.isEmpty)
    machine.offMs = -Self.dayMs
    machine.pass(1000)
    #expect(!machine.forgets(0, keptMs: Self.hourMs))
    machine.offMs = 0
    machine.pass(1000)
    #expect(!machine.forgets(0, keptMs: Self.hourMs))
  }

  @Test("small steps, none of which counts for one, are added up")
  func small() {
    var machine = machine()
    machine.record()
    for _ in 0..<10_000 {
      machine.offMs += 900
      machine.pass(1000)
      #expect(machine.forgottenTooEarly(keptMs: Self.hourMs * 3) == 0)
    }
    #expect(machine.offMs > 2 * Self.hourMs)
    machine.pass(Self.hourMs / 4)
    #expect(machine.forgets(0, keptMs: Self.hourMs * 3))
  }

  @Test(
    "steps without number, ahead and back, forget nothing early and cost no memory without bound")
  func random() {
    for seed in 1...20 as ClosedRange<UInt64> {
      var random = SplitMix64(seed: seed)
      var machine = machine()
      for _ in 0..<500 {
        machine.pass(Int64.random(in: 0..<Self.hourMs / 10, using: &random))
        machine.record()
        guard Int.random(in: 0..<3, using: &random) == 0 else { continue }
        let longestMs = [900, 60_000, Self.hourMs, 100 * Self.dayMs].randomElement(using: &random)!
        machine.offMs += Int64.random(in: -longestMs / 3...longestMs, using: &random)
        machine.look()
        #expect(machine.forgottenTooEarly(keptMs: Self.hourMs) == 0, "seed \(seed)")
        _ = machine.clock.forgetSteps(keptMs: Self.hourMs)
        #expect(machine.clock.steps.steps.count <= ClockSteps.countMax)
      }
    }
  }

  @Test("a later process goes on with the steps, and sees one that came in between")
  func later() {
    var machine = machine()
    machine.record()
    machine.offMs = 2 * Self.dayMs
    machine.pass(1000)
    machine.record()
    let noted = machine.clock
    machine.offMs += Self.dayMs
    machine.clock = RetentionClock(offsetMs: noted.offsetMs, steps: noted.steps.steps)
    machine.pass(1000)
    #expect(!machine.forgets(0, keptMs: Self.hourMs) && !machine.forgets(1, keptMs: Self.hourMs))
    // After the machine's own start nobody can tell what has passed, but the steps are known.
    machine.clock = RetentionClock(steps: machine.clock.steps.steps)
    machine.pass(1000)
    #expect(!machine.forgets(0, keptMs: Self.hourMs) && !machine.forgets(1, keptMs: Self.hourMs))
  }

  @Test("a step is forgotten once nothing is left from before it")
  func forgotten() {
    var machine = machine()
    machine.record()
    machine.offMs = 2 * Self.dayMs
    machine.pass(1000)
    machine.pass(Self.hourMs - 2000)
    let isEarly = machine.clock.forgetSteps(keptMs: Self.hourMs)
    machine.pass(3000)
    let isDone = machine.clock.forgetSteps(keptMs: Self.hourMs)
    #expect(!isEarly && isDone)
    #expect(machine.clock.steps.steps.isEmpty && machine.forgets(0, keptMs: Self.hourMs))
  }
}
