import RelayCore

/// The encoding of delays in a row of the history.
///
/// A byte for the buckets, then the sum and the counts, each as a number of seven bits a byte, the
/// low ones first (LEB128).
enum HistoryCode {
  /// The only buckets so far: ``HistogramBuckets/chartMilliseconds``.
  private static let chartBuckets: UInt8 = 1

  /// The bytes of a histogram; none if it has no values.
  static func bytes(of delays: Histogram) -> [UInt8] {
    guard delays.count > 0 else { return [] }
    var bytes: [UInt8] = [chartBuckets]
    append(UInt64(max(0, delays.sum)), to: &bytes)
    for count in delays.counts { append(count, to: &bytes) }
    return bytes
  }

  /// The histogram that was encoded; nil if the bytes are not valid.
  static func delays(_ bytes: [UInt8]) -> Histogram? {
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

  private static func append(_ number: UInt64, to bytes: inout [UInt8]) {
    var rest = number
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  /// Whether a row that was found in a damaged store can be one of the history.
  static func isSensible(_ values: [StoredValue]) -> Bool {
    guard values.count == 7, let bytes = values[6].blob, delays(bytes) != nil else { return false }
    return values[..<6].allSatisfy { ($0.integer ?? -1) >= 0 }
  }
}
