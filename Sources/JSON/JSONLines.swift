/// Cuts newline-delimited JSON (`application/x-ndjson`) into its lines, without looking into them.
///
/// A line feed cannot stand inside a JSON text unless between its tokens, and NDJSON forbids it
/// there; so each line is read on its own, and a bad one leaves the others readable.
package enum JSONLines {
  /// The ranges of the lines that hold something, without white space around them.
  ///
  /// - Throws: ``JSONError/Kind/tooManyElements`` if there are more than `countMax`.
  package static func lineRanges(
    of text: [UInt8], countMax: Int
  ) throws(JSONError) -> [Range<Int>] {
    var ranges: [Range<Int>] = []
    var start = 0
    while start < text.count {
      let end = text[start...].firstIndex(of: 0x0A) ?? text.count
      let line = trimmed(text[start..<end])
      if !line.isEmpty {
        guard ranges.count < countMax else {
          throw JSONError(
            kind: .tooManyElements, offset: line.lowerBound, path: "",
            reason: "there are more than \(countMax) lines")
        }
        ranges.append(line)
      }
      start = end + 1
    }
    return ranges
  }

  private static func trimmed(_ line: ArraySlice<UInt8>) -> Range<Int> {
    guard let first = line.firstIndex(where: { !$0.isJSONWhiteSpace }),
      let last = line.lastIndex(where: { !$0.isJSONWhiteSpace })
    else { return line.startIndex..<line.startIndex }
    return first..<(last + 1)
  }
}
