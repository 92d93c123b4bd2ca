@testable import RelayCore

// The store is damaged here and there: a change that would stand there is not written.
extension Simulation {
  /// Whether a change meets damage: few do, but what is written of an envelope that others could
  /// not be written of is more likely to.
  mutating func isLost(_ transition: Transition) -> Bool {
    guard !isFaultFree else { return false }
    return transition.isQuarantine ? chance(1, in: 4) : chance(1, in: 150)
  }

  /// Nothing of it is on the disk, and the relay is told so.
  mutating func unwritten(_ transition: Transition) {
    unwrittenCount += 1
    if transition.isQuarantine { unwrittenQuarantineCount += 1 }
    scheduler.unwritten(transition, now: clock)
    runs.unwritten(transition, in: &scheduler, now: clock)
    if scheduler.changing[transition.serial] != nil {
      violate("a change of \(transition.serial) is said to be on its way, and was lost")
    }
    // A head whose correction is lost may be attempted at once, as it was.
    if transition.change == .begin,
      scheduler.isInFlight(transition.serial) != inFlight.contains(transition.serial)
    {
      violate("\(transition.serial) keeps a slot for an attempt that was never begun")
    }
  }

  /// Whether a lane stands for this one until the relay starts anew.
  func standsUnwritten(_ entry: LineEntry) -> Bool {
    guard let lane = scheduler.lane(entry.lane) else { return false }
    return lane.phase == .unwritable && lane.head?.serial == entry.serial
  }
}
