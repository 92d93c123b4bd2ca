/// What may wait at once: of one client, or of all of them together.
package struct WaitingQuota: Hashable, Sendable {
  /// How many envelopes; nil for no limit.
  package var envelopesMax: Int?
  /// How many bytes of bodies, headers and targets; nil for no limit.
  package var bytesMax: Int?

  /// A quota.
  package init(envelopesMax: Int? = nil, bytesMax: Int? = nil) {
    self.envelopesMax = envelopesMax
    self.bytesMax = bytesMax
  }

  /// Whether it limits anything.
  package var isLimited: Bool { envelopesMax != nil || bytesMax != nil }
}

/// A setting that is said, be it that there is no limit, or left to what counts for everybody.
package enum QuotaSetting<Value: Hashable & Sendable>: Hashable, Sendable {
  /// As it is for all clients.
  case inherited
  /// This one; nil for no limit.
  case of(Value?)

  /// What counts.
  package func value(or inherited: Value?) -> Value? {
    if case .of(let value) = self { value } else { inherited }
  }
}

/// What is said of the quotas of clients whose names fit a pattern.
package struct QuotaSettings: Hashable, Sendable {
  /// How many of its envelopes may wait.
  package var waitingEnvelopesMax = QuotaSetting<Int>.inherited
  /// How many bytes of them may wait.
  package var waitingBytesMax = QuotaSetting<Int>.inherited
  /// How many requests a second it may send in the long run.
  package var requestsPerSecondMax = QuotaSetting<Double>.inherited
  /// How many at once; no value stands for those of one second.
  package var requestBurst = QuotaSetting<Int>.inherited

  /// Nothing particular.
  package init() {}

  /// What may wait, by these settings and by what counts for all clients.
  package func waiting(or inherited: WaitingQuota) -> WaitingQuota {
    WaitingQuota(
      envelopesMax: waitingEnvelopesMax.value(or: inherited.envelopesMax),
      bytesMax: waitingBytesMax.value(or: inherited.bytesMax))
  }

  /// How many requests may come; nil for no limit.
  ///
  /// - Parameters:
  ///   - perSecond: What counts for all clients.
  ///   - burst: What counts for all clients.
  package func rate(orPerSecond perSecond: Double?, burst: Int?) -> RateLimit? {
    guard let perSecond = requestsPerSecondMax.value(or: perSecond) else { return nil }
    // A burst that was meant for another rate says nothing of this one.
    let isOwnRate = requestsPerSecondMax != .inherited
    let burst = isOwnRate ? requestBurst.value(or: nil) : requestBurst.value(or: burst)
    return RateLimit(perSecond: perSecond, burst: burst)
  }
}

/// A quota that a post would pass.
package struct QuotaRefusal: Error, Hashable, Sendable {
  /// What is counted.
  package enum Limit: Hashable, Sendable {
    /// Envelopes that wait.
    case waitingEnvelopes
    /// Their bytes.
    case waitingBytes
    /// Requests a second.
    case requests
    /// Clients that are known.
    case clients
    /// Lanes that are known.
    case lanes
  }

  /// What is counted.
  package var limit: Limit
  /// Whether it is that of one client, and not that of all of them together.
  package var isOfClient: Bool
  /// The quota.
  package var max: Double
  /// How much there is of it now; not told of requests.
  package var used: Int64 = 0
  /// After how many milliseconds it may fit, if that is known.
  package var waitMs: Int64?

  /// A quota of so much, of which so much is used.
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
