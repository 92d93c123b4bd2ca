/// The encoding of delays in a row of the history, whichever the database.
///
/// A byte for the buckets, then the sum and the counts, each as a number of seven bits a byte, the
/// low ones first (LEB128).
package enum HistoryCode {
  /// The only buckets so far: ``HistogramBuckets/chartMilliseconds``.
  private static let chartBuckets: UInt8 = 1

  /// The bytes of a histogram; none if it has no values.
  package static func bytes(of delays: Histogram) -> [UInt8] {
    guard delays.count > 0 else { return [] }
    var bytes: [UInt8] = [chartBuckets]
    bytes.append(leastFirst: UInt64(max(0, delays.sum)))
    for count in delays.counts { bytes.append(leastFirst: count) }
    return bytes
  }

  /// The histogram that was encoded; nil if the bytes are not valid.
  package static func delays(_ bytes: [UInt8]) -> Histogram? {
    guard let buckets = bytes.first else { return Histogram(.chartMilliseconds) }
    guard buckets == chartBuckets else { return nil }
    var numbers: [UInt64] = []
    var number: UInt64 = 0
    var shift: UInt64 = 0
    for byte in bytes.dropFirst() {
      guard shift < 64 else { return nil }
      number |= UInt64(byte & 0x7F) << shift
      shift += 7
      guard byte < 0x80 else { continue }
      numbers.append(number)
      (number, shift) = (0, 0)
    }
    guard shift == 0, let sum = numbers.first, let sum = Int64(exactly: sum) else { return nil }
    return Histogram(.chartMilliseconds, counts: Array(numbers.dropFirst()), sum: sum)
  }
}

extension [UInt8] {
  /// Appends a number, seven bits a byte, the lowest first; the highest bit says that more follow
  /// (LEB128).
  package mutating func append(leastFirst number: UInt64) {
    var rest = number
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(rest))
  }
}
