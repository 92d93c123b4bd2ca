import EventLoop
import HTTPServer
import RelayCore

extension EndpointContext {
  /// Counts a device's request, before any of its body is read.
  ///
  /// Operators are not counted: they look after the relay when it has most to do. Where no
  /// credential says who posts, that is counted once it is known; see ``Room``.
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
}

extension Route {
  /// Whether it counts in the quotas of requests.
  fileprivate var isCounted: Bool {
    switch self {
    case .getHealth, .getReadiness: false
    default: audience != .operators
    }
  }
}
