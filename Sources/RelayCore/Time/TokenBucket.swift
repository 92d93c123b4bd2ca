/// A limit on requests: so many a second in the long run, and so many at once.
package struct RateLimit: Hashable, Sendable {
  /// The most requests a second in the long run; above 0.
  package let perSecond: Double
  /// The most requests at once after a pause; at least 1.
  package let burst: Int

  /// A limit.
  ///
  /// - Parameter burst: nil for the requests of one second.
  package init(perSecond: Double, burst: Int? = nil) {
    precondition(perSecond > 0 && (burst ?? 1) >= 1, "a rate lets something pass")
    self.perSecond = perSecond
    self.burst = burst ?? max(1, Int(perSecond.rounded(.up)))
  }

  /// The time between two tokens, in nanoseconds.
  var intervalNs: Int64 { max(1, Int64(1_000_000_000 / perSecond)) }

  /// The time in which so many tokens come, in nanoseconds.
  func timeNs(for tokens: Int) -> Int64 {
    let (product, overflow) = intervalNs.multipliedReportingOverflow(by: Int64(tokens))
    return overflow ? .max : product
  }
}

/// A bucket of tokens: each request takes one, and they come back at an even rate.
///
/// Kept as the one moment at which it would be full again (the "virtual scheduling" form of the
/// generic cell rate algorithm, ITU-T I.371 annex A). So a bucket is eight bytes, and no timer has
/// to fill it.
package struct TokenBucket: Hashable, Sendable {
  /// The time at which it is full, if nothing is taken until then.
  private var fullAt = MonotonicTime(nanoseconds: .min)

  /// A full bucket.
  package init() {}

  /// Whether it is full, so that it may as well be forgotten.
  package func isFull(at now: MonotonicTime) -> Bool { fullAt <= now }

  /// Whether it is nearer to full than another one.
  func isFuller(than other: TokenBucket) -> Bool { fullAt < other.fullAt }

  /// The time until there are so many tokens, in nanoseconds; 0 if there are.
  ///
  /// - Parameter tokens: At most as many as fit in: the limit's burst.
  package func waitNs(
    for limit: RateLimit, tokens: Int = 1, at now: MonotonicTime
  ) -> Int64 {
    let missingNs = max(0, fullAt.nanoseconds.subtractingSaturated(now.nanoseconds))
    let room = limit.timeNs(for: limit.burst).subtractingSaturated(limit.timeNs(for: tokens))
    return max(0, missingNs - room)
  }

  /// Owes no more than the limit's burst, which is all that a bucket can: what more there is was
  /// taken at a lower rate, which does not count any more.
  mutating func fit(_ limit: RateLimit, at now: MonotonicTime) {
    let emptyAt = now.nanoseconds.addingSaturated(limit.timeNs(for: limit.burst))
    fullAt = min(fullAt, MonotonicTime(nanoseconds: emptyAt))
  }

  /// Takes a token, if there is one.
  ///
  /// - Returns: 0 if there was one, else the time until there is one, in nanoseconds.
  package mutating func take(_ limit: RateLimit, at now: MonotonicTime) -> Int64 {
    fit(limit, at: now)
    let wait = waitNs(for: limit, at: now)
    guard wait == 0 else { return wait }
    fullAt = MonotonicTime(
      nanoseconds: max(fullAt, now).nanoseconds.addingSaturated(limit.intervalNs))
    return 0
  }
}
