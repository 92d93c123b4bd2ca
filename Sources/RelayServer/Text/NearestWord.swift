/// Guesses which known word a mistyped one was meant to be.
package enum NearestWord {
  /// The known word that is fewest edits away, if it is near enough to be what was meant.
  package static func find(_ word: String, in known: [String]) -> String? {
    let near = known.map { (word: $0, distance: distance(word.lowercased(), $0.lowercased())) }
      .min { $0.distance < $1.distance }
    guard let near, near.distance <= max(2, near.word.utf8.count / 3) else { return nil }
    return near.word
  }

  /// The number of insertions, deletions, replacements and swaps of neighbours that turn one into
  /// the other (the "optimal string alignment" distance).
  static func distance(_ left: String, _ right: String) -> Int {
    let left = Array(left.utf8.prefix(64))
    let right = Array(right.utf8.prefix(64))
    var beforeLast: [Int] = []
    var last = Array(0...right.count)
    for row in left.indices {
      var current = [row + 1]
      for column in right.indices {
        let cost = left[row] == right[column] ? 0 : 1
        var best = min(last[column + 1] + 1, current[column] + 1, last[column] + cost)
        if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
          best = min(best, beforeLast[column - 1] + 1)
        }
        current.append(best)
      }
      (beforeLast, last) = (last, current)
    }
    return last[right.count]
  }
}
