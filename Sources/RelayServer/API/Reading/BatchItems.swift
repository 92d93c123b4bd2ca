import JSON

/// Cuts a batch into the texts of its items, without looking into them.
package enum BatchItems {
  /// The items of a JSON array.
  ///
  /// - Throws: `malformed-json` if the text is no array, `batch-too-large` if it has too many
  ///   elements, `invalid-field` if it has none.
  package static func ofArray(
    _ text: [UInt8], countMax: Int
  ) throws(Problem) -> [Range<Int>] {
    let items: [Range<Int>]
    do throws(JSONError) {
      items = try JSONArraySplitter.elementRanges(of: text, countMax: countMax)
    } catch {
      if error.kind == .tooManyElements { throw .batchTooLarge(countMax: countMax) }
      throw .malformedJSON(error, in: text[...])
    }
    return try notEmpty(items)
  }

  /// The items of newline-delimited JSON, one a line.
  ///
  /// Lines end by LF or CR LF, the last one maybe by nothing; lines of white space alone are left
  /// out.
  ///
  /// - Parameter leadingCount: The number of lines ahead of them that are none; they are given back
  ///   with the items.
  /// - Throws: `batch-too-large` if there are too many items, `invalid-field` if there is none, and
  ///   no line ahead of them is asked for.
  package static func ofLines(
    _ text: [UInt8], countMax: Int, leadingCount: Int = 0
  ) throws(Problem) -> [Range<Int>] {
    var items: [Range<Int>] = []
    var start = 0
    while start < text.count {
      let end = text.place(of: 0x0A, from: start) ?? text.count
      let line = start..<end
      start = end + 1
      if text[line].allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { continue }
      guard items.count < countMax + leadingCount else { throw .batchTooLarge(countMax: countMax) }
      items.append(line)
    }
    return leadingCount > 0 ? items : try notEmpty(items)
  }

  /// Counts the lines ahead of items, each line once, however many items are asked about.
  package struct LineCount {
    private var line = 1
    /// Where that line begins.
    private var start = 0
    /// Everything before this has been looked at.
    private var place = 0

    /// A count that begins with the text.
    package init() {}

    /// The line in which an item begins; nil if something stands before it there.
    ///
    /// - Parameter item: One behind those that were asked about before.
    package mutating func line(of item: Range<Int>, in text: [UInt8]) -> Int? {
      while place < item.lowerBound {
        if text[place] == 0x0A {
          line += 1
          start = place + 1
        }
        place += 1
      }
      return start == item.lowerBound ? line : nil
    }
  }

  private static func notEmpty(_ items: [Range<Int>]) throws(Problem) -> [Range<Int>] {
    guard items.isEmpty else { return items }
    throw .invalidField("", "The batch is empty.", fix: "Send at least one envelope.")
  }
}
