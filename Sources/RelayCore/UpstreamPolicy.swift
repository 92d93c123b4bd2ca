/// What the scheduler goes by for one upstream.
package struct UpstreamPolicy: Hashable, Sendable {
  /// How many attempts may be in flight at once; at least 1, and 1 makes a series.
  package var concurrencyMax: Int
  /// How long an envelope waits between attempts.
  package var retry: RetryPolicy
  /// Which answer means what.
  package var outcomes: OutcomeRules
  /// When it counts as unreachable.
  package var reachability: ReachabilityPolicy
  /// What is done about an envelope that it may have taken without saying so.
  package var ambiguity: AmbiguityPolicy

  /// Sets all of it; what is left out is as DESIGN gives it.
  package init(
    concurrencyMax: Int = 64, retry: RetryPolicy = .standard,
    outcomes: OutcomeRules = .standard, reachability: ReachabilityPolicy = .standard,
    ambiguity: AmbiguityPolicy = .retry
  ) {
    precondition(concurrencyMax >= 1)
    self.concurrencyMax = concurrencyMax
    self.retry = retry
    self.outcomes = outcomes
    self.reachability = reachability
    self.ambiguity = ambiguity
  }
}
