/// How a lane has to stand to be listed.
package enum LaneCondition: String, CaseIterable, Sendable {
  /// It stands until someone resolves its head.
  case blocked
  /// Somebody has paused this very lane.
  case paused
  /// Something waits in it.
  case waiting
}

/// A look for the first lanes behind a number that stand in some way, done in pieces.
///
/// What comes to stand so, or does not any more, between two pieces is found or not.
package struct LaneSearch: Sendable {
  /// How they have to stand.
  package let condition: LaneCondition
  /// What was found so far, by number.
  package var found: [LaneNumber] { least.found }
  /// Whether all has been looked at.
  package fileprivate(set) var isOver = false

  fileprivate var least: LeastNumbers
  fileprivate var walk = NumberTable<LaneNumber, Lane>.Walk()

  /// Begins with nothing looked at.
  ///
  /// - Parameters:
  ///   - number: Where to go on; nil for the beginning.
  ///   - countMax: How many to find at the most.
  package init(_ condition: LaneCondition, after number: LaneNumber?, countMax: Int) {
    self.condition = condition
    least = LeastNumbers(above: number ?? LaneNumber(rawValue: 0), countMax: countMax)
  }
}

extension Scheduler {
  /// Goes on with a search that is not over.
  ///
  /// - Parameter countMax: How many of all lanes to look at; those that are blocked or paused are
  ///   looked at all at once.
  package func goOn(with search: inout LaneSearch, countMax: Int) {
    switch search.condition {
    case .blocked: for lane in blocked { search.least.take(lane) }
    case .paused:
      for case .lane(let lane) in paused { search.least.take(lane) }
    case .waiting:
      var walk = search.walk
      lanes.goOn(&walk, countMax: countMax) {
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

/// Keeps the least of many numbers, in order, without sorting them all.
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
