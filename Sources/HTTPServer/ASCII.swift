import RelayCore

/// Comparisons of bytes with the protocol's names.
enum ASCII {
  /// Whether a range of bytes is a name, ignoring case.
  @inline(__always)
  static func equalsIgnoringCase(
    _ bytes: [UInt8], _ range: Range<Int>, _ name: StaticString
  ) -> Bool {
    guard range.count == name.utf8CodeUnitCount else { return false }
    return name.withUTF8Buffer { name in
      var index = range.lowerBound
      for expected in name {
        guard FieldSyntax.isSameLetter(bytes[index], expected) else { return false }
        index += 1
      }
      return true
    }
  }

  /// Whether a range of bytes is exactly a text.
  @inline(__always)
  static func equals(_ bytes: [UInt8], _ range: Range<Int>, _ text: StaticString) -> Bool {
    guard range.count == text.utf8CodeUnitCount else { return false }
    return text.withUTF8Buffer { text in
      for index in text.indices where bytes[range.lowerBound + index] != text[index] {
        return false
      }
      return true
    }
  }

  /// The range without spaces and tabs at its ends.
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
