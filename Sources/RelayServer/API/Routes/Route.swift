import HTTPServer

/// One call of the API: its method and path, who may make it, what it takes, how it is counted and
/// written down, and what answers it.
///
/// All facts about a call are in its record, and nowhere else. ``all`` lists the records.
package final class Route: Sendable {
  /// Answers a call, or throws the ``Problem`` that is the answer.
  ///
  /// It throws nothing else. The type does not say so, since every closure would have to repeat it.
  typealias Endpoint =
    @Sendable (HTTPRequest, PathCaptures, EndpointContext) async throws -> HTTPResponse

  /// The method; nil for every method, where the request itself is the envelope.
  package let method: HTTPMethod?
  /// The path, as ``Router`` reads it.
  package let pattern: String
  /// The listeners that have it.
  let audience: RouteAudience
  /// The callers who may make it.
  let access: AccessRules.Row
  /// The parameters and the body that it takes.
  let terms: CallTerms
  /// The audit log's record of it; nil for a call that changes nothing, or only hands over.
  let act: AuditedAct?
  /// True if it reads through data that may be large.
  let isListing: Bool
  /// Whether the caller's access is checked once more before the answer is shown, since the call
  /// may have waited for long.
  ///
  /// A relayed request was accepted before it waits, and is answered so whatever happens meanwhile.
  let mayWait: Bool
  /// The endpoint that answers it.
  ///
  /// A closure for each, and no function that calls them all: that would need the memory of all
  /// together (24 KiB), for as long as any of them waits.
  let endpoint: Endpoint

  /// Makes a record; what is left out is as in most calls.
  init(
    _ method: HTTPMethod?, _ pattern: String, on audience: RouteAudience,
    for access: AccessRules.Row, takes terms: CallTerms, act: AuditedAct? = nil,
    isListing: Bool = false, mayWait: Bool = false, _ endpoint: @escaping Endpoint
  ) {
    self.method = method
    self.pattern = pattern
    self.audience = audience
    self.access = access
    self.terms = terms
    self.act = act
    self.isListing = isListing
    self.mayWait = mayWait
    self.endpoint = endpoint
  }

  /// True if the request itself is the envelope.
  var isRelayed: Bool { method == nil }

  /// Whether it is an act that the audit log has; posts, check-ins and rescues change something as
  /// well, and are none.
  var isAudited: Bool { act != nil }

  /// True if it counts in the quotas of requests: operators' calls and health checks do not.
  var isCounted: Bool { audience != .operators && !access.isForEverybody }
}

/// The listeners that have a route.
///
/// The router of a listener for devices alone, or for operators alone, does not know the others'
/// routes. They are answered like any path that does not exist. A listener for relays has none of
/// its own: what is passed on there belongs to the listener where it came in.
enum RouteAudience: Sendable {
  /// Handing over: not on an operators' listener.
  case devices
  /// Watching and steering the relay as a whole: not on a devices' listener.
  case operators
  /// Asking about envelopes and steering them, and health: on every listener.
  case both

  /// Returns true if a listener for `audience` has such routes; nil is a listener for everybody.
  func isServed(to audience: ListenerConfiguration.Audience?) -> Bool {
    switch (self, audience) {
    case (_, .relays): false
    case (.both, _), (_, nil), (.devices, .devices), (.operators, .operators): true
    case (.devices, .operators), (.operators, .devices): false
    }
  }
}
