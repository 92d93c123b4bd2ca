/// Decodes the inside of a JSON string.
enum JSONText {
  /// The UTF-8 of the string whose inside, without the quotes, lies from `start` to `end`.
  ///
  /// The text must have passed ``JSONValidator``, so that every escape is complete.
  static func decode(_ bytes: UnsafeRawBufferPointer, from start: Int, to end: Int) -> [UInt8] {
    // Most strings have no escapes. Rebased, since a slice of a buffer is copied byte by byte.
    let plainEnd = JSONScanner.endOfPlainRun(bytes, from: start, to: end)
    let plain = UnsafeRawBufferPointer(rebasing: bytes[start..<plainEnd])
    if plainEnd == end { return Array(plain) }
    var text: [UInt8] = []
    text.reserveCapacity(end - start)
    text.append(contentsOf: plain)
    var position = plainEnd
    while position < end {
      let byte = bytes[position]
      if byte == .backslash, position + 1 < end {
        position = decodeEscape(bytes, at: position, to: end, into: &text)
      } else {
        let runEnd = max(JSONScanner.endOfPlainRun(bytes, from: position, to: end), position + 1)
        text.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[position..<runEnd]))
        position = runEnd
      }
    }
    return text
  }

  /// Appends the text of the escape at `start`, and returns the position after it.
  private static func decodeEscape(
    _ bytes: UnsafeRawBufferPointer, at start: Int, to end: Int, into text: inout [UInt8]
  ) -> Int {
    switch bytes[start + 1] {
    case 0x62: text.append(0x08)
    case 0x66: text.append(0x0C)
    case 0x6E: text.append(0x0A)
    case 0x72: text.append(0x0D)
    case 0x74: text.append(0x09)
    case 0x75:
      let first = codeUnit(bytes, at: start, to: end)
      guard first & 0xFC00 == 0xD800 else {
        append(first, to: &text)
        return min(start + 6, end)
      }
      // The path to a fault is made of text that has not passed: a half may stand alone there.
      let second = start + 12 <= end ? codeUnit(bytes, at: start + 6, to: end) : 0
      guard second & 0xFC00 == 0xDC00 else {
        append(first, to: &text)
        return min(start + 6, end)
      }
      append(0x10000 + ((first & 0x3FF) << 10 | second & 0x3FF), to: &text)
      return min(start + 12, end)
    case let itself: text.append(itself)
    }
    return start + 2
  }

  private static func codeUnit(
    _ bytes: UnsafeRawBufferPointer, at escape: Int, to end: Int
  ) -> UInt32 {
    var value: UInt32 = 0
    for index in (escape + 2)..<(escape + 6) where index < end {
      value = value << 4 | (bytes[index].hexValue ?? 0)
    }
    return value
  }

  private static func append(_ scalar: UInt32, to text: inout [UInt8]) {
    let encoded = Unicode.Scalar(scalar).flatMap(UTF8.encode)
    text.append(contentsOf: encoded ?? UTF8.encodedReplacementCharacter)
  }
}
