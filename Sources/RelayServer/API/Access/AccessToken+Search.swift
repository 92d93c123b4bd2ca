import RelayCore

// Tokens of the relay's own within what is meant for somebody else.

extension AccessToken {
  /// Whether a token of the relay's stands anywhere in a field's value, in whatever scheme, list or
  /// quotes, and with whatever before and behind it; also in what `Basic` packs (RFC 7617).
  ///
  /// Only the form is looked at: whether the token is good, or was, is no question here. Capital
  /// letters count as small ones, since who reads the secret can write it either way.
  package static func isHeld(in value: ArraySlice<UInt8>) -> Bool {
    guard value.count >= textBytesMin else { return false }
    if value.withUnsafeBufferPointer({ holdsToken($0) }) { return true }
    return packed(value).map { bytes in bytes.withUnsafeBufferPointer { holdsToken($0) } } ?? false
  }

  private static let secretDigits = 2 * secretBytes
  private static let idDigits = 16
  private static let prefixBytes = 4
  /// The shortest token: an operator's.
  private static let textBytesMin = prefixBytes + secretDigits

  /// The decoded value of the scheme `Basic`; nil for another scheme, and for a malformed value.
  private static func packed(_ value: ArraySlice<UInt8>) -> [UInt8]? {
    guard FieldSyntax.hasPrefix(value, "Basic") else { return nil }
    let text = FieldSyntax.trimmingWhitespace(value.dropFirst("Basic".utf8.count))
    // Some leave the padding out.
    let digits = text.prefix { $0 != UInt8(ascii: "=") }
    let padding = [UInt8](repeating: UInt8(ascii: "="), count: (4 - digits.count % 4) % 4)
    return try? Base64.decode(digits + padding)
  }

  private static func holdsToken(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    guard text.count >= textBytesMin else { return false }
    for place in 0...text.count - textBytesMin where text[place] | 0x20 == UInt8(ascii: "w") {
      guard text[place + 1] | 0x20 == UInt8(ascii: "s"), text[place + 3] == UInt8(ascii: "_") else {
        continue
      }
      let start = place + prefixBytes
      switch text[place + 2] | 0x20 {
      case UInt8(ascii: "o"):
        if isSecret(text, at: start) { return true }
      case UInt8(ascii: "t"):
        if digitCount(text, from: start, countMax: idDigits) == idDigits,
          holds("_", text, at: start + idDigits), isSecret(text, at: start + idDigits + 1)
        {
          return true
        }
      case UInt8(ascii: "k"):
        if isDerived(text, at: start) { return true }
      default: break
      }
    }
    return false
  }

  /// Whether a key's name, a client's in digits and a code stand there.
  private static func isDerived(_ text: UnsafeBufferPointer<UInt8>, at start: Int) -> Bool {
    var place = start
    while place < text.count, place - start < KeyNameSyntax.bytesMax,
      KeyNameSyntax.isNameByte(text[place])
    {
      place += 1
    }
    guard place > start, holds(".", text, at: place) else { return false }
    place += 1
    let client = digitCount(text, from: place, countMax: 2 * NameSyntax.bytesMax)
    guard client > 0, holds(".", text, at: place + client) else { return false }
    return isSecret(text, at: place + client + 1)
  }

  private static func isSecret(_ text: UnsafeBufferPointer<UInt8>, at place: Int) -> Bool {
    digitCount(text, from: place, countMax: secretDigits) == secretDigits
  }

  private static func holds(
    _ mark: Unicode.Scalar, _ text: UnsafeBufferPointer<UInt8>, at place: Int
  ) -> Bool {
    place < text.count && text[place] == UInt8(ascii: mark)
  }

  /// The number of hexadecimal digits in a row, up to a limit.
  private static func digitCount(
    _ text: UnsafeBufferPointer<UInt8>, from start: Int, countMax: Int
  ) -> Int {
    let end = min(text.count, start + countMax)
    var place = start
    while place < end {
      let byte = text[place]
      guard (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte | 0x20) else { break }
      place += 1
    }
    return max(0, place - start)
  }
}
