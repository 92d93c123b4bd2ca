/// Characters that a text of JSON (RFC 8259 section 7) or a URL (RFC 3986 section 2.1) escapes.
enum EscapedText {
  /// What stands at a place.
  enum Character: Equatable {
    /// No escape.
    case plain
    /// What could be the beginning of an escape, if the text did not end there.
    case cut
    /// An escaped byte, and the number of bytes as which it is written.
    case byte(UInt8, count: Int)
    /// An escaped character, and the number of bytes as which it is written.
    case scalar(Unicode.Scalar, count: Int)
  }

  /// The first bytes of escapes.
  static let isFirst = (0...255).map { $0 == backslash || $0 == percent }

  private static let backslash = Int(UInt8(ascii: "\\"))
  private static let percent = Int(UInt8(ascii: "%"))

  /// Reads what stands at a place of a text.
  static func character(
    in text: UnsafeMutableBufferPointer<UInt8>, at index: Int
  ) -> Character {
    switch Int(text[index]) {
    case percent:
      switch number(in: text, at: index + 1, digits: 2) {
      case .cut: .cut
      case .none: .plain
      case .some(let value): .byte(UInt8(value), count: 3)
      }
    case backslash: backslashed(in: text, at: index)
    default: .plain
    }
  }

  private static func backslashed(
    in text: UnsafeMutableBufferPointer<UInt8>, at index: Int
  ) -> Character {
    guard index + 1 < text.count else { return .cut }
    let next = text[index + 1]
    switch next {
    case UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "/"): return .byte(next, count: 2)
    case UInt8(ascii: "u"): break
    default: return .plain
    }
    switch number(in: text, at: index + 2, digits: 4) {
    case .cut: return .cut
    case .none: return .plain
    case .some(let unit):
      if let scalar = Unicode.Scalar(unit) { return .scalar(scalar, count: 6) }
      return pair(unit, in: text, at: index + 6)
    }
  }

  /// A character that is written as two numbers, the second of which stands at a place.
  private static func pair(
    _ high: Int, in text: UnsafeMutableBufferPointer<UInt8>, at index: Int
  ) -> Character {
    guard (0xD800..<0xDC00).contains(high) else { return .plain }
    for (offset, byte) in [UInt8(ascii: "\\"), UInt8(ascii: "u")].enumerated() {
      guard index + offset < text.count else { return .cut }
      guard text[index + offset] == byte else { return .plain }
    }
    switch number(in: text, at: index + 2, digits: 4) {
    case .cut: return .cut
    case .some(let low) where (0xDC00..<0xE000).contains(low):
      let value = 0x10000 + (high - 0xD800) << 10 + (low - 0xDC00)
      return Unicode.Scalar(value).map { .scalar($0, count: 12) } ?? .plain
    case .some, .none: return .plain
    }
  }

  private enum Number {
    case none
    case cut
    case some(Int)
  }

  private static func number(
    in text: UnsafeMutableBufferPointer<UInt8>, at index: Int, digits: Int
  ) -> Number {
    var value = 0
    for place in index..<(index + digits) {
      guard place < text.count else { return .cut }
      guard let digit = digit(text[place]) else { return .none }
      value = value << 4 | digit
    }
    return .some(value)
  }

  private static func digit(_ byte: UInt8) -> Int? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): Int(byte - UInt8(ascii: "a")) + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): Int(byte - UInt8(ascii: "A")) + 10
    default: nil
    }
  }
}

extension Unicode.Scalar {
  /// The character of a number; nil if that is none.
  fileprivate init?(_ value: Int) {
    guard let value = UInt32(exactly: value) else { return nil }
    self.init(value)
  }
}
