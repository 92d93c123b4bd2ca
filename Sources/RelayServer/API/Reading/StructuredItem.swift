import HTTPServer
import RelayCore

/// Items of structured fields (RFC 9651 section 3.3), as far as uploads have them.
package enum StructuredItem {
  /// The largest Integer; the smallest one is its negative.
  package static let integerMax: Int64 = 999_999_999_999_999

  /// The Boolean that a field is; nil for anything else.
  ///
  /// - Parameter values: The field's lines: what stands in several is a list, and no item.
  package static func boolean(_ values: [ArraySlice<UInt8>]) -> Bool? {
    guard values.count == 1 else { return nil }
    let item = bare(values[0])
    return FieldSyntax.equals(item, "?1") ? true : FieldSyntax.equals(item, "?0") ? false : nil
  }

  /// The Integer that a field is; nil for anything else.
  ///
  /// - Parameter values: The field's lines: what stands in several is a list, and no item.
  package static func integer(_ values: [ArraySlice<UInt8>]) -> Int64? {
    guard values.count == 1 else { return nil }
    let item = bare(values[0])
    let isNegative = item.first == UInt8(ascii: "-")
    let digits = isNegative ? item.dropFirst() : item
    guard (1...15).contains(digits.count), digits.allSatisfy({ $0 &- 0x30 < 10 }) else {
      return nil
    }
    let magnitude = digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    return isNegative ? -magnitude : magnitude
  }

  /// The Byte Sequence of a key of a Dictionary of them, as `Repr-Digest` is one.
  ///
  /// - Returns: The outer nil if the key is not there, the inner one if the field is no such
  ///   Dictionary.
  package static func byteSequence(
    _ key: StaticString, in values: [ArraySlice<UInt8>]
  ) -> [UInt8]?? {
    var found: [UInt8]??
    // Neither base64 nor a key has a comma.
    for member in values.flatMap({ $0.split(separator: comma, omittingEmptySubsequences: false) }) {
      let member = FieldSyntax.trimmingWhitespace(member)
      // A field without members is an empty Dictionary.
      if member.isEmpty, values.count == 1, FieldSyntax.trimmingWhitespace(values[0]).isEmpty {
        return found
      }
      guard let equals = member.firstIndex(of: UInt8(ascii: "=")), isKey(member[..<equals]),
        let bytes = bytes(bare(member[(equals + 1)...]))
      else { return .some(nil) }
      if FieldSyntax.equals(member[..<equals], key) { found = .some(bytes) }
    }
    return found
  }

  private static let comma = UInt8(ascii: ",")

  /// Whether it is a key: letters in lower case, digits, and `_-.*`, of which the first is a letter
  /// or `*`.
  private static func isKey(_ name: ArraySlice<UInt8>) -> Bool {
    guard let first = name.first, (0x61...0x7A).contains(first) || first == UInt8(ascii: "*") else {
      return false
    }
    return name.allSatisfy {
      (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || "_-.*".utf8.contains($0)
    }
  }

  private static func bytes(_ value: ArraySlice<UInt8>) -> [UInt8]? {
    let colon = UInt8(ascii: ":")
    guard value.count >= 2, value.first == colon, value.last == colon else { return nil }
    return try? Base64.decode(value.dropFirst().dropLast())
  }

  /// The item without its parameters, and without the white space around it.
  private static func bare(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let end = text.firstIndex(of: UInt8(ascii: ";")) ?? text.endIndex
    return FieldSyntax.trimmingWhitespace(text[..<end])
  }
}
