/// The roles that a byte may have by RFC 9110 and RFC 3986.
///
/// Every byte of a head is checked, so the sets are constants of the program. A table made at its
/// first use would cost a call at each use, to check whether it has been made.
enum CharacterClass {
  /// A set of ASCII bytes, one bit for each.
  struct Members {
    /// 0x00 to 0x3F, the least significant bit first.
    let low: UInt64
    /// 0x40 to 0x7F likewise.
    let high: UInt64

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
      let word = byte < 0x40 ? low : high
      return byte < 0x80 && word >> UInt64(byte & 0x3F) & 1 != 0
    }
  }

  /// Letters, digits and ``!#$%&'*+-.^_`|~``.
  private static let token = Members(low: 0x03FF_6CFA_0000_0000, high: 0x57FF_FFFF_C7FF_FFFE)
  /// Every visible character except ``"#<>``.
  private static let target = Members(low: 0xAFFF_FFF2_0000_0000, high: 0x7FFF_FFFF_FFFF_FFFF)
  /// Letters, digits and ``-._~!$&'()*+,;=%``.
  private static let host = Members(low: 0x2BFF_7FF2_0000_0000, high: 0x47FF_FFFE_87FF_FFFE)

  /// `tchar`: names of fields and methods (RFC 9110 section 5.6.2).
  @inline(__always)
  static func isToken(_ byte: UInt8) -> Bool { token.contains(byte) }

  /// Whether a byte may be part of a field value (RFC 9110 section 5.5).
  ///
  /// These are visible characters, space, tab and bytes from 0x80; not NUL, CR, LF or other control
  /// characters.
  @inline(__always)
  static func isField(_ byte: UInt8) -> Bool {
    byte == 0x09 || (byte >= 0x20 && byte != 0x7F)
  }

  /// Whether a byte may be part of a request target: visible ASCII except `"`, `#`, `<` and `>`.
  ///
  /// This is wider than RFC 3986, which does not allow `|`, `[` or `{`: browsers send those in
  /// queries as they are, and they are not ambiguous.
  @inline(__always)
  static func isTarget(_ byte: UInt8) -> Bool { target.contains(byte) }

  /// `reg-name`: unreserved, sub-delims and `%` (RFC 3986 section 3.2.2).
  @inline(__always)
  static func isHost(_ byte: UInt8) -> Bool { host.contains(byte) }

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
}
