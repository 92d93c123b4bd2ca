/// Counts of observed values in a few fixed buckets, and the sum of the values.
///
/// A pure value. Observing a value costs a handful of comparisons and two additions and never
/// allocates, so it can be done for every request under a lock.
package struct Histogram: Sendable, Equatable {
  /// The bounds of the buckets.
  package let buckets: HistogramBuckets
  /// The number of values in each bucket alone; the last is for those above every bound.
  package private(set) var counts: [UInt64]
  /// The sum of all values, in the buckets' unit.
  ///
  /// It wraps around and does not trap: 2^63 µs are 290,000 years.
  package private(set) var sum: Int64 = 0

  /// Makes a histogram without values.
  package init(_ buckets: HistogramBuckets) {
    self.buckets = buckets
    counts = [UInt64](repeating: 0, count: buckets.bounds.count + 1)
  }

  /// Restores a histogram from stored counts; nil if their number does not fit the buckets, or the
  /// sum is negative.
  package init?(_ buckets: HistogramBuckets, counts: [UInt64], sum: Int64) {
    guard counts.count == buckets.bounds.count + 1, sum >= 0 else { return nil }
    self.buckets = buckets
    self.counts = counts
    self.sum = sum
  }

  /// The number of values observed.
  package var count: UInt64 { counts.reduce(0, &+) }

  /// Observes a value, in the buckets' unit.
  ///
  /// A negative value, as a clock that is set back makes it, counts as zero.
  package mutating func observe(_ value: Int64) {
    let value = max(0, value)
    counts[buckets.index(of: value)] &+= 1
    sum &+= value
  }

  /// Adds what another histogram of the same buckets has observed.
  package mutating func merge(_ other: Histogram) {
    precondition(buckets == other.buckets, "histograms of other buckets cannot be added")
    for index in counts.indices { counts[index] &+= other.counts[index] }
    sum &+= other.sum
  }

  /// The value that a share of all values does not exceed, as nearly as the buckets tell; nil if
  /// there are none.
  ///
  /// Within a bucket the values are taken to lie evenly, as Prometheus' `histogram_quantile` does;
  /// values above every bound are shown as the last bound.
  package func quantile(_ share: Double) -> Int64? {
    let count = count
    guard count > 0 else { return nil }
    let rank = min(count, max(1, UInt64((share * Double(count)).rounded(.up))))
    var below: UInt64 = 0
    for (index, inBucket) in counts.enumerated() {
      guard below + inBucket < rank else {
        guard index < buckets.bounds.count else { break }
        let start = index == 0 ? 0 : buckets.bounds[index - 1]
        let width = Double(buckets.bounds[index] - start)
        return start + Int64(width * Double(rank - below) / Double(inBucket))
      }
      below += inBucket
    }
    return buckets.bounds.last
  }

  /// The number of values at or below each bound, and at last the number of all: what Prometheus
  /// calls `le`.
  package var cumulativeCounts: [UInt64] {
    var total: UInt64 = 0
    return counts.map { count in
      total &+= count
      return total
    }
  }
}

/// The bounds of a histogram's buckets: fixed, so that histograms of different days can be
/// compared.
package struct HistogramBuckets: Sendable, Equatable {
  /// The largest value of each bucket, ascending.
  package let bounds: [Int64]
  /// The number of units in one displayed unit: 1,000,000 where microseconds are observed and
  /// seconds displayed.
  package let unitsPerShown: Int64

  /// Makes buckets; `bounds` have to ascend.
  package init(bounds: [Int64], unitsPerShown: Int64) {
    precondition(zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 }, "bounds have to grow")
    precondition(unitsPerShown > 0)
    self.bounds = bounds
    self.unitsPerShown = unitsPerShown
  }

  /// The index of the bucket that a value belongs to.
  func index(of value: Int64) -> Int {
    var low = 0
    var high = bounds.count
    while low < high {
      let middle = (low + high) / 2
      if bounds[middle] < value { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

// The buckets of what the relay measures, each set around the limits that somebody may wish to
// keep.
extension HistogramBuckets {
  /// The durations of requests, in microseconds: from half a millisecond to half a minute.
  package static let requestMicroseconds = seconds(
    ofMicroseconds: [
      500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
      2_500_000, 5_000_000, 10_000_000, 30_000_000,
    ])

  /// The durations of the store's transactions, and of posts' waits for one, in microseconds.
  package static let storeMicroseconds = seconds(
    ofMicroseconds: [
      250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
      2_500_000, 5_000_000, 10_000_000,
    ])

  /// The durations of signatures, in microseconds: some fifty where nothing is in the way.
  package static let signatureMicroseconds = seconds(
    ofMicroseconds: [25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 50_000, 250_000])

  /// The durations of an event loop's rounds, in microseconds.
  package static let loopMicroseconds = seconds(
    ofMicroseconds: [
      100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
      1_000_000, 5_000_000,
    ])

  /// The durations of attempts, in milliseconds: up to the default timeout and past it.
  package static let attemptMilliseconds = seconds(
    ofMilliseconds: [
      5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 120_000, 300_000,
    ])

  /// The times from acceptance to delivery, in milliseconds: from an upstream that
  /// answers at once to an outage of a week.
  package static let deliveryMilliseconds = seconds(
    ofMilliseconds: [
      10, 50, 100, 250, 500, 1000, 5000, 15_000, 60_000, 300_000, 900_000, 3_600_000, 21_600_000,
      86_400_000, 604_800_000,
    ])

  /// The time to delivery once more, for the charts, which are read off and need finer steps: three
  /// to each power of ten, then round times up to a week.
  package static let chartMilliseconds = seconds(
    ofMilliseconds: [
      1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 60_000, 120_000,
      300_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 43_200_000, 86_400_000,
      259_200_000, 604_800_000,
    ])

  /// The number of changes in one transaction.
  package static let changes = HistogramBuckets(
    bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096], unitsPerShown: 1)

  private static func seconds(ofMicroseconds bounds: [Int64]) -> HistogramBuckets {
    HistogramBuckets(bounds: bounds, unitsPerShown: 1_000_000)
  }

  private static func seconds(ofMilliseconds bounds: [Int64]) -> HistogramBuckets {
    HistogramBuckets(bounds: bounds, unitsPerShown: 1000)
  }
}
