/// Steps over pieces of JSON text, byte by byte; it reports no errors.
///
/// Everything except `endOfPlainRun` requires text that ``JSONValidator`` has passed, well formed
/// up to `end`. On other text the results are meaningless, but never lie outside `start...end`.
enum JSONScanner {
  /// The first position at or after `start` whose byte is special inside a string: a quote, a
  /// backslash, a control character, or a byte of a multi-byte UTF-8 sequence.
  ///
  /// It looks at sixty-four bytes at a time, and then at eight: long strings are most of what a
  /// relay receives, and are scanned three times on their way into an envelope.
  @inline(__always)
  static func endOfPlainRun(
    _ bytes: UnsafeRawBufferPointer, from start: Int, to end: Int
  ) -> Int {
    let ones: UInt64 = 0x0101_0101_0101_0101
    var position = start
    while position &+ 64 <= end {
      let words = bytes.loadUnaligned(fromByteOffset: position, as: SIMD8<UInt64>.self)
      // As below; the loop there finds the very byte.
      let special =
        ((words ^ (ones &* 0x02)) &- (ones &* 0x21)) | ((words ^ (ones &* 0x5C)) &- ones) | words
      let half = special.lowHalf | special.highHalf
      let quarter = half.lowHalf | half.highHalf
      if (quarter[0] | quarter[1]) & (ones &* 0x80) != 0 { break }
      position &+= 64
    }
    while position &+ 8 <= end {
      let word = UInt64(
        littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
      // The high bit of each byte is set by: a byte below 0x20 or a quote, which with one bit
      // turned is 0x20, a backslash, or a byte above 0x7F. Borrows run upwards only, so the lowest
      // bit set is always right.
      let special =
        (((word ^ (ones &* 0x02)) &- (ones &* 0x21)) | ((word ^ (ones &* 0x5C)) &- ones) | word)
        & (ones &* 0x80)
      if special != 0 { return position &+ special.trailingZeroBitCount >> 3 }
      position &+= 8
    }
    while position < end {
      let byte = bytes[position]
      if byte < 0x20 || byte >= 0x80 || byte == .quote || byte == .backslash { break }
      position &+= 1
    }
    return position
  }

  /// The first position at or after `start` that is no white space (RFC 8259 section 2).
  @inline(__always)
  static func skipWhiteSpace(
    _ bytes: UnsafeRawBufferPointer, from start: Int, to end: Int
  ) -> Int {
    var position = start
    while position < end, bytes[position].isJSONWhiteSpace { position &+= 1 }
    return position
  }

  /// The position after the closing quote of the string that opens at `start`, and whether it
  /// holds an escape.
  @inline(__always)
  static func skipString(
    _ bytes: UnsafeRawBufferPointer, from start: Int, to end: Int
  ) -> (end: Int, escaped: Bool) {
    var position = start &+ 1
    var escaped = false
    while true {
      position = endOfPlainRun(bytes, from: position, to: end)
      guard position < end else { return (end, escaped) }
      switch bytes[position] {
      case .quote: return (position &+ 1, escaped)
      case .backslash:
        escaped = true
        position &+= 2
      default: position &+= 1
      }
    }
  }

  /// The position after the value that starts at `start`.
  static func skipValue(_ bytes: UnsafeRawBufferPointer, from start: Int, to end: Int) -> Int {
    var position = start
    var depth = 0
    while position < end {
      switch bytes[position] {
      case .quote:
        position = skipString(bytes, from: position, to: end).end
        if depth == 0 { return position }
      case .openBrace, .openBracket:
        depth &+= 1
        position &+= 1
      case .closeBrace, .closeBracket:
        // At depth 0 this is the closer of the container that a scalar stands in.
        if depth == 0 { return position }
        depth &-= 1
        position &+= 1
        if depth == 0 { return position }
      case .comma where depth == 0: return position
      case let byte where depth == 0 && byte.isJSONWhiteSpace: return position
      default: position &+= 1
      }
    }
    return min(position, end)
  }
}

extension UInt8 {
  static var quote: UInt8 { 0x22 }
  static var backslash: UInt8 { 0x5C }
  static var comma: UInt8 { 0x2C }
  static var colon: UInt8 { 0x3A }
  static var openBrace: UInt8 { 0x7B }
  static var closeBrace: UInt8 { 0x7D }
  static var openBracket: UInt8 { 0x5B }
  static var closeBracket: UInt8 { 0x5D }
  static var minus: UInt8 { 0x2D }

  /// Space, tab, line feed or carriage return.
  var isJSONWhiteSpace: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }
  var isDigit: Bool { self &- 0x30 < 10 }

  /// The value of a hexadecimal digit; nil if it is none.
  var hexValue: UInt32? {
    switch self {
    case 0x30...0x39: UInt32(self &- 0x30)
    case 0x41...0x46: UInt32(self &- 0x41 &+ 10)
    case 0x61...0x66: UInt32(self &- 0x61 &+ 10)
    default: nil
    }
  }
}
