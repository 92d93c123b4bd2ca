import RelayCore

/// What a lane knows of its sequence numbers.
struct SimulatedNumbers {
  /// The greatest that came.
  var highest: Int64 = 0
  /// Up to here, what came stands in line, or stood there.
  var placed: Int64 = 0
  /// What came, under which number of the store's.
  var taken: [Int64: Serial] = [:]
  /// Numbers that nobody waits for any more.
  var skipped: Set<Int64> = []
}

// Sequence numbers, as a store keeps them.
extension SimulatedStore {
  /// Notes the number of an envelope that is being taken.
  ///
  /// - Returns: Whether it is parked.
  mutating func note(_ number: Int64, of serial: Serial, in lane: LaneNumber) -> Bool {
    var known = numbers[lane] ?? SimulatedNumbers()
    known.taken[number] = serial
    let isNext = number == known.placed + 1
    if isNext { known.placed = number }
    known.highest = max(known.highest, number)
    numbers[lane] = known
    return !isNext
  }

  /// Puts in line what of a lane waits for nothing any more, so many at the most.
  ///
  /// - Returns: What moved, and whether there is more.
  mutating func flow(
    _ lane: LaneNumber, countMax: Int
  ) -> (moved: [(from: Serial, entry: LineEntry)], hasMore: Bool) {
    var moved: [(from: Serial, entry: LineEntry)] = []
    while let known = numbers[lane] {
      let next = known.placed + 1
      if known.skipped.contains(next) {
        numbers[lane]?.placed = next
      } else if let serial = known.taken[next] {
        guard moved.count < countMax else { return (moved, true) }
        if let entry = move(serial, number: next) { moved.append((serial, entry)) }
        numbers[lane]?.placed = next
      } else {
        break
      }
    }
    return (moved, false)
  }

  /// Gives up what is missing, as far as something has been parked for it long enough.
  ///
  /// - Returns: Since when something waits still; nil if nothing does.
  mutating func skipGaps(
    of lane: LaneNumber, parkedBy time: WallTime, now: WallTime
  ) -> WallTime? {
    guard let known = numbers[lane] else { return nil }
    let parked = known.taken.filter { $0.key > known.placed && self[$0.value].end == nil }
    let due =
      parked.filter {
        let acceptedAt = self[$0.value].entry.acceptedAt
        return acceptedAt <= time || acceptedAt > now
      }.keys.max() ?? known.placed
    for number in known.placed..<due where known.taken[number + 1] == nil {
      numbers[lane]?.skipped.insert(number + 1)
    }
    return parked.filter { $0.key > due }.values.map { self[$0].entry.acceptedAt }.min()
  }
}
