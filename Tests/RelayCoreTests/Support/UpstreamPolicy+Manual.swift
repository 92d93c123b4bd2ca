@testable import RelayCore

extension UpstreamPolicy {
  /// Short waits, and few failures until an upstream is given up.
  static let manual = UpstreamPolicy(
    concurrencyMax: 4,
    retry: RetryPolicy(firstDelayMs: 1000, maxDelayMs: 8000, factor: 2, retryAfterMaxMs: 60_000),
    reachability: ReachabilityPolicy(
      failuresBeforeUnreachable: 3, firstProbeDelayMs: 1000, maxProbeDelayMs: 8000))

  func concurrency(_ count: Int) -> UpstreamPolicy {
    var changed = self
    changed.concurrencyMax = count
    return changed
  }
}
