/// Base64 by RFC 4648 section 4: the standard alphabet, with padding, and nothing else.
package enum Base64 {
  /// The reason and the place of an error in base64.
  package struct DecodingError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kind of error.
    package enum Kind: Equatable, Sendable {
      /// A byte that is not in the alphabet, or a `=` before the end.
      case invalidByte
      /// The length is no multiple of four: characters or padding are missing.
      case wrongLength
      /// Unused bits are not zero, so two texts would mean the same (section 3.5).
      case nonZeroPaddingBits
    }

    /// The kind of error.
    package let kind: Kind
    /// The offset of the offending byte in the text.
    package let offset: Int

    /// A sentence with the reason and the place.
    package var description: String {
      switch kind {
      case .invalidByte: "not a character of base64, at byte \(offset)"
      case .wrongLength: "base64 must come in groups of four characters, but ends at byte \(offset)"
      case .nonZeroPaddingBits:
        "the last character of the base64 has bits set that stand for"
          + " nothing, at byte \(offset)"
      }
    }
  }

  /// The bytes that a text encodes.
  ///
  /// Strict: no line breaks, no other alphabet, padding required and its unused bits zero, so each
  /// sequence of bytes has exactly one text.
  package static func decode(
    _ text: some Collection<UInt8>
  ) throws(DecodingError) -> [UInt8] {
    // Other modules call this unspecialised: one call for the storage is faster than one for each
    // byte.
    let result = text.withContiguousStorageIfAvailable { storage in
      Result { () throws(DecodingError) in try decode(storage) }
    }
    guard let result else { return try decode(Array(text)) }
    return try result.get()
  }

  private static func decode(
    _ text: UnsafeBufferPointer<UInt8>
  ) throws(DecodingError) -> [UInt8] {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(text.count / 4 * 3)
    var group: UInt32 = 0
    var offset = 0
    var padding = 0
    for byte in text {
      if byte == padByte, offset % 4 >= 2, padding > 0 || offset >= text.count - 2 {
        padding += 1
        group <<= 6
      } else {
        let value = values[Int(byte)]
        guard value < 64, padding == 0 else {
          throw DecodingError(kind: .invalidByte, offset: offset)
        }
        group = group << 6 | UInt32(value)
      }
      offset += 1
      guard offset % 4 == 0 else { continue }
      try append(group, padding: padding, endingAt: offset, to: &decoded)
      group = 0
    }
    guard offset % 4 == 0 else { throw DecodingError(kind: .wrongLength, offset: offset) }
    return decoded
  }

  /// The text that encodes `bytes`, with padding.
  package static func encode(_ bytes: some Collection<UInt8>) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var group: UInt32 = 0
    var count = 0
    for byte in bytes {
      group = group << 8 | UInt32(byte)
      count += 1
      guard count == 3 else { continue }
      for shift in [18, 12, 6, 0] as [UInt32] { text.append(alphabet[Int(group >> shift & 63)]) }
      (group, count) = (0, 0)
    }
    guard count > 0 else { return text }
    group <<= UInt32(8 * (3 - count))
    text.append(alphabet[Int(group >> 18 & 63)])
    text.append(alphabet[Int(group >> 12 & 63)])
    text.append(count == 2 ? alphabet[Int(group >> 6 & 63)] : padByte)
    text.append(padByte)
    return text
  }

  /// The text that encodes `bytes`, with padding, as a string.
  package static func text(of bytes: some Collection<UInt8>) -> String {
    String(decoding: encode(bytes), as: UTF8.self)
  }

  private static func append(
    _ group: UInt32, padding: Int, endingAt offset: Int, to decoded: inout [UInt8]
  ) throws(DecodingError) {
    let unused: UInt32 = padding == 0 ? 0 : padding == 1 ? 0xFF : 0xFFFF
    guard group & unused == 0 else {
      throw DecodingError(kind: .nonZeroPaddingBits, offset: offset - 1 - padding)
    }
    decoded.append(UInt8(truncatingIfNeeded: group >> 16))
    if padding < 2 { decoded.append(UInt8(truncatingIfNeeded: group >> 8)) }
    if padding < 1 { decoded.append(UInt8(truncatingIfNeeded: group)) }
  }

  private static let padByte = UInt8(ascii: "=")
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  /// The value of each byte; 255 outside the alphabet.
  private static let values: [UInt8] = {
    var values = [UInt8](repeating: 255, count: 256)
    for (value, byte) in alphabet.enumerated() { values[Int(byte)] = UInt8(value) }
    return values
  }()
}
