import HTTPServer

/// What the relay can be asked for.
package enum Route: Hashable, Sendable {
  case postEnvelopes, listEnvelopes, queryEnvelopes, relayRequest, getEnvelope, getAnswer,
    getClient, checkIn
  case getByKey, run, resolve, requeue, patch, cancel, cancelClient, runClient
  case pauseUpstream(Bool), pauseClient(Bool), pauseLane(Bool), probe
  case listUpstreams
  /// What `GET /status` asks for where HTML is liked more than JSON, and so in no table of paths.
  case getPage
  case getEvents, getStatus, getPageFile, getMetrics, getHealth, getReadiness
  case listTokens, createToken, revokeToken
  case listOperations, startOperation, getOperation, stopOperation
  case getHistory, listActs, listClients, listLanes
  case getRequest, getBody, getStatusEvents
  case rescueStore

  /// A route's method and path.
  package struct Entry: Sendable {
    /// nil for every method.
    package let method: HTTPMethod?
    /// As ``Router`` reads it.
    package let pattern: String
    /// What is asked for.
    package let route: Route

    init(_ method: HTTPMethod?, _ pattern: String, _ route: Route) {
      self.method = method
      self.pattern = pattern
      self.route = route
    }
  }

  /// All of them, literal paths before those with captures.
  package static let all: [Entry] =
    [
      Entry(.post, "/v1/envelopes", .postEnvelopes),
      Entry(.get, "/v1/envelopes", .listEnvelopes),
      Entry(.post, "/v1/envelopes/query", .queryEnvelopes),
      Entry(.post, "/v1/checkin", .checkIn),
      Entry(nil, "/v1/relay/{upstream}/{path…}", .relayRequest),
      Entry(nil, "/v1/relay/{upstream}", .relayRequest),
      Entry(.get, "/v1/envelopes/{id}", .getEnvelope),
      Entry(.get, "/v1/envelopes/{id}/response", .getAnswer),
      Entry(.get, "/v1/envelopes/{id}/request", .getRequest),
      Entry(.get, "/v1/envelopes/{id}/body", .getBody),
      Entry(.post, "/v1/envelopes/{id}/run", .run),
      Entry(.post, "/v1/envelopes/{id}/resolve", .resolve),
      Entry(.post, "/v1/envelopes/{id}/requeue", .requeue),
      Entry(.patch, "/v1/envelopes/{id}", .patch),
      Entry(.delete, "/v1/envelopes/{id}", .cancel),
      Entry(.get, "/v1/clients", .listClients),
      Entry(.get, "/v1/clients/{client}", .getClient),
      Entry(.delete, "/v1/clients/{client}/envelopes", .cancelClient),
      Entry(.post, "/v1/clients/{client}/run", .runClient),
      Entry(.get, "/v1/clients/{client}/envelopes/{key}", .getByKey),
    ] + pausing + [
      Entry(.get, "/v1/lanes", .listLanes),
      Entry(.get, "/v1/upstreams", .listUpstreams),
      Entry(.post, "/v1/upstreams/{upstream}/probe", .probe),
      Entry(.get, "/v1/events", .getEvents),
      Entry(.get, "/v1/tokens", .listTokens),
      Entry(.post, "/v1/tokens", .createToken),
      Entry(.delete, "/v1/tokens/{id}", .revokeToken),
      Entry(.get, "/v1/operations", .listOperations),
      Entry(.post, "/v1/operations", .startOperation),
      Entry(.get, "/v1/operations/{id}", .getOperation),
      Entry(.delete, "/v1/operations/{id}", .stopOperation),
      Entry(.post, "/v1/store/rescue", .rescueStore),
      Entry(.get, "/v1/history", .getHistory),
      Entry(.get, "/v1/audit", .listActs),
      Entry(.get, "/v1/status/events", .getStatusEvents),
      Entry(.get, "/status", .getStatus),
      Entry(.get, "/status/page/{file}", .getPageFile),
      Entry(.get, "/metrics", .getMetrics),
      Entry(.get, "/healthz", .getHealth),
      Entry(.get, "/readyz", .getReadiness),
    ]

  private static let pausing = [("pause", true), ("resume", false)].flatMap { word, isPaused in
    [
      Entry(.post, "/v1/upstreams/{upstream}/\(word)", .pauseUpstream(isPaused)),
      Entry(.post, "/v1/clients/{client}/\(word)", .pauseClient(isPaused)),
      Entry(.post, "/v1/clients/{client}/lanes/{lane}/\(word)", .pauseLane(isPaused)),
    ]
  }

  /// Which listeners have it.
  var audience: RouteAudience {
    switch self {
    case .postEnvelopes, .relayRequest, .checkIn: .devices
    case .pauseUpstream, .pauseClient, .pauseLane, .probe, .listUpstreams, .getStatus, .getPage,
      .getPageFile, .getStatusEvents, .getMetrics, .listTokens, .createToken, .revokeToken,
      .getHistory, .listActs, .listClients, .listLanes, .getRequest, .getBody,
      .listOperations, .startOperation, .getOperation, .stopOperation, .rescueStore:
      .operators
    case .listEnvelopes, .queryEnvelopes, .getEnvelope, .getAnswer, .getClient, .getByKey, .run,
      .resolve, .requeue, .patch, .cancel, .cancelClient, .runClient, .getEvents, .getHealth,
      .getReadiness:
      .both
    }
  }

  /// The router that finds those which a listener has.
  static func router(for audience: ListenerConfiguration.Audience?) -> Router<Route> {
    var router = Router<Route>()
    for entry in all where entry.route.audience.isServed(to: audience) {
      if let method = entry.method {
        router.add(method, entry.pattern, entry.route)
      } else {
        router.addAny(entry.pattern, entry.route)
      }
    }
    return router
  }
}
