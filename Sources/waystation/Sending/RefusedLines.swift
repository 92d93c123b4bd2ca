/// The lines of a file that were refused, by what was said of them.
///
/// A whole file may be refused for one thing, such as an upstream that there is not. Its words are
/// told once, and the other lines of which they are true at the end.
struct RefusedLines {
  /// The lines of which one thing was said.
  private struct Group {
    let first: Int64
    /// Those behind the first, as far as they are told one by one.
    var ranges: [ClosedRange<Int64>] = []
    /// How many others there are.
    var othersCount: Int64 = 0

    mutating func add(_ line: Int64) {
      if othersCount == 0, let last = ranges.last, last.upperBound + 1 == line {
        ranges[ranges.count - 1] = last.lowerBound...line
      } else if othersCount == 0, ranges.count < RefusedLines.rangesMax {
        ranges.append(line...line)
      } else {
        othersCount += 1
      }
    }

    var words: String? {
      guard !ranges.isEmpty else { return nil }
      let shown = ranges.map { range in
        range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound)-\(range.upperBound)"
      }
      let isOne = ranges.count == 1 && ranges[0].count == 1 && othersCount == 0
      let others = othersCount > 0 ? " and \(HumanText.counted(othersCount, "other"))" : ""
      return
        "\(isOne ? "line" : "lines") \(shown.joined(separator: ", "))\(others): as line \(first)"
    }
  }

  /// The most stretches of lines that are told for one thing.
  static let rangesMax = 50
  /// The most things that are remembered; what is said beyond is told of each line.
  static let reasonsMax = 1000

  private var places: [String: Int] = [:]
  private var groups: [Group] = []

  /// Adds a line, behind those that were added before.
  ///
  /// - Returns: Whether the reason is to be told now, since it is none that was told.
  mutating func add(_ line: Int64, _ reason: String) -> Bool {
    if let place = places[reason] {
      groups[place].add(line)
      return false
    }
    guard groups.count < Self.reasonsMax else { return true }
    places[reason] = groups.count
    groups.append(Group(first: line))
    return true
  }

  /// What is left to tell: of which lines the same was said as of an earlier one.
  var rest: [String] { groups.compactMap(\.words) }
}
