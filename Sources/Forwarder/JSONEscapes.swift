/// How a writer of JSON escapes a text (RFC 8259 section 7), as far as writers differ.
struct JSONEscapes: Sendable {
  /// The characters that it writes as `\u` and four digits, though it need not.
  var escapesAsNumbers: @Sendable (Unicode.Scalar) -> Bool = { _ in false }
  /// Whether it writes `\/`.
  var escapesSlash = false
  /// Whether its digits are capital letters.
  var isUppercase = false

  /// What the usual ones do: no more than they must, that and slashes, and the standard libraries
  /// of Go (characters of HTML), Python (all but ASCII), PHP (that and slashes) and .NET.
  static let usual = [
    JSONEscapes(),
    JSONEscapes(escapesSlash: true),
    JSONEscapes(escapesAsNumbers: { "&<>\u{2028}\u{2029}".unicodeScalars.contains($0) }),
    JSONEscapes(escapesAsNumbers: { !$0.isASCII }),
    JSONEscapes(escapesAsNumbers: { !$0.isASCII }, escapesSlash: true),
    JSONEscapes(
      escapesAsNumbers: { !$0.isASCII || "\"&'+<>`".unicodeScalars.contains($0) },
      isUppercase: true),
  ]

  /// The text as it stands between quotation marks.
  func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case _ where escapesAsNumbers(scalar):
        for unit in UTF16.encode(scalar) ?? .init() { result += number(unit) }
      case "\"", "\\": result += "\\\(scalar)"
      case "/" where escapesSlash: result += "\\/"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// The byte that a text of JSON has at a place, with an escape of an ASCII character undone, and
  /// the number of bytes as which it is written.
  static func character(in text: [UInt8], at index: Int) -> (byte: UInt8, count: Int) {
    let first = text[index]
    guard first == UInt8(ascii: "\\"), index + 1 < text.count else { return (first, 1) }
    switch text[index + 1] {
    case UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "/"): return (text[index + 1], 2)
    case UInt8(ascii: "u") where index + 6 <= text.count:
      var value = 0
      for place in (index + 2)..<(index + 6) {
        guard let digit = digit(text[place]) else { return (first, 1) }
        value = value << 4 | digit
      }
      return value < 0x80 ? (UInt8(value), 6) : (first, 1)
    default: return (first, 1)
    }
  }

  private static func digit(_ byte: UInt8) -> Int? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): Int(byte - UInt8(ascii: "a")) + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): Int(byte - UInt8(ascii: "A")) + 10
    default: nil
    }
  }

  private func number(_ unit: UInt16) -> String {
    let digits = String(unit, radix: 16, uppercase: isUppercase)
    return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
  }
}
