/// Until when the holder of a store may use it, by when it has last shown that it runs.
package struct LeaseProof: Sendable {
  private let limits: LeaseLimits
  /// When the last beat that succeeded was sent.
  private var provenAt: MonotonicTime

  /// Begins with what has just been shown.
  package init(at time: MonotonicTime, _ limits: LeaseLimits = LeaseLimits()) {
    self.limits = limits
    provenAt = time
  }

  /// Notes a beat that has succeeded, by when it was *sent*: an observer may have seen it then.
  package mutating func prove(at time: MonotonicTime) { provenAt = max(provenAt, time) }

  /// When the lease ends, unless a beat succeeds before: a margin before anybody may take it.
  package var end: MonotonicTime { provenAt.adding(milliseconds: limits.leaseMs) }
}
