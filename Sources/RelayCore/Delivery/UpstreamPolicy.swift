/// The scheduler's settings for one upstream.
package struct UpstreamPolicy: Hashable, Sendable {
  /// The most attempts in flight at once; at least 1, and then one follows the other.
  package var concurrencyMax: Int
  /// The most requests a second; nil if only ``concurrencyMax`` limits them.
  package var rate: RateLimit?
  /// Whether all lanes wait when the upstream asks one of them to; else that lane alone does.
  package var holdsAllLanes: Bool
  /// The waits of an envelope between attempts.
  package var retry: RetryPolicy
  /// The meaning of each answer.
  package var outcomes: OutcomeRules
  /// The rules by which it counts as unreachable.
  package var reachability: ReachabilityPolicy
  /// The handling of an envelope that it may have taken without saying so.
  package var ambiguity: AmbiguityPolicy
  /// The rules by which its envelopes go together; nil if each goes in a request of its own.
  package var batch: BatchPolicy?

  /// Sets all of it; what is left out has its default.
  package init(
    concurrencyMax: Int = 64, rate: RateLimit? = nil, holdsAllLanes: Bool = true,
    retry: RetryPolicy = .standard,
    outcomes: OutcomeRules = .standard, reachability: ReachabilityPolicy = .standard,
    ambiguity: AmbiguityPolicy = .retry, batch: BatchPolicy? = nil
  ) {
    precondition(concurrencyMax >= 1)
    self.concurrencyMax = concurrencyMax
    self.rate = rate
    self.holdsAllLanes = holdsAllLanes
    self.retry = retry
    self.outcomes = outcomes
    self.reachability = reachability
    self.ambiguity = ambiguity
    self.batch = batch
  }
}
