/// The characters of header fields, and how their names are compared (RFC 9110 sections 5.1, 5.5
/// and 5.6.2).
package enum FieldSyntax {
  /// Whether a byte may be part of a token.
  package static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"),
      UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"),
      UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^"), UInt8(ascii: "_"),
      UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
      true
    default: false
    }
  }

  /// Whether a byte may be part of a field's value: visible, blank, tab, or beyond ASCII.
  package static func isValueByte(_ byte: UInt8) -> Bool {
    byte == 0x09 || (byte >= 0x20 && byte != 0x7F)
  }

  /// Whether two names are the same, ignoring case.
  ///
  /// Slices and loops rather than generic collections: every request calls this dozens of times,
  /// from modules where generic code would be called through its metadata.
  @inlinable
  package static func equalIgnoringCase(
    _ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>
  ) -> Bool {
    guard left.count == right.count else { return false }
    var index = right.startIndex
    for byte in left {
      guard lowercased(byte) == lowercased(right[index]) else { return false }
      index += 1
    }
    return true
  }

  /// Whether some bytes are a name, ignoring case.
  @inlinable
  package static func equals(_ bytes: ArraySlice<UInt8>, _ name: StaticString) -> Bool {
    bytes.count == name.utf8CodeUnitCount && hasPrefix(bytes, name)
  }

  /// Whether some bytes are a name that is given in lower case, ignoring case.
  @inlinable
  package static func equals(_ bytes: Span<UInt8>, _ name: StaticString) -> Bool {
    guard bytes.count == name.utf8CodeUnitCount else { return false }
    return name.withUTF8Buffer { name in
      for index in bytes.indices where lowercased(bytes[index]) != name[index] { return false }
      return true
    }
  }

  /// Whether some bytes begin with a prefix, ignoring case.
  @inlinable
  package static func hasPrefix(_ bytes: ArraySlice<UInt8>, _ prefix: StaticString) -> Bool {
    guard bytes.count >= prefix.utf8CodeUnitCount else { return false }
    return prefix.withUTF8Buffer { prefix in
      bytes.withUnsafeBufferPointer { bytes in
        prefix.indices.allSatisfy { isSameLetter(bytes[$0], prefix[$0]) }
      }
    }
  }

  /// Whether two bytes are the same, ignoring case; most are the same anyway.
  @inlinable @inline(__always)
  package static func isSameLetter(_ left: UInt8, _ right: UInt8) -> Bool {
    left == right || lowercased(left) == lowercased(right)
  }

  /// The ASCII letter in lower case; any other byte as it is.
  @inlinable @inline(__always)
  package static func lowercased(_ byte: UInt8) -> UInt8 {
    byte &- 0x41 < 26 ? byte | 0x20 : byte
  }

  /// The bytes without blanks and tabs at both ends.
  @inlinable
  package static func trimmingWhitespace(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var start = bytes.startIndex
    var end = bytes.endIndex
    while start < end, bytes[start] == 0x20 || bytes[start] == 0x09 { start += 1 }
    while end > start, bytes[end - 1] == 0x20 || bytes[end - 1] == 0x09 { end -= 1 }
    return bytes[start..<end]
  }
}
