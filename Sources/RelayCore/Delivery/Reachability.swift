/// The rules by which an upstream counts as unreachable, and is probed while it is.
package struct ReachabilityPolicy: Hashable, Sendable {
  /// The connection-level failures in a row that make an upstream unreachable; at least 1.
  package var failuresBeforeUnreachable: Int
  /// The longest wait before the first probe, in milliseconds; also the least time from a failed
  /// probe to one that is hastened.
  package var firstProbeDelayMs: Int64
  /// The longest wait between two probes, in milliseconds.
  package var maxProbeDelayMs: Int64

  /// Three failures; probes after a second, then two, four, and so on up to a minute.
  package static let standard = ReachabilityPolicy(
    failuresBeforeUnreachable: 3, firstProbeDelayMs: 1000, maxProbeDelayMs: 60_000)

  /// Sets all of it.
  package init(failuresBeforeUnreachable: Int, firstProbeDelayMs: Int64, maxProbeDelayMs: Int64) {
    precondition(failuresBeforeUnreachable >= 1 && firstProbeDelayMs >= 1)
    precondition(maxProbeDelayMs >= firstProbeDelayMs)
    self.failuresBeforeUnreachable = failuresBeforeUnreachable
    self.firstProbeDelayMs = firstProbeDelayMs
    self.maxProbeDelayMs = maxProbeDelayMs
  }
}

