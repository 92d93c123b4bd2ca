/// Percent-encoding (RFC 3986 section 2.1).
package enum PercentEncoding {
  /// The character at an index, decoded if it is an escape, and the index of the next.
  package static func decodedByte(
    of text: ArraySlice<UInt8>, at index: Int
  ) -> (byte: UInt8, next: Int) {
    guard let byte = escapedByte(of: text, at: index) else { return (text[index], index + 1) }
    return (byte, index + 3)
  }

  /// The character that the escape at an index stands for; nil if there is no escape.
  package static func escapedByte(of text: ArraySlice<UInt8>, at index: Int) -> UInt8? {
    guard text[index] == UInt8(ascii: "%"), index + 2 < text.endIndex,
      let high = hexValue(text[index + 1]), let low = hexValue(text[index + 2])
    else { return nil }
    return high << 4 | low
  }

  /// The text that some bytes encode; nil for a `%` without two hexadecimal digits, for bytes that
  /// are not UTF-8, and for NUL.
  package static func decode(
    _ bytes: ArraySlice<UInt8>, plusIsSpace: Bool = false
  ) -> String? {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(bytes.count)
    var index = bytes.startIndex
    while index < bytes.endIndex {
      var byte = bytes[index]
      if byte == 0x25 {
        guard let escaped = escapedByte(of: bytes, at: index) else { return nil }
        byte = escaped
        index += 2
      } else if plusIsSpace, byte == 0x2B {
        byte = 0x20
      }
      guard byte != 0 else { return nil }
      decoded.append(byte)
      index += 1
    }
    return String(validating: decoded, as: UTF8.self)
  }

  /// The bytes, with all but unreserved characters encoded (section 2.3).
  package static func encode(_ bytes: some Collection<UInt8>) -> [UInt8] {
    var encoded: [UInt8] = []
    encoded.reserveCapacity(bytes.count)
    for byte in bytes {
      if isUnreserved(byte) {
        encoded.append(byte)
      } else {
        encoded += [UInt8(ascii: "%"), hexDigit(byte >> 4), hexDigit(byte & 0xF)]
      }
    }
    return encoded
  }

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "_"), UInt8(ascii: "~"):
      true
    default: false
    }
  }

  private static func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
  }

  private static func hexValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x41 + 10
    case 0x61...0x66: byte - 0x61 + 10
    default: nil
    }
  }
}
