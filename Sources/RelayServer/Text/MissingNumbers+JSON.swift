import JSON
import RelayCore

extension JSONWriter {
  /// Writes the sequence numbers that are waited for as `missing`, and that there are more of them
  /// as `moreMissing`; nothing where none are.
  mutating func member(_ missing: MissingNumbers) {
    guard !missing.isEmpty else { return }
    member("missing", missing.ranges)
    if missing.hasMore { member("moreMissing", true) }
  }

  /// Writes a member that is an array of stretches of sequence numbers.
  mutating func member(_ name: String, _ ranges: [SequenceRange]) {
    memberArray(name) { json in
      for range in ranges {
        json.object { json in
          json.member("first", range.first)
          json.member("last", range.last)
        }
      }
    }
  }
}

extension MissingNumbers {
  /// The numbers as they stand in a sentence: "3, 5 to 7 and more".
  var words: String {
    let shownMax = 4
    let shown = ranges.prefix(shownMax).map { range in
      range.count == 1 ? "\(range.first)" : "\(range.first) to \(range.last)"
    }.joined(separator: ", ")
    return hasMore || ranges.count > shownMax ? "\(shown) and more" : shown
  }
}
