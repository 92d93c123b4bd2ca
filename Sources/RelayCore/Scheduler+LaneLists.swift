/// How a lane has to stand to be listed.
package enum LaneCondition: String, CaseIterable, Sendable {
  /// It stands until someone resolves its head.
  case blocked
  /// Somebody has paused this very lane.
  case paused
  /// Something waits in it.
  case waiting
}

extension Scheduler {
  /// The first lanes behind a number that stand in some way, by number.
  ///
  /// - Parameters:
  ///   - number: Where to go on; nil for the beginning.
  ///   - countMax: How many at the most.
  package func lanes(
    that condition: LaneCondition, after number: LaneNumber?, countMax: Int
  ) -> [LaneNumber] {
    var least = LeastNumbers(above: number ?? LaneNumber(rawValue: 0), countMax: countMax)
    switch condition {
    case .blocked: for lane in blocked { least.take(lane) }
    case .waiting: for (number, lane) in lanes where lane.waiting > 0 { least.take(number) }
    case .paused:
      for case .lane(let lane) in paused { least.take(lane) }
    }
    return least.found
  }
}

/// Keeps the least of many numbers, in order, without sorting them all.
private struct LeastNumbers {
  let start: LaneNumber
  let countMax: Int
  var found: [LaneNumber] = []

  init(above start: LaneNumber, countMax: Int) {
    self.start = start
    self.countMax = countMax
  }

  mutating func take(_ number: LaneNumber) {
    guard number > start, countMax > 0 else { return }
    if found.count == countMax {
      guard number < found[countMax - 1] else { return }
      found.removeLast()
    }
    var low = 0
    var high = found.count
    while low < high {
      let middle = (low + high) / 2
      if found[middle] < number { low = middle + 1 } else { high = middle }
    }
    found.insert(number, at: low)
  }
}
