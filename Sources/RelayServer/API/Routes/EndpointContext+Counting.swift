import EventLoop
import HTTPServer
import RelayCore

extension EndpointContext {
  /// Counts a device's request, before any of its body is read.
  ///
  /// Operators are not counted: they look after the relay when it has most to do. Where no
  /// credential says who posts, that is counted once it is known; see ``QuotaClaim``.
  ///
  /// - Throws: `rate-limited`.
  func countRequest(
    _ origin: RequestOrigin, to route: Route, _ captures: PathCaptures, of caller: Caller
  ) throws(Problem) {
    if case .operator = caller.kind { return }
    let listener = relay.listeners[origin.listener]
    guard route.isCounted, listener.audience != .operators else { return }
    let client = caller.client ?? captures.decoded("client")
    let now = MonotonicClock.now()
    do throws(QuotaRefusal) {
      if let client { try relay.quotas.countRequest(of: client, at: now) }
      try relay.quotas.countRequest(at: now)
    } catch {
      throw overQuota(error, client: client)
    }
  }

  /// Returns the problem for a quota that a sender would exceed.
  ///
  /// - Parameter number: The client's, where the quota is its own, and it is known.
  func overQuota(
    _ refusal: QuotaRefusal, client: String?, _ number: ClientNumber? = nil
  ) -> Problem {
    relay.metrics.count(refusal)
    let total = relay.quotas.total.count
    let own = number.map { relay.quotas.waiting(of: $0).count } ?? 0
    let seconds = RetryHint.seconds(
      for: refusal, waiting: refusal.isOfClient ? own : total, total: total,
      deliveredPerSecond: relay.meter.perSecond(.delivered, at: relay.now().monotonic))
    return .overQuota(
      refusal, client: client, uploads: client.map(relay.uploads.claimed(of:)) ?? WaitingUse(),
      retryAfterSeconds: seconds)
  }
}
