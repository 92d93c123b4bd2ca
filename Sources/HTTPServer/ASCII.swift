import RelayCore

/// Comparisons of bytes with names of the protocol.
enum ASCII {
  /// Whether a range of bytes spells a name, letters compared without regard to case.
  @inline(__always)
  static func equalsIgnoringCase(
    _ bytes: [UInt8], _ range: Range<Int>, _ name: StaticString
  ) -> Bool {
    guard range.count == name.utf8CodeUnitCount else { return false }
    return name.withUTF8Buffer { name in
      var index = range.lowerBound
      for expected in name {
        if FieldSyntax.lowercased(bytes[index]) != FieldSyntax.lowercased(expected) {
          return false
        }
        index += 1
      }
      return true
    }
  }

  /// A range without spaces and tabs at its ends.
  static func trimmed(_ bytes: [UInt8], _ range: Range<Int>) -> Range<Int> {
    var start = range.lowerBound
    var end = range.upperBound
    while start < end, bytes[start] == 0x20 || bytes[start] == 0x09 { start += 1 }
    while end > start, bytes[end - 1] == 0x20 || bytes[end - 1] == 0x09 { end -= 1 }
    return start..<end
  }

  /// The elements of a comma-separated list, trimmed; empty ones included.
  static func elements(_ bytes: [UInt8], _ range: Range<Int>) -> [Range<Int>] {
    var result: [Range<Int>] = []
    var start = range.lowerBound
    for index in range where bytes[index] == 0x2C {
      result.append(trimmed(bytes, start..<index))
      start = index + 1
    }
    result.append(trimmed(bytes, start..<range.upperBound))
    return result
  }
}
