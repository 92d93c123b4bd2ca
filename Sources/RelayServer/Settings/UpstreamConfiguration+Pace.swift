import RelayCore

/// Who waits when an upstream says that requests come too fast.
package enum RetryAfterScope: String, CaseIterable, Sendable {
  /// All lanes.
  case upstream
  /// The refused envelope's lane, where an upstream has limits for each device.
  case lane
}

extension UpstreamConfiguration {
  /// The share of a second whose requests may come at once, unless ``burst`` says how many.
  ///
  /// With the requests of a whole second an upstream that counts by the second would see twice as
  /// many as it takes.
  private static let burstShare = 0.1

  /// The rate at which it is sent requests; nil if only ``maxConcurrent`` limits them.
  var rate: RateLimit? {
    requestsPerSecondMax.map { perSecond in
      RateLimit(
        perSecond: perSecond, burst: burst ?? max(1, Int(perSecond * Self.burstShare)))
    }
  }
}
