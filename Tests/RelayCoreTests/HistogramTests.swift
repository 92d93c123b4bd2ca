import RelayCore
import Testing

@Suite("Histograms")
struct HistogramTests {
  private let buckets = HistogramBuckets(bounds: [10, 20, 50], unitsPerShown: 1)

  @Test("a value on a bound belongs to the bucket that ends there")
  func bounds() {
    var histogram = Histogram(buckets)
    for value: Int64 in [0, 10, 11, 20, 50, 51, 1_000_000] { histogram.observe(value) }
    #expect(histogram.counts == [2, 2, 1, 2])
    #expect(histogram.cumulativeCounts == [2, 4, 5, 7])
    #expect(histogram.count == 7 && histogram.sum == 1_000_142)
  }

  @Test("a value below zero counts as zero")
  func belowZero() {
    var histogram = Histogram(buckets)
    histogram.observe(-5)
    #expect(histogram.counts == [1, 0, 0, 0] && histogram.sum == 0)
  }

  @Test("what two have seen is what one would have seen of both")
  func merging() {
    var first = Histogram(buckets)
    var second = Histogram(buckets)
    var both = Histogram(buckets)
    for value in Int64(0)..<100 {
      if value % 3 == 0 { first.observe(value) } else { second.observe(value) }
      both.observe(value)
    }
    first.merge(second)
    #expect(first == both)
  }

  @Test("a sum that is too large wraps around and does not trap")
  func overflow() {
    var histogram = Histogram(buckets)
    histogram.observe(.max)
    histogram.observe(.max)
    #expect(histogram.count == 2)
  }

  @Test("every value falls where a plain search finds its bucket")
  func search() {
    for buckets in [
      HistogramBuckets.requestMicroseconds, .storeMicroseconds, .loopMicroseconds,
      .attemptMilliseconds, .deliveryMilliseconds, .changes,
    ] {
      for bound in buckets.bounds {
        for value in [bound - 1, bound, bound + 1] {
          var histogram = Histogram(buckets)
          histogram.observe(value)
          let place = buckets.bounds.firstIndex { value <= $0 } ?? buckets.bounds.count
          #expect(histogram.counts[place] == 1, "\(value)")
        }
      }
    }
  }
}