/// Whether an upstream can be reached, and how many attempts it may be sent at once.
///
/// Reachability is the upstream's, not the envelope's. After a few connection-level failures in a
/// row the upstream is unreachable: one probe at a time goes out, on a backoff, and the first that
/// is answered, with whatever status, makes it reachable again. Then the number of attempts in
/// flight ramps up by one with each answer, which doubles it each round trip, so that the lanes
/// that waited do not overwhelm an upstream that has only just come back.
package struct Reachability: Sendable {
  private enum State {
    case reachable(failuresInARow: Int)
    case unreachable(failedProbes: Int, nextProbeAt: MonotonicTime)
    /// - Parameter again: Whether another probe follows at once if it fails: somebody has had a new
    ///   reason to try since it began.
    case probing(failedProbes: Int, again: Bool)
  }

  /// The change that an event made.
  package enum Change: Sendable, Equatable {
    /// Nothing that others need to know.
    case none
    /// The upstream's lanes stop trying.
    case becameUnreachable
    /// The upstream's lanes start again.
    case becameReachable
  }

  private var policy: ReachabilityPolicy
  private var concurrencyMax: Int
  private var state: State = .reachable(failuresInARow: 0)
  private var lastProbeEndedAt: MonotonicTime?
  /// The most attempts in flight at once while the upstream is reachable.
  package private(set) var window: Int
  /// The time from which it has been reachable or unreachable without a change.
  package private(set) var since: WallTime

  /// Starts as reachable: only an attempt can show more.
  package init(policy: ReachabilityPolicy, concurrencyMax: Int, since: WallTime) {
    precondition(concurrencyMax >= 1)
    self.policy = policy
    self.concurrencyMax = concurrencyMax
    self.since = since
    window = concurrencyMax
  }

  /// Changes the policy and the limit; a wait for a probe that has begun keeps its length.
  ///
  /// A window that was fully open takes the new limit; one that is still ramping up is only capped
  /// by it.
  package mutating func update(to policy: ReachabilityPolicy, concurrencyMax: Int) {
    precondition(concurrencyMax >= 1)
    window = window == self.concurrencyMax ? concurrencyMax : min(window, concurrencyMax)
    self.policy = policy
    self.concurrencyMax = concurrencyMax
  }

  /// Has the number of attempts ramp up anew, since the upstream asked to be left alone.
  package mutating func rampUpAnew() { window = 1 }

  /// Whether lanes may try.
  package var isReachable: Bool {
    if case .reachable = state { true } else { false }
  }

  /// The failed probes in a row since it became unreachable; nil while it is reachable.
  package var failedProbes: Int? {
    switch state {
    case .reachable: nil
    case .unreachable(let failedProbes, _), .probing(let failedProbes, _): failedProbes
    }
  }

  /// The time of the next probe; nil while reachable, or while a probe is under way.
  package var nextProbeAt: MonotonicTime? {
    if case .unreachable(_, let time) = state { time } else { nil }
  }

  /// The number of further attempts that may begin now.
  package func freeSlots(inFlight: Int, now: MonotonicTime) -> Int {
    switch state {
    case .reachable: max(0, window - inFlight)
    case .unreachable(_, let time): time <= now ? 1 : 0
    case .probing: 0
    }
  }

  /// Notes that an attempt begins; while the upstream is unreachable, it is the probe.
  package mutating func attemptBegan() {
    if case .unreachable(let failedProbes, _) = state {
      state = .probing(failedProbes: failedProbes, again: false)
    }
  }

  /// Notes that an attempt ended without saying anything about the upstream: it was cut off, or
  /// never sent.
  package mutating func attemptWithdrawn(now: MonotonicTime) {
    if case .probing(let failedProbes, _) = state {
      state = .unreachable(failedProbes: failedProbes, nextProbeAt: now)
    }
  }

  /// Notes that the upstream answered, with whatever status.
  package mutating func answered(now: Now) -> Change {
    switch state {
    case .reachable:
      state = .reachable(failuresInARow: 0)
      window = min(window + 1, concurrencyMax)
      return .none
    case .unreachable, .probing:
      state = .reachable(failuresInARow: 0)
      rampUpAnew()
      since = now.wall
      return .becameReachable
    }
  }

  /// Notes that an attempt failed at connection level.
  ///
  /// - Parameters:
  ///   - wasProbe: Whether it began while the upstream was unreachable. An attempt that began
  ///     earlier says nothing new, and does not lengthen the wait.
  ///   - isCertain: Whether this one failure tells that no other attempt could do better.
  package mutating func failed(
    wasProbe: Bool, isCertain: Bool = false, now: Now, random: inout some RandomNumberGenerator
  ) -> Change {
    switch state {
    case .reachable(let failures)
    where failures + 1 < policy.failuresBeforeUnreachable && !isCertain:
      state = .reachable(failuresInARow: failures + 1)
      return .none
    case .reachable:
      since = now.wall
      let wait = probeDelayMs(failedProbes: 0, random: &random)
      state = .unreachable(
        failedProbes: 0, nextProbeAt: now.monotonic.adding(milliseconds: wait))
      return .becameUnreachable
    case .probing(let failedProbes, let again) where wasProbe:
      lastProbeEndedAt = now.monotonic
      let wait = again ? 0 : probeDelayMs(failedProbes: failedProbes + 1, random: &random)
      state = .unreachable(
        failedProbes: failedProbes + 1, nextProbeAt: now.monotonic.adding(milliseconds: wait))
      return .none
    case .probing, .unreachable:
      return .none
    }
  }

  /// Shortens the wait for the next probe, since someone has new reason to try.
  ///
  /// The next probe still comes no earlier than ``ReachabilityPolicy/firstProbeDelayMs`` after the
  /// last failed one, so that a flood of posts makes no flood of probes. Before any probe has
  /// failed, the wait keeps its length.
  ///
  /// - Returns: Whether the next probe may now go out earlier than before.
  package mutating func hasten(now: MonotonicTime) -> Bool {
    guard case .unreachable(let failedProbes, let time) = state else { return false }
    let earliest =
      lastProbeEndedAt.map { $0.adding(milliseconds: policy.firstProbeDelayMs) } ?? time
    let hastened = min(time, max(now, earliest))
    state = .unreachable(failedProbes: failedProbes, nextProbeAt: hastened)
    return hastened < time
  }

  /// Notes that the upstream is sought elsewhere, or in another way, from now on.
  ///
  /// What failed before says nothing of it, and a probe that is under way is not waited for.
  ///
  /// - Parameter isProbed: Whether the probe that is under way will be sent in the new way.
  package mutating func soughtAnew(isProbed: Bool, at now: MonotonicTime) {
    lastProbeEndedAt = nil
    switch state {
    case .reachable: state = .reachable(failuresInARow: 0)
    case .probing(let failedProbes, _) where !isProbed:
      state = .unreachable(failedProbes: failedProbes, nextProbeAt: now)
    case .unreachable, .probing: break
    }
  }

  /// Ends the wait for the next probe, since somebody wants to know at once whether the upstream is
  /// back.
  ///
  /// A probe that is under way may have begun before what was mended; if it fails, the next one
  /// does not wait.
  package mutating func probeNow(at now: MonotonicTime) {
    switch state {
    case .reachable: break
    case .unreachable(let failedProbes, let time):
      state = .unreachable(failedProbes: failedProbes, nextProbeAt: min(time, now))
    case .probing(let failedProbes, _):
      state = .probing(failedProbes: failedProbes, again: true)
    }
  }

  /// The wait before a probe: half of the bound is fixed and half is random, so that probes stay
  /// apart but do not fall into step.
  private func probeDelayMs(
    failedProbes: Int, random: inout some RandomNumberGenerator
  ) -> Int64 {
    let doublings = min(failedProbes, 40)
    let (grown, overflow) = policy.firstProbeDelayMs.multipliedReportingOverflow(by: 1 << doublings)
    let bound = overflow ? policy.maxProbeDelayMs : min(grown, policy.maxProbeDelayMs)
    return bound / 2 + Int64.random(in: 0...(bound - bound / 2), using: &random)
  }
}
