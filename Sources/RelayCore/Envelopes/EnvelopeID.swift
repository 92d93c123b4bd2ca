/// The relay's own name for an envelope: a UUIDv7 (RFC 9562 section 5.7).
///
/// The 62 free low bits belong to the store that gives the id out: only it reads them, by
/// ``EnvelopeStore/serial(in:)``. ``init(serial:acceptedAt:random:)`` begins them with the
/// envelope's 40-bit number, as RFC 9562 section 6.2 allows for a dedicated counter, so a look-up
/// by id is a look-up by the store's own row number and costs no index at acceptance. The other 34
/// free bits are random.
package struct EnvelopeID: Hashable, Sendable {
  /// The first eight bytes, in network order: 48 bits of time, the version, 12 random bits.
  package let high: UInt64
  /// The last eight bytes: the variant, the serial, 22 random bits.
  package let low: UInt64

  /// The largest serial that an id can carry: 2^40 - 1.
  package static let serialMax: Int64 = (1 << 40) - 1

  /// Builds the id of the envelope that was accepted as number `serial` at `time`.
  ///
  /// - Parameters:
  ///   - serial: Between 1 and ``serialMax``.
  ///   - random: At least 34 random bits; the rest is not used.
  package init(serial: Int64, acceptedAt time: WallTime, random: UInt64) {
    precondition(serial > 0 && serial <= Self.serialMax, "a serial has 40 bits")
    let milliseconds = UInt64(clamping: time.millisecondsSinceEpoch) & 0xFFFF_FFFF_FFFF
    high = milliseconds << 16 | 0x7000 | (random & 0xFFF)
    low = 0b10 << 62 | UInt64(serial) << 22 | (random >> 12 & 0x3F_FFFF)
  }

  /// Takes the sixteen bytes as two numbers, as they are stored.
  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// The time of acceptance, to the millisecond.
  package var acceptedAt: WallTime { WallTime(millisecondsSinceEpoch: Int64(high >> 16)) }
}

extension EnvelopeID: CustomStringConvertible {
  /// The bytes of an id's text.
  private static let textBytes = 36

  /// The 36 characters of RFC 9562 section 4, in lower case.
  package var description: String { description(behind: "") }

  /// The same 36 characters behind a prefix, such as a path, without a string of their own in
  /// between.
  package func description(behind prefix: StaticString) -> String {
    let prefixBytes = prefix.utf8CodeUnitCount
    return String(unsafeUninitializedCapacity: prefixBytes + Self.textBytes) { buffer in
      let all = UnsafeMutableRawBufferPointer(buffer)
      prefix.withUTF8Buffer { all.copyMemory(from: UnsafeRawBufferPointer($0)) }
      let text = UnsafeMutableRawBufferPointer(rebasing: all[prefixBytes...])
      for index in stride(from: 8, through: 23, by: 5) { text[index] = UInt8(ascii: "-") }
      for quad in 0..<8 {
        let word = quad < 4 ? high : low
        let bits = UInt16(truncatingIfNeeded: word >> UInt64(48 - 16 * (quad % 4)))
        // A dash stands before each of the quads two to five.
        let start = 4 * quad + min(max(quad - 1, 0), 4)
        text.storeBytes(of: Self.hexDigits(bits), toByteOffset: start, as: UInt32.self)
      }
      return prefixBytes + Self.textBytes
    }
  }

  /// The four hexadecimal digits of a number, the first at the lowest address.
  ///
  /// They are made all at once, since an id is written several times for each envelope.
  private static func hexDigits(_ number: UInt16) -> UInt32 {
    var bytes = UInt32(number.byteSwapped)
    bytes = (bytes | bytes << 8) & 0x00FF_00FF
    let values = (bytes >> 4) & 0x000F_000F | (bytes & 0x000F_000F) << 8
    // Adding six carries into the next half byte for values from ten on: those are letters.
    let letters = (values + 0x0606_0606) >> 4 & 0x0101_0101
    let beforeLetters = UInt32(UInt8(ascii: "a") - UInt8(ascii: "0") - 10)
    return (values + 0x3030_3030 + letters * beforeLetters).littleEndian
  }

  /// Parses the 36-character form, in either case.
  ///
  /// Returns nil for any other text, and for a UUID that is not of version 7 and the RFC's variant:
  /// the relay has never given out such an id.
  package init?(parsing text: String) {
    var words: (UInt64, UInt64) = (0, 0)
    var digits = 0
    let bytes = text.utf8Span.span
    guard bytes.count == Self.textBytes else { return nil }
    for place in bytes.indices {
      if place == 8 || place == 13 || place == 18 || place == 23 {
        guard bytes[place] == UInt8(ascii: "-") else { return nil }
      } else {
        guard let value = Self.value(ofHexDigit: bytes[place]) else { return nil }
        if digits < 16 { words.0 = words.0 << 4 | value } else { words.1 = words.1 << 4 | value }
        digits += 1
      }
    }
    guard words.0 >> 12 & 0xF == 7, words.1 >> 62 == 0b10 else { return nil }
    self.init(high: words.0, low: words.1)
  }

  private static func value(ofHexDigit character: UInt8) -> UInt64? {
    switch character {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(character - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(character - UInt8(ascii: "a") + 10)
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt64(character - UInt8(ascii: "A") + 10)
    default: nil
    }
  }
}
