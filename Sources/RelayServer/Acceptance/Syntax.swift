import RelayCore

/// Names that senders choose: of clients, keys, lanes and tags.
enum NameSyntax {
  /// The most bytes of a name.
  static let bytesMax = 128
  /// What a name has to be, as a part of a sentence.
  static let rule = "1 to \(bytesMax) visible ASCII characters, without blanks"

  /// Whether some bytes are a name.
  static func isName(_ bytes: ArraySlice<UInt8>) -> Bool {
    guard !bytes.isEmpty, bytes.count <= bytesMax else { return false }
    for byte in bytes where byte &- 0x21 > 0x7E - 0x21 { return false }
    return true
  }
}

/// Request methods that an envelope may have.
enum MethodSyntax {
  /// The most bytes of a method.
  static let bytesMax = 32
  /// What a method has to be, as a part of a sentence.
  static let rule = "a method of at most \(bytesMax) characters, such as POST, and not CONNECT"

  /// Whether some bytes are a method: a token (RFC 9110 section 9.1) that asks for no tunnel.
  static func isMethod(_ bytes: ArraySlice<UInt8>) -> Bool {
    guard !bytes.isEmpty, bytes.count <= bytesMax else { return false }
    for byte in bytes where !FieldSyntax.isTokenByte(byte) { return false }
    return !bytes.elementsEqual("CONNECT".utf8)
  }
}

/// Sequence numbers that senders count with.
enum SequenceSyntax {
  /// From 1 to the largest whole number that every JSON reader keeps exact (RFC 8259 section 6).
  static let range: ClosedRange<Int64> = 1...(1 << 53 - 1)
  /// What a sequence number has to be, as a part of a sentence.
  static let rule = "a whole number from \(range.lowerBound) to \(range.upperBound)"

  /// The number that some decimal digits stand for; nil if they are none, or not in range.
  static func parse(_ digits: ArraySlice<UInt8>) -> Int64? {
    guard !digits.isEmpty, digits.count <= 16 else { return nil }
    var value: Int64 = 0
    for digit in digits {
      guard digit &- 0x30 < 10 else { return nil }
      value = value * 10 + Int64(digit - 0x30)
    }
    return range.contains(value) ? value : nil
  }
}

/// Values of header fields.
enum FieldValue {
  /// A value without the blanks and tabs around it (RFC 9110 section 5.5).
  static func trimmed(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var start = value.startIndex
    var end = value.endIndex
    while start < end, isBlank(value[start]) { start += 1 }
    while end > start, isBlank(value[end - 1]) { end -= 1 }
    return value[start..<end]
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}

/// Comparisons of names of header fields, without regard to case (RFC 9110 section 5.1).
enum FieldName {
  /// Whether `name` is `other`.
  static func equals(_ name: ArraySlice<UInt8>, _ other: StaticString) -> Bool {
    name.count == other.utf8CodeUnitCount && hasPrefix(name, other)
  }

  /// Whether `name` begins with `prefix`.
  static func hasPrefix(_ name: ArraySlice<UInt8>, _ prefix: StaticString) -> Bool {
    guard name.count >= prefix.utf8CodeUnitCount else { return false }
    return prefix.withUTF8Buffer { prefix in
      var index = name.startIndex
      for expected in prefix {
        guard lowercased(name[index]) == lowercased(expected) else { return false }
        index += 1
      }
      return true
    }
  }

  /// Whether two names are the same.
  static func equal(_ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>) -> Bool {
    guard left.count == right.count else { return false }
    var other = right.startIndex
    for byte in left {
      guard lowercased(byte) == lowercased(right[other]) else { return false }
      other += 1
    }
    return true
  }

  /// ASCII letters in lower case; every other byte as it is.
  @inline(__always)
  static func lowercased(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }
}
