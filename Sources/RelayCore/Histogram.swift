/// How many of the values that were seen fall into each of a few fixed buckets, and their sum.
///
/// A pure value. Seeing one more costs a handful of comparisons and two additions and never
/// allocates, so that it can be done for every request under a lock that is held no longer.
package struct Histogram: Sendable, Equatable {
  /// Where the buckets end.
  package let buckets: HistogramBuckets
  /// How many values fell into each bucket alone; the last is for those past every bound.
  package private(set) var counts: [UInt64]
  /// All values added up, in the buckets' unit.
  ///
  /// Wraps around rather than trap: 2^63 µs are 290,000 years.
  package private(set) var sum: Int64 = 0

  /// One that has seen nothing.
  package init(_ buckets: HistogramBuckets) {
    self.buckets = buckets
    counts = [UInt64](repeating: 0, count: buckets.bounds.count + 1)
  }

  /// How many values it has seen.
  package var count: UInt64 { counts.reduce(0, &+) }

  /// Sees a value, in the buckets' unit; one below zero, as clocks that are set back make them,
  /// counts as zero.
  package mutating func observe(_ value: Int64) {
    let value = max(0, value)
    counts[buckets.index(of: value)] &+= 1
    sum &+= value
  }

  /// Takes in what another one of the same buckets has seen.
  package mutating func merge(_ other: Histogram) {
    precondition(buckets == other.buckets, "histograms of other buckets cannot be added")
    for index in counts.indices { counts[index] &+= other.counts[index] }
    sum &+= other.sum
  }

  /// For each bound how many values were at most that, and at last how many there were: what
  /// Prometheus calls `le`.
  package var cumulativeCounts: [UInt64] {
    var total: UInt64 = 0
    return counts.map { count in
      total &+= count
      return total
    }
  }
}

/// The bounds of a histogram's buckets: fixed, so that those of different days can be compared.
package struct HistogramBuckets: Sendable, Equatable {
  /// The largest value of each bucket, growing.
  package let bounds: [Int64]
  /// How many of the unit make one of what is shown: 1,000,000 where microseconds are seen and
  /// seconds shown.
  package let unitsPerShown: Int64

  /// Makes buckets; `bounds` have to grow.
  package init(bounds: [Int64], unitsPerShown: Int64) {
    precondition(zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 }, "bounds have to grow")
    precondition(unitsPerShown > 0)
    self.bounds = bounds
    self.unitsPerShown = unitsPerShown
  }

  /// The bucket that a value belongs to.
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

// The buckets of what the relay measures, each around the limits that somebody may wish to hold.
extension HistogramBuckets {
  /// How long requests take, in microseconds: from half a millisecond to half a minute.
  package static let requestMicroseconds = seconds(
    ofMicroseconds: [
      500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
      2_500_000, 5_000_000, 10_000_000, 30_000_000,
    ])

  /// How long a transaction of the store takes, or a post waits for one, in microseconds.
  package static let storeMicroseconds = seconds(
    ofMicroseconds: [
      250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
      2_500_000, 5_000_000, 10_000_000,
    ])

  /// How long one round of an event loop takes, in microseconds.
  package static let loopMicroseconds = seconds(
    ofMicroseconds: [
      100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
      1_000_000, 5_000_000,
    ])

  /// How long an attempt takes, in milliseconds: up to the default timeout and past it.
  package static let attemptMilliseconds = seconds(
    ofMilliseconds: [
      5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 120_000, 300_000,
    ])

  /// How long envelopes take from acceptance to delivery, in milliseconds: from an upstream that
  /// answers at once to an outage of a week.
  package static let deliveryMilliseconds = seconds(
    ofMilliseconds: [
      10, 50, 100, 250, 500, 1000, 5000, 15_000, 60_000, 300_000, 900_000, 3_600_000, 21_600_000,
      86_400_000, 604_800_000,
    ])

  /// How many changes one transaction holds.
  package static let changes = HistogramBuckets(
    bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096], unitsPerShown: 1)

  private static func seconds(ofMicroseconds bounds: [Int64]) -> HistogramBuckets {
    HistogramBuckets(bounds: bounds, unitsPerShown: 1_000_000)
  }

  private static func seconds(ofMilliseconds bounds: [Int64]) -> HistogramBuckets {
    HistogramBuckets(bounds: bounds, unitsPerShown: 1000)
  }
}
