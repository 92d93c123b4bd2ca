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

  private func number(_ unit: UInt16) -> String {
    let digits = String(unit, radix: 16, uppercase: isUppercase)
    return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
  }
}
