extension JSONValidator {
  /// An error at `offset`, or here, with the path to it.
  func error(_ kind: JSONError.Kind, _ reason: String, at offset: Int? = nil) -> JSONError {
    let offset = offset ?? position
    return JSONError(
      kind: kind, offset: offset,
      path: JSONPointer.path(to: offset, in: bytes, from: start, to: end), reason: reason)
  }

  /// The error for a byte, or the end, where `expected` should stand.
  func unexpected(_ expected: String) -> JSONError {
    error(
      position < end ? .unexpectedByte : .unexpectedEnd, "expected \(expected) but found \(found)")
  }

  /// The byte at this position, or the end, in words.
  var found: String {
    guard position < end else { return "the end of the text" }
    return JSONError.words(for: bytes[position])
  }
}

extension JSONError {
  /// A byte in words: itself if it is visible ASCII, its number otherwise.
  static func words(for byte: UInt8) -> String {
    switch byte {
    case 0x22: return "a quote"
    case 0x21...0x7E: return "\"\(Character(Unicode.Scalar(byte)))\""
    case 0x20: return "a space"
    case 0x0A: return "a line feed"
    default:
      let digits = String(byte, radix: 16, uppercase: true)
      return "the byte 0x" + (digits.utf8.count < 2 ? "0" : "") + digits
    }
  }
}
