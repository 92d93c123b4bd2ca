@testable import RelayCore
@testable import StoreModel

// Somebody, or NTP, sets the machine's clock: by seconds in every other run, and in every fourth by
// a day, by ten years, to 1970.
extension Simulation {
  private static let dayMs: Int64 = 86_400_000
  private static let yearsMs: Int64 = 3650 * dayMs

  /// Both clocks go on to a time; what the relay makes of the wall clock, ``SettledTime`` says.
  mutating func advance(to time: MonotonicTime) {
    clock.monotonic = max(time, clock.monotonic)
    let elapsedMs = clock.monotonic.nanoseconds / 1_000_000
    let machine = Self.epoch.adding(milliseconds: elapsedMs + wallOffsetMs)
    let (wall, step) = settled.read(machine, elapsedMs: elapsedMs)
    clock.wall = wall
    latestWall = max(latestWall, wall)
    switch step {
    case .back(let milliseconds):
      wasClockSetBack = true
      scheduler.clockWasSet(byMs: -milliseconds, now: clock)
    case .believed(let milliseconds): scheduler.clockWasSet(byMs: milliseconds, now: clock)
    case .ahead, .takenBack, .implausible, nil: break
    }
  }

  mutating func setClock() {
    guard !isFaultFree else { return }
    var offset = Int64.random(in: -20_000...20_000, using: &random)
    // What is far off is put right the next time, before it has lasted.
    if seed % 4 == 0, wallOffsetMs.magnitude <= 20_000 {
      let to1970 = -Self.epoch.millisecondsSinceEpoch
      offset =
        [offset, -Self.dayMs, Self.dayMs, Self.yearsMs, to1970].randomElement(using: &random)
        ?? offset
      if offset.magnitude > 20_000 { clockLeapCount += 1 }
    }
    wasClockSetBack = wasClockSetBack || offset < wallOffsetMs
    wallOffsetMs = offset
    schedule(.clockIsSet, inMs: Int64.random(in: 500...10_000, using: &random))
  }

  /// A deadline a week away does not come within the hours of a run, wherever the clock has been.
  mutating func checkDeadline(of transition: Transition) {
    guard case .end(.expired, _) = transition.change else { return }
    guard let entry = store.place(of: transition.serial) else { return }
    if entry.expiresAt.milliseconds(since: entry.acceptedAt) > Self.dayMs * 3 {
      violate("\(transition.serial) expired days before its deadline")
    }
  }

  /// Waits after failures are no longer than a failure leads to, wherever the clock has been.
  mutating func checkWaits() {
    // Looked at where they lie, since this is done after every event.
    var tooLong: [LaneNumber] = []
    scheduler.lanes.forEachValue { number, lane in
      guard case .waiting(let until) = lane.phase, let head = lane.head, head.attempts > 0,
        store.envelopes[head.serial]?.draft.notBefore == nil,
        let policy = scheduler.upstreams[head.upstream]?.policy
      else { return }
      if until.milliseconds(since: clock.monotonic) > policy.retry.longestDelayMs {
        tooLong.append(number)
      }
    }
    for number in tooLong {
      violate("lane \(number.rawValue) waits longer than any failure asks for")
    }
  }
}
