import RelayCore

/// Names that senders choose: of clients, keys, lanes and tags.
enum NameSyntax {
  /// The most bytes of a name.
  static let bytesMax = 128
  /// The rule on names, as a part of a sentence.
  static let rule = "1 to \(bytesMax) visible ASCII characters, without blanks"

  /// Whether some bytes are a name.
  static func isName(_ bytes: ArraySlice<UInt8>) -> Bool {
    guard !bytes.isEmpty, bytes.count <= bytesMax else { return false }
    for byte in bytes where byte &- 0x21 > 0x7E - 0x21 { return false }
    return true
  }
}

/// Names that operators give the keys of which clients' tokens are made.
package enum KeyNameSyntax {
  /// The most bytes of a name.
  package static let bytesMax = 32

  /// Whether a text can name a key: letters, digits, `_` and `-`.
  static func isName(_ name: String) -> Bool {
    (1...bytesMax).contains(name.utf8.count) && name.utf8.allSatisfy(isNameByte)
  }

  /// Whether a name may have this byte.
  static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
      true
    default: false
    }
  }
}

/// Lanes that senders name.
enum LaneSyntax {
  /// The lane of envelopes that name none.
  static let defaultName = "default"
}

/// Sequence numbers that senders count with.
enum SequenceSyntax {
  /// From 1 to the largest whole number that every JSON reader keeps exact (RFC 8259 section 6).
  static let range: ClosedRange<Int64> = 1...(1 << 53 - 1)
  /// The rule on sequence numbers, as a part of a sentence.
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
