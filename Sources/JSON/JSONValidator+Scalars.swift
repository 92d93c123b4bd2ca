extension JSONValidator {
  /// Passes over a string with its quotes, and returns whether it holds an escape.
  mutating func string() throws(JSONError) -> Bool {
    var escaped = false
    position &+= 1
    while true {
      position = JSONScanner.endOfPlainRun(bytes, from: position, to: end)
      guard position < end else { throw unexpected("the closing quote of a string") }
      switch bytes[position] {
      case .quote:
        position &+= 1
        return escaped
      case .backslash:
        escaped = true
        try escape()
      case 0x80...: try multiByteCharacter()
      default:
        throw error(
          .controlCharacter, "\(found) stands unescaped in a string; write it as an escape")
      }
    }
  }

  private mutating func escape() throws(JSONError) {
    guard position &+ 1 < end else {
      position = end
      throw unexpected("an escape")
    }
    switch bytes[position &+ 1] {
    case .quote, .backslash, 0x2F, 0x62, 0x66, 0x6E, 0x72, 0x74: position &+= 2
    case 0x75: try unicodeEscape()
    default:
      throw error(
        .invalidEscape, "a backslash is followed by \(JSONError.words(for: bytes[position &+ 1]))")
    }
  }

  /// `\uXXXX`, or two of them that make a surrogate pair (RFC 8259 section 7).
  private mutating func unicodeEscape() throws(JSONError) {
    let first = try hexDigits(at: position)
    if first & 0xFC00 == 0xD800 {
      guard position &+ 7 < end, bytes[position &+ 6] == .backslash, bytes[position &+ 7] == 0x75,
        try hexDigits(at: position &+ 6) & 0xFC00 == 0xDC00
      else {
        throw error(.loneSurrogate, "an escape names the first half of a surrogate pair alone")
      }
      position &+= 12
      return
    }
    if first & 0xFC00 == 0xDC00 {
      throw error(.loneSurrogate, "an escape names the second half of a surrogate pair alone")
    }
    position &+= 6
  }

  /// The value of the four digits after the `\u` at `escape`.
  private func hexDigits(at escape: Int) throws(JSONError) -> UInt32 {
    var value: UInt32 = 0
    for index in (escape + 2)..<(escape + 6) {
      guard index < end else {
        throw error(.unexpectedEnd, "the text ends inside an escape", at: end)
      }
      guard let digit = bytes[index].hexValue else {
        throw error(.invalidEscape, "\"\\u\" must be followed by four hexadecimal digits")
      }
      value = value << 4 | digit
    }
    return value
  }

  /// Passes over one character of two to four bytes (RFC 3629 section 4).
  private mutating func multiByteCharacter() throws(JSONError) {
    let lead = bytes[position]
    let length: Int
    let second: ClosedRange<UInt8>
    switch lead {
    case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
    case 0xE0: (length, second) = (3, 0xA0...0xBF)
    case 0xED: (length, second) = (3, 0x80...0x9F)
    case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
    case 0xF0: (length, second) = (4, 0x90...0xBF)
    case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
    case 0xF4: (length, second) = (4, 0x80...0x8F)
    default: throw invalidUTF8
    }
    guard position &+ length <= end, second.contains(bytes[position &+ 1]) else {
      throw invalidUTF8
    }
    for index in 2..<max(length, 2) where bytes[position &+ index] & 0xC0 != 0x80 {
      throw invalidUTF8
    }
    position &+= length
  }

  private var invalidUTF8: JSONError {
    error(.invalidUTF8, "JSON text must be UTF-8, but \(found) begins no character")
  }

  /// `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?` (RFC 8259 section 6).
  mutating func number() throws(JSONError) {
    let numberStart = position
    if bytes[position] == .minus { position &+= 1 }
    if position < end, bytes[position] == 0x30 {
      position &+= 1
      if position < end, bytes[position].isDigit {
        throw error(.invalidNumber, "a number must not begin with a zero", at: numberStart)
      }
    } else {
      try digits("a digit")
    }
    if position < end, bytes[position] == 0x2E {
      position &+= 1
      try digits("a digit after the decimal point")
    }
    if position < end, bytes[position] | 0x20 == 0x65 {
      position &+= 1
      if position < end, bytes[position] == 0x2B || bytes[position] == .minus { position &+= 1 }
      try digits("a digit of the exponent")
    }
  }

  private mutating func digits(_ expected: String) throws(JSONError) {
    let first = position
    while position < end, bytes[position].isDigit { position &+= 1 }
    guard position > first else {
      throw error(
        position < end ? .invalidNumber : .unexpectedEnd, "expected \(expected) but found \(found)")
    }
  }
}
