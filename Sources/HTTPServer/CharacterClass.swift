import RelayCore

/// What a byte may be part of, as RFC 9110 and RFC 3986 spell it; one table lookup a byte.
enum CharacterClass {
  private static let tokenBit: UInt8 = 1
  private static let fieldBit: UInt8 = 2
  private static let targetBit: UInt8 = 4
  private static let hostBit: UInt8 = 8

  /// `tchar`: names of fields and methods (RFC 9110 section 5.6.2).
  @inline(__always)
  static func isToken(_ byte: UInt8) -> Bool { table[Int(byte)] & tokenBit != 0 }

  /// What a field value may hold (RFC 9110 section 5.5).
  ///
  /// Visible characters, space, tab and bytes from 0x80; no NUL, CR, LF or other control character.
  @inline(__always)
  static func isField(_ byte: UInt8) -> Bool { table[Int(byte)] & fieldBit != 0 }

  /// What a request target may hold: visible ASCII but for `"`, `#`, `<` and `>`.
  ///
  /// Wider than RFC 3986, which has no place for `|`, `[` or `{`: browsers send those in queries
  /// as they stand, and they are not ambiguous.
  @inline(__always)
  static func isTarget(_ byte: UInt8) -> Bool { table[Int(byte)] & targetBit != 0 }

  /// `reg-name`: unreserved, sub-delims and `%` (RFC 3986 section 3.2.2).
  @inline(__always)
  static func isHost(_ byte: UInt8) -> Bool { table[Int(byte)] & hostBit != 0 }

  @inline(__always)
  static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

  /// The value of a hexadecimal digit.
  @inline(__always)
  static func hexValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x41 + 10
    case 0x61...0x66: byte - 0x61 + 10
    default: nil
    }
  }

  private static let table: [UInt8] = (0...255).map { (byte: UInt8) in
    var bits: UInt8 = 0
    let isAlphanumeric =
      isDigit(byte) || (0x61...0x7A).contains(FieldSyntax.lowercased(byte))
    let isVisible = byte > 0x20 && byte < 0x7F
    if FieldSyntax.isTokenByte(byte) { bits |= tokenBit }
    if FieldSyntax.isValueByte(byte) { bits |= fieldBit }
    if isVisible && !"\"#<>".utf8.contains(byte) { bits |= targetBit }
    if isAlphanumeric || "-._~!$&'()*+,;=%".utf8.contains(byte) { bits |= hostBit }
    return bits
  }
}
