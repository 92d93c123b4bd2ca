/// The limits on what may wait at once, of one client or of all together.
package struct WaitingQuota: Hashable, Sendable {
  /// The most envelopes; nil for no limit.
  package var envelopesMax: Int?
  /// The most bytes of bodies, headers and targets; nil for no limit.
  package var bytesMax: Int?

  /// A quota.
  package init(envelopesMax: Int? = nil, bytesMax: Int? = nil) {
    self.envelopesMax = envelopesMax
    self.bytesMax = bytesMax
  }

  /// Whether it limits anything.
  package var isLimited: Bool { envelopesMax != nil || bytesMax != nil }
}

/// A setting that is either made, even as "no limit", or inherited from the one for all clients.
package enum QuotaSetting<Value: Hashable & Sendable>: Hashable, Sendable {
  /// The setting for all clients.
  case inherited
  /// This setting; nil for no limit.
  case of(Value?)

  /// The value in force.
  package func value(or inherited: Value?) -> Value? {
    if case .of(let value) = self { value } else { inherited }
  }
}

/// The quota settings for clients whose names match a pattern.
package struct QuotaSettings: Hashable, Sendable {
  /// The most envelopes of a client that may wait.
  package var waitingEnvelopesMax = QuotaSetting<Int>.inherited
  /// The most bytes of them that may wait.
  package var waitingBytesMax = QuotaSetting<Int>.inherited
  /// The most requests a second in the long run.
  package var requestsPerSecondMax = QuotaSetting<Double>.inherited
  /// The most requests at once; nil stands for those of one second.
  package var requestBurst = QuotaSetting<Int>.inherited

  /// Inherits everything.
  package init() {}

  /// The waiting quota, by these settings and those for all clients.
  package func waiting(or inherited: WaitingQuota) -> WaitingQuota {
    WaitingQuota(
      envelopesMax: waitingEnvelopesMax.value(or: inherited.envelopesMax),
      bytesMax: waitingBytesMax.value(or: inherited.bytesMax))
  }

  /// The rate limit; nil for none.
  ///
  /// - Parameters:
  ///   - perSecond: The setting for all clients.
  ///   - burst: The setting for all clients.
  package func rate(orPerSecond perSecond: Double?, burst: Int?) -> RateLimit? {
    guard let perSecond = requestsPerSecondMax.value(or: perSecond) else { return nil }
    // A burst that was meant for another rate does not fit this one.
    let isOwnRate = requestsPerSecondMax != .inherited
    let burst = isOwnRate ? requestBurst.value(or: nil) : requestBurst.value(or: burst)
    return RateLimit(perSecond: perSecond, burst: burst)
  }
}

/// A quota that a post would exceed.
package struct QuotaRefusal: Error, Hashable, Sendable {
  /// The quantity that is limited.
  package enum Limit: Hashable, Sendable {
    /// Waiting envelopes.
    case waitingEnvelopes
    /// Their bytes.
    case waitingBytes
    /// Requests per second.
    case requests
    /// Known clients.
    case clients
    /// Known lanes.
    case lanes
  }

  /// The quantity that is limited.
  package var limit: Limit
  /// Whether it is one client's quota, not the one of all together.
  package var isOfClient: Bool
  /// The quota.
  package var max: Double
  /// The amount in use now; not set for requests.
  package var used: Int64 = 0
  /// The time after which the post may fit, in milliseconds; nil if that is not known.
  package var waitMs: Int64?

  /// Puts a refusal together.
  package init(
    limit: Limit, isOfClient: Bool, max: Double, used: Int64 = 0, waitMs: Int64? = nil
  ) {
    self.limit = limit
    self.isOfClient = isOfClient
    self.max = max
    self.used = used
    self.waitMs = waitMs
  }
}
