/// The condition under which a lane is listed.
package enum LaneCondition: String, CaseIterable, Sendable {
  /// It stands until someone resolves its head.
  case blocked
  /// Somebody has paused this lane itself.
  case paused
  /// An envelope waits in it.
  case waiting
}

/// A search, in pieces, for the first lanes after a number that meet a condition.
///
/// A lane that begins or ceases to meet it between two pieces may be found or not.
package struct LaneSearch: Sendable {
  /// The condition.
  package let condition: LaneCondition
  /// The lanes found so far, ordered by number.
  package var found: [LaneNumber] { least.found }
  /// Whether the search is complete.
  package fileprivate(set) var isOver = false

  fileprivate var least: LeastNumbers
  fileprivate var walk = NumberTable<LaneNumber, Lane>.Walk()

  /// Begins a search.
  ///
  /// - Parameters:
  ///   - number: The number to search after; nil for the beginning.
  ///   - countMax: The most lanes to find.
  package init(_ condition: LaneCondition, after number: LaneNumber?, countMax: Int) {
    self.condition = condition
    least = LeastNumbers(above: number ?? LaneNumber(rawValue: 0), countMax: countMax)
  }
}

extension Scheduler {
  /// Continues a search that is not over.
  ///
  /// - Parameter countMax: The most lanes to look at, where all lanes are searched. Blocked and
  ///   paused lanes are looked at all at once.
  package func advance(_ search: inout LaneSearch, countMax: Int) {
    switch search.condition {
    case .blocked: for lane in blocked { search.least.take(lane) }
    case .paused:
      for case .lane(let lane) in paused { search.least.take(lane) }
    case .waiting:
      var walk = search.walk
      lanes.advance(&walk, countMax: countMax) {
        search.least.found = []
      } _: { number, lane in
        if lane.waiting > 0 { search.least.take(number) }
      }
      search.walk = walk
      search.isOver = walk.isOver
      return
    }
    search.isOver = true
  }
}

/// Keeps the least of many numbers, in order, without sorting all of them.
private struct LeastNumbers: Sendable {
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
