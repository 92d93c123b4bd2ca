/// The characters of header fields, and how their names are compared (RFC 9110 sections 5.1, 5.5
/// and 5.6.2).
package enum FieldSyntax {
  /// Whether the byte may stand in a token.
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

  /// Whether the byte may stand in a field's value: visible, blank, tab, or beyond ASCII.
  package static func isValueByte(_ byte: UInt8) -> Bool {
    byte == 0x09 || (byte >= 0x20 && byte != 0x7F)
  }

  /// Whether two names are the same when letters' case does not count.
  @inlinable
  package static func equalIgnoringCase(
    _ left: some Collection<UInt8>, _ right: some Collection<UInt8>
  ) -> Bool {
    left.count == right.count && zip(left, right).allSatisfy { lowercased($0) == lowercased($1) }
  }

  /// Whether some bytes are a name, when letters' case does not count.
  @inlinable
  package static func equals(_ bytes: some Collection<UInt8>, _ name: StaticString) -> Bool {
    bytes.count == name.utf8CodeUnitCount && hasPrefix(bytes, name)
  }

  /// Whether some bytes begin with a prefix, when letters' case does not count.
  @inlinable
  package static func hasPrefix(_ bytes: some Collection<UInt8>, _ prefix: StaticString) -> Bool {
    guard bytes.count >= prefix.utf8CodeUnitCount else { return false }
    return prefix.withUTF8Buffer { prefix in
      zip(bytes, prefix).allSatisfy { lowercased($0) == lowercased($1) }
    }
  }

  /// The ASCII letter in lower case; any other byte as it is.
  @inlinable
  package static func lowercased(_ byte: UInt8) -> UInt8 {
    byte &- 0x41 < 26 ? byte | 0x20 : byte
  }

  /// The bytes without the blanks and tabs at both ends.
  package static func trimmingWhitespace<Bytes: BidirectionalCollection>(
    _ bytes: Bytes
  ) -> Bytes.SubSequence where Bytes.Element == UInt8 {
    func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
    let head = bytes.drop(while: isBlank)
    guard let last = head.lastIndex(where: { !isBlank($0) }) else { return head }
    return head[head.startIndex...last]
  }
}
