import RelayCore

// Devices number what they post, and posts get lost: what comes ahead of a gap is parked.
extension Simulation {
  /// How long a lane waits for a missing number.
  private static let gapTimeoutMs: Int64 = 15_000
  /// How many parked envelopes one commit moves.
  private static let movesMax = 3

  /// An envelope was committed.
  mutating func tell(_ entry: LineEntry) {
    readLineBeforeTelling()
    _ = scheduler.accepted(entry, order: Self.order(of: entry.lane), now: clock)
    if entry.standing == .parked {
      parkedCount += 1
      watch.note(
        entry.lane, since: entry.acceptedAt, timeoutMs: Self.gapTimeoutMs, now: clock)
    } else if store[entry.serial].number != nil {
      // What it has closed flows in the same commit.
      flow(entry.lane)
    }
  }

  /// Puts in line what waits for nothing any more; what is left over is the next commit's.
  mutating func flow(_ lane: LaneNumber) {
    let (moved, hasMore) = store.flow(lane, countMax: Self.movesMax)
    for (_, entry) in moved {
      placedCount += 1
      _ = scheduler.placed(entry, now: clock)
    }
    guard hasMore else { return }
    agenda.insert(Scheduled(life: life, event: .commitFlow(lane)), at: commitTime())
  }

  /// Gives up what was waited for long enough.
  mutating func giveUpGaps() {
    // What was decided before is carried out before.
    carryOutActions()
    for due in watch.takeDue(at: clock) {
      if let since = store.skipGaps(
        of: due.lane, parkedBy: due.parkedBy, now: clock.wall)
      {
        watch.note(due.lane, since: since, timeoutMs: due.timeoutMs, now: clock)
      }
      skipCount += 1
      flow(due.lane)
    }
  }

  /// The relay was started: it looks what is parked, and goes on where it was cut off.
  mutating func takeUpGaps() {
    watch = GapWatch()
    for serial in store.line where store[serial].entry.standing == .parked {
      let entry = store[serial].entry
      watch.note(
        entry.lane, since: entry.acceptedAt, timeoutMs: Self.gapTimeoutMs, now: clock)
    }
    for lane in store.numbers.keys.sorted() { flow(lane) }
  }

  /// A number's turn comes only once nothing is waited for before it.
  mutating func checkNumbers(of entry: LineEntry) {
    if entry.standing == .parked { violate("\(entry.serial) was attempted while it was parked") }
    guard let number = store[entry.serial].number else { return }
    let placed = store.numbers[entry.lane]?.placed ?? 0
    if number > placed { violate("number \(number) was attempted, and \(placed) is the last") }
  }

  /// What stands in a lane stands there in the order of its numbers, when an attempt begins.
  ///
  /// A lower one may be requeued after an attempt was announced and before it begins.
  mutating func checkNumberIsFirst(_ entry: LineEntry) {
    guard let number = store[entry.serial].number else { return }
    let earlier = store.line.first { serial in
      let record = store[serial]
      guard record.entry.lane == entry.lane, let other = record.number else { return false }
      return other < number
    }
    if let earlier {
      violate("number \(number) was attempted before \(earlier), which has a lower one")
    }
  }
}
