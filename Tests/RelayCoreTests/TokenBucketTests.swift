import Testing

@testable import RelayCore

@Suite("A bucket of tokens")
struct TokenBucketTests {
  private static func seconds(_ seconds: Double) -> MonotonicTime {
    MonotonicTime(nanoseconds: Int64(seconds * 1_000_000_000))
  }

  @Test("gives a burst at once, then one for each interval, and says when the next one is there")
  func burstThenRate() {
    let limit = RateLimit(perSecond: 10, burst: 3)
    var bucket = TokenBucket()
    let start = Self.seconds(1000)
    for _ in 0..<3 { #expect(bucket.take(limit, at: start) == 0) }
    #expect(bucket.take(limit, at: start) == 100_000_000)
    #expect(bucket.take(limit, at: Self.seconds(1000.06)) == 40_000_000)
    #expect(bucket.take(limit, at: Self.seconds(1000.1)) == 0)
    #expect(bucket.take(limit, at: Self.seconds(1000.1)) > 0)
    #expect(!bucket.isFull(at: Self.seconds(1000.39)))
    #expect(bucket.isFull(at: Self.seconds(1000.4)))
  }

  @Test("a refused request costs nothing")
  func refusedIsFree() {
    let limit = RateLimit(perSecond: 1, burst: 1)
    var bucket = TokenBucket()
    #expect(bucket.take(limit, at: Self.seconds(5)) == 0)
    for _ in 0..<1000 { #expect(bucket.take(limit, at: Self.seconds(5.5)) == 500_000_000) }
    #expect(bucket.take(limit, at: Self.seconds(6)) == 0)
  }

  @Test("a higher rate holds at once, whatever was taken at a lower one")
  func raised() {
    var bucket = TokenBucket()
    let start = Self.seconds(1000)
    for _ in 0..<100 { _ = bucket.take(RateLimit(perSecond: 0.01, burst: 100), at: start) }
    let limit = RateLimit(perSecond: 10, burst: 5)
    #expect(bucket.take(limit, at: start) == 100_000_000)
    #expect(bucket.take(limit, at: Self.seconds(1000.1)) == 0)
    #expect(bucket.isFull(at: Self.seconds(1000.6)))
  }

  @Test("lets no more pass in any stretch of time than its rate and one burst", arguments: 1...5)
  func neverMore(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let limit = RateLimit(perSecond: 20, burst: 7)
    var bucket = TokenBucket()
    var now: Int64 = 0
    var taken: [Int64] = []
    for _ in 0..<20_000 {
      now += Int64(random.next() % 30_000_000)
      if bucket.take(limit, at: MonotonicTime(nanoseconds: now)) == 0 { taken.append(now) }
    }
    for first in taken.indices {
      let last = min(first + 50, taken.count - 1)
      let stretch = Double(taken[last] - taken[first]) / 1e9
      #expect(Double(last - first + 1) <= stretch * 20 + 7 + 1e-6)
    }
    // Asked more often than the rate, it gives all of it.
    #expect(Double(taken.count) > Double(now) / 1e9 * 20 * 0.99)
  }

  @Test("extremes neither overflow nor get stuck")
  func extremes() {
    var bucket = TokenBucket()
    let slow = RateLimit(perSecond: 0.001, burst: 1_000_000)
    #expect(bucket.take(slow, at: MonotonicTime(nanoseconds: .max - 5)) == 0)
    var other = TokenBucket()
    let fast = RateLimit(perSecond: 1_000_000)
    #expect(fast.burst == 1_000_000)
    for _ in 0..<10 { #expect(other.take(fast, at: MonotonicTime(nanoseconds: 0)) == 0) }
    #expect(RateLimit(perSecond: 0.2).burst == 1)
  }
}

@Suite("The table of buckets")
struct RateTableTests {
  private let limit = RateLimit(perSecond: 1, burst: 2)

  private func at(_ seconds: Int64) -> MonotonicTime {
    MonotonicTime(nanoseconds: seconds * 1_000_000_000)
  }

  @Test("holds each name to its own bucket")
  func apart() {
    var table = RateTable(countMax: 100)
    for _ in 0..<2 { #expect(table.take(1, limit, at: at(0)) == 0) }
    #expect(table.take(1, limit, at: at(0)) > 0)
    #expect(table.take(2, limit, at: at(0)) == 0)
    #expect(table.waitNs(for: 1, limit, at: at(0)) == 1_000_000_000)
  }

  @Test("forgets full buckets as new names come, so that it holds those that came lately")
  func forgets() {
    var table = RateTable(countMax: 10_000)
    for name in 0..<1000 { _ = table.take(UInt64(name), limit, at: at(0)) }
    #expect(table.count == 1000)
    for name in 0..<1000 { _ = table.take(UInt64(5000 + name), limit, at: at(100)) }
    #expect(table.count <= 1001)
    for name in 0..<1000 { #expect(table.waitNs(for: UInt64(name), limit, at: at(100)) == 0) }
  }

  @Test("a flood of names takes no more memory, and whoever asks too much stays held back")
  func flood() {
    var table = RateTable(countMax: 256)
    let greedy: UInt64 = .max
    var passed = 0
    for name in 0..<100_000 {
      _ = table.take(UInt64(name), limit, at: at(0))
      if name % 50 == 0, table.take(greedy, limit, at: at(0)) == 0 { passed += 1 }
      #expect(table.count <= 256)
    }
    // Every bucket of the flood is fuller than this one.
    #expect(passed <= 4, "\(passed) of 2000")
  }
}
