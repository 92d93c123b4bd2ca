/// The numbers that a row can have at its place.
package struct RowRange: Equatable {
  /// The greatest number that is too small.
  package var after: Int64
  /// The greatest possible number.
  package var through: Int64

  /// Any number.
  package static let all = RowRange(after: .min, through: .max)

  /// Whether a row with this number can stand there.
  package func contains(_ number: Int64) -> Bool { number > after && number <= through }
}

/// Finds rows whose numbers cannot be right.
///
/// Numbers grow from row to row of a page, and the pages above give their bounds
/// (<https://www.sqlite.org/fileformat.html#b_tree_pages>). A number that violates this was a
/// different one, and may now be that of another row.
package enum RowPlaces {
  /// The possible numbers of rows whose own do not fit.
  ///
  /// If it is not clear which one of several does not fit, all of them are included.
  ///
  /// - Parameter range: The bounds by the pages above. They are not believed if more than one row
  ///   contradicts them, since the pages may be damaged themselves.
  package static func gaps(in page: BTreePage, _ range: RowRange) -> [Int: RowRange] {
    let rows = page.cells.enumerated().compactMap { place, cell in
      cell?.row.map { (place: place, number: $0) }
    }
    let isBelieved = rows.count { !range.contains($0.number) } <= 1
    let range = isBelieved ? range : .all
    let inside = rows.filter { range.contains($0.number) }
    let isGrowing = zip(inside, inside.dropFirst()).allSatisfy { $0.number < $1.number }
    guard !isGrowing || inside.count < rows.count else { return [:] }
    let fitting = inLongestRuns(inside.map(\.number))
    let places = Set(fitting.map { inside[$0].place })
    var gaps: [Int: RowRange] = [:]
    for (index, row) in rows.enumerated() where !places.contains(row.place) {
      let before = rows[..<index].last { places.contains($0.place) }?.number
      let behind = rows[(index + 1)...].first { places.contains($0.place) }?.number
      gaps[row.place] = RowRange(
        after: before ?? range.after, through: behind.map { $0 - 1 } ?? range.through)
    }
    return gaps
  }

  /// The places of those numbers that are in every longest growing run.
  private static func inLongestRuns(_ numbers: [Int64]) -> [Int] {
    let ending = longestEnding(numbers)
    // The same from behind, where falling numbers count as growing.
    let beginning = Array(longestEnding(numbers.reversed().map { ~$0 }).reversed())
    let longest = ending.max() ?? 0
    let inSome = numbers.indices.filter { ending[$0] + beginning[$0] == longest + 1 }
    // Two that could have the same place in such a run are in different runs.
    let counts = inSome.reduce(into: [:]) { $0[ending[$1], default: 0] += 1 }
    return inSome.filter { counts[ending[$0]] == 1 }
  }

  /// The length of the longest growing run that ends with each number.
  private static func longestEnding(_ numbers: [Int64]) -> [Int] {
    // The least last number of the runs of each length.
    var least: [Int64] = []
    return numbers.map { number in
      var (low, high) = (0, least.count)
      while low < high {
        let middle = (low + high) / 2
        if least[middle] < number { low = middle + 1 } else { high = middle }
      }
      if low == least.count { least.append(number) } else { least[low] = number }
      return low + 1
    }
  }
}
