// The standard library's own `firstRange(of:)`, `contains(_:)` and `replacing(_:with:)` bring its
// regular expressions into each program that is linked statically: more than a megabyte of an app.

extension Collection where Element == UInt8 {
  /// Where some bytes stand in it first; nil if they stand nowhere.
  package func firstOccurrence(of wanted: some Collection<UInt8>) -> Range<Index>? {
    var start = startIndex
    while true {
      let rest = self[start...]
      if rest.starts(with: wanted) { return start..<index(start, offsetBy: wanted.count) }
      guard start < endIndex else { return nil }
      start = index(after: start)
    }
  }
}

extension StringProtocol {
  /// Where some text stands in it first, byte by byte; nil if it stands nowhere.
  package func firstOccurrence(of text: String) -> Range<Index>? {
    utf8.firstOccurrence(of: text.utf8)
  }

  /// Whether some text stands in it.
  package func holds(_ text: String) -> Bool { firstOccurrence(of: text) != nil }

  /// The text with another one in the place of each of some.
  ///
  /// - Parameter text: Not empty.
  package func withEach(_ text: String, as other: String) -> String {
    precondition(!text.isEmpty)
    var result = ""
    var rest = self[...]
    while let found = rest.firstOccurrence(of: text) {
      result += rest[..<found.lowerBound]
      result += other
      rest = rest[found.upperBound...]
    }
    return result + rest
  }
}
