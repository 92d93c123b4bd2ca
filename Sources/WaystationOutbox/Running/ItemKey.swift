import RelayCore

/// Names for items that the app has given none: UUIDv7 (RFC 9562 section 5.7).
///
/// They grow with time, since random keys would make each insert write another page of the index.
enum ItemKey {
  /// A fresh name.
  static func fresh(at wall: Instant, _ random: () -> UInt64) -> String {
    let milliseconds = UInt64(clamping: wall.milliseconds) & 0xFFFF_FFFF_FFFF
    return EnvelopeID(
      high: milliseconds << 16 | 0x7000 | random() & 0xFFF,
      low: 0b10 << 62 | random() & 0x3FFF_FFFF_FFFF_FFFF
    ).description
  }
}
