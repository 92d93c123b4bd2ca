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

  /// A text of JSON with its escapes of ASCII characters undone, and where each byte stood; the
  /// last place is the text's end.
  static func unescaped(_ text: [UInt8]) -> (bytes: [UInt8], places: [Int]) {
    var bytes: [UInt8] = []
    var places: [Int] = []
    bytes.reserveCapacity(text.count)
    places.reserveCapacity(text.count + 1)
    var index = 0
    while index < text.count {
      places.append(index)
      let (byte, count) = escape(in: text, at: index) ?? (text[index], 1)
      bytes.append(byte)
      index += count
    }
    places.append(text.count)
    return (bytes, places)
  }

  /// An escape of an ASCII character, and its length; nil if none is there.
  private static func escape(in text: [UInt8], at index: Int) -> (UInt8, count: Int)? {
    guard text[index] == UInt8(ascii: "\\"), index + 1 < text.count else { return nil }
    switch text[index + 1] {
    case UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "/"): return (text[index + 1], 2)
    case UInt8(ascii: "u") where index + 6 <= text.count:
      let digits = String(decoding: text[(index + 2)..<(index + 6)], as: UTF8.self)
      return UInt8(digits, radix: 16).flatMap { $0 < 0x80 ? ($0, 6) : nil }
    default: return nil
    }
  }

  private func number(_ unit: UInt16) -> String {
    let digits = String(unit, radix: 16, uppercase: isUppercase)
    return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
  }
}
