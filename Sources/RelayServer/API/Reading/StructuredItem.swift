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
  /// - Returns: The outer nil if the key is not there, the inner one if its value is no such thing.
  package static func byteSequence(
    _ key: StaticString, in values: [ArraySlice<UInt8>]
  ) -> [UInt8]?? {
    var found: [UInt8]??
    // Neither base64 nor a key has a comma.
    for member in values.flatMap({ $0.split(separator: UInt8(ascii: ",")) }) {
      let member = FieldSyntax.trimmingWhitespace(member)
      guard let equals = member.firstIndex(of: UInt8(ascii: "=")),
        FieldSyntax.equals(member[..<equals], key)
      else { continue }
      let value = bare(member[(equals + 1)...])
      let colon = UInt8(ascii: ":")
      guard value.count >= 2, value.first == colon, value.last == colon else {
        found = .some(nil)
        continue
      }
      found = .some(try? Base64.decode(value.dropFirst().dropLast()))
    }
    return found
  }

  /// The item without its parameters, and without the white space around it.
  private static func bare(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let end = text.firstIndex(of: UInt8(ascii: ";")) ?? text.endIndex
    return FieldSyntax.trimmingWhitespace(text[..<end])
  }
}
