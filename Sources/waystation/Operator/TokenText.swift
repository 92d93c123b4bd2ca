import JSON

/// Formats tokens as lines of text, and encodes parts of a URL.
enum TokenText {
  /// One token, as `list` shows it.
  static func line(_ token: JSONObject) -> String {
    func text(_ name: StaticString) -> String? { try? token[name]?.string() }
    var line = text("id") ?? ""
    if let client = text("client") { line += "  client \(client)" }
    if let role = text("role") { line += "  operator \(role)" }
    if let at = text("createdAt") { line += "  made \(at)" }
    if let at = text("renewedAt") { line += "  renewed \(at)" }
    if let at = text("expiresAt") { line += "  ends \(at)" }
    if let at = text("renewableUntil") { line += "  renewable until \(at)" }
    if let at = text("revokedAt") { line += "  revoked \(at)" }
    if let label = text("label") { line += "  \(label)" }
    return line
  }

  /// Whether a byte is unreserved, and so needs no encoding in a URL (RFC 3986 section 2.3).
  static func isPathByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "-"), UInt8(ascii: "~"):
      true
    default: false
    }
  }

  /// A text, percent-encoded for a path segment or a query.
  static func percentEncoded(_ text: String) -> String {
    text.utf8.reduce(into: "") { encoded, byte in
      if isPathByte(byte) {
        encoded.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        let digits = String(byte, radix: 16, uppercase: true)
        encoded += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
      }
    }
  }
}
