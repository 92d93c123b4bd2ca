import RelayCore

@testable import StoreModel

// Devices number what they post, and posts get lost: what comes ahead of a gap is parked.
extension Simulation {
  /// How long a lane waits for a missing number.
  private static let gapTimeoutMs: Int64 = 15_000
  /// Something is parked: its lane waits for what comes before.
  mutating func awaitNumbers(before entry: LineEntry) {
    parkedCount += 1
    watch.note(entry.lane, since: entry.acceptedAt, timeoutMs: Self.gapTimeoutMs, now: clock)
  }

  /// Puts in line what waits for nothing any more; what is left over is the next commit's.
  mutating func flow(_ lane: LaneNumber) {
    let left = transact { store, commit in store.flow([lane], Self.rules, in: &commit) }
    goOnLater(in: left?.value ?? [])
  }

  mutating func goOnLater(in lanes: Set<LaneNumber>) {
    for lane in lanes.sorted() {
      agenda.insert(Scheduled(life: life, event: .commitFlow(lane)), at: commitTime())
    }
  }

  /// Gives up what was waited for long enough.
  mutating func giveUpGaps() {
    // What was decided before is carried out before.
    carryOutActions()
    let now = clock.wall
    for due in watch.takeDue(at: clock) {
      let result = transact { store, commit in
        let skip = store.skipGaps(of: due.lane, parkedBy: due.parkedBy, now: now)
        return (since: skip.waitingSince, left: store.flow([due.lane], Self.rules, in: &commit))
      }
      if let since = result?.value.since {
        watch.note(due.lane, since: since, timeoutMs: due.timeoutMs, now: clock)
      }
      skipCount += 1
      goOnLater(in: result?.value.left ?? [])
    }
  }

  /// The relay was started: it looks what is parked, and goes on where it was cut off.
  mutating func takeUpGaps() {
    watch = GapWatch()
    for entry in store.line where entry.standing == .parked {
      watch.note(
        entry.lane, since: entry.acceptedAt, timeoutMs: Self.gapTimeoutMs, now: clock)
    }
    for lane in store.lanes.keys.sorted() where store.lanes[lane]?.placedThrough != nil {
      flow(lane)
    }
  }

  /// A number's turn comes only once nothing is waited for before it.
  mutating func checkNumbers(of entry: LineEntry) {
    if entry.standing == .parked { violate("\(entry.serial) was attempted while it was parked") }
    guard let number = sequence(of: entry.serial),
      let placed = store.lanes[entry.lane]?.placedThrough
    else { return }
    if number > placed { violate("number \(number) was attempted, and \(placed) is the last") }
  }

  /// What stands in a lane stands there in the order of its numbers, when an attempt begins.
  ///
  /// A lower one may be requeued after an attempt was announced and before it begins.
  mutating func checkNumberIsFirst(_ entry: LineEntry) {
    guard let number = sequence(of: entry.serial) else { return }
    let earlier = store.line.first { other in
      other.lane == entry.lane && sequence(of: other.serial).map { $0 < number } ?? false
    }?.serial
    if let earlier {
      violate("number \(number) was attempted before \(earlier), which has a lower one")
    }
  }
}
