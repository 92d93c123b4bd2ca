/// The strings of a JSON text at any place, names of members included.
package enum JSONStrings {
  /// The ranges of all strings, with their quotes, in order.
  ///
  /// The text has to be well formed, or consist of several well-formed texts in a row.
  package static func ranges(in text: [UInt8]) -> [Range<Int>] {
    text.withUnsafeBytes { bytes in
      var ranges: [Range<Int>] = []
      var position = 0
      while position < bytes.count {
        guard bytes[position] == .quote else {
          position += 1
          continue
        }
        let end = JSONScanner.skipString(bytes, from: position, to: bytes.count).end
        ranges.append(position..<end)
        position = end
      }
      return ranges
    }
  }

  /// The UTF-8 of a string's text, its escapes resolved.
  ///
  /// - Parameter range: A range that ``ranges(in:)`` returned.
  package static func utf8(of text: [UInt8], in range: Range<Int>) -> [UInt8] {
    text.withUnsafeBytes {
      JSONText.decode($0, from: range.lowerBound + 1, to: range.upperBound - 1)
    }
  }

  /// A string as JSON: quoted, and escaped where RFC 8259 section 7 requires it.
  package static func quoted(utf8 text: [UInt8]) -> [UInt8] {
    var json = JSONWriter()
    json.string(utf8: text)
    return json.finish()
  }
}
