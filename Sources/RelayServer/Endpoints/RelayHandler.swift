import HTTPServer

/// Answers every request that the relay is sent, by the contract in `openapi.yaml`.
package struct RelayHandler: RequestHandler {
  private enum Route: Sendable {
    case postEnvelopes, listEnvelopes, queryEnvelopes, relayRequest, getEnvelope, getAnswer,
      getClient, checkIn
    case getByKey, run, resolve, requeue, patch, cancel, cancelClient, runClient
    case pauseUpstream(Bool), pauseClient(Bool), pauseLane(Bool), probe
    case getEvents, getStatus, getHealth, getReadiness

    /// Which listeners have it.
    var audience: RouteAudience {
      switch self {
      case .postEnvelopes, .relayRequest, .checkIn: .devices
      case .pauseUpstream, .pauseClient, .pauseLane, .probe, .getStatus: .operators
      case .listEnvelopes, .queryEnvelopes, .getEnvelope, .getAnswer, .getClient, .getByKey, .run,
        .resolve, .requeue, .patch, .cancel, .cancelClient, .runClient, .getEvents, .getHealth,
        .getReadiness:
        .both
      }
    }
  }

  /// One for each listener of the configuration, with the routes that belong to it.
  private let routers: [Router<Route>]
  private let context: EndpointContext
  private let postEnvelopes: PostEnvelopes

  /// The endpoints of a relay.
  package init(_ relay: Relay) {
    context = EndpointContext(relay)
    postEnvelopes = PostEnvelopes(context)
    routers = relay.configuration.listen.map { Self.routes(for: $0.audience) }
  }

  private static func routes(for audience: ListenerConfiguration.Audience?) -> Router<Route> {
    var router = AudienceRouter(audience)
    router.add(.post, "/v1/envelopes", .postEnvelopes)
    router.add(.get, "/v1/envelopes", .listEnvelopes)
    router.add(.post, "/v1/envelopes/query", .queryEnvelopes)
    router.add(.post, "/v1/checkin", .checkIn)
    router.addAny("/v1/relay/{upstream}/{path…}", .relayRequest)
    router.addAny("/v1/relay/{upstream}", .relayRequest)
    router.add(.get, "/v1/envelopes/{id}", .getEnvelope)
    router.add(.get, "/v1/envelopes/{id}/response", .getAnswer)
    router.add(.post, "/v1/envelopes/{id}/run", .run)
    router.add(.post, "/v1/envelopes/{id}/resolve", .resolve)
    router.add(.post, "/v1/envelopes/{id}/requeue", .requeue)
    router.add(.patch, "/v1/envelopes/{id}", .patch)
    router.add(.delete, "/v1/envelopes/{id}", .cancel)
    router.add(.get, "/v1/clients/{client}", .getClient)
    router.add(.delete, "/v1/clients/{client}/envelopes", .cancelClient)
    router.add(.post, "/v1/clients/{client}/run", .runClient)
    router.add(.get, "/v1/clients/{client}/envelopes/{key}", .getByKey)
    for (word, isPaused) in [("pause", true), ("resume", false)] {
      router.add(.post, "/v1/upstreams/{upstream}/\(word)", .pauseUpstream(isPaused))
      router.add(.post, "/v1/clients/{client}/\(word)", .pauseClient(isPaused))
      router.add(.post, "/v1/clients/{client}/lanes/{lane}/\(word)", .pauseLane(isPaused))
    }
    router.add(.post, "/v1/upstreams/{upstream}/probe", .probe)
    router.add(.get, "/v1/events", .getEvents)
    router.add(.get, "/status", .getStatus)
    router.add(.get, "/healthz", .getHealth)
    router.add(.get, "/readyz", .getReadiness)
    return router.routes
  }

  /// Answers a request.
  package func respond(to request: HTTPRequest) async -> HTTPResponse {
    switch routers[request.origin.listener].match(request.head.method, path: request.head.path) {
    case .found(let route, let captures):
      do throws(Problem) {
        try await Self.terms(of: route)?.check(request)
      } catch {
        return error.response
      }
      return await answer(route, request, captures)
    case .notFound: return Problem.notFound().response
    case .methodNotAllowed(let allow): return Problem.methodNotAllowed(allow: allow).response
    case .options(let allow):
      var response = HTTPResponse(status: 204)
      response.headers.add("Allow", allow)
      return response
    }
  }

  /// Adds the routes that a listener has, and leaves out the others.
  private struct AudienceRouter {
    let audience: ListenerConfiguration.Audience?
    var routes = Router<Route>()

    init(_ audience: ListenerConfiguration.Audience?) { self.audience = audience }

    mutating func add(_ method: HTTPMethod, _ pattern: String, _ route: Route) {
      if route.audience.isServed(to: audience) { routes.add(method, pattern, route) }
    }

    mutating func addAny(_ pattern: String, _ route: Route) {
      if route.audience.isServed(to: audience) { routes.addAny(pattern, route) }
    }
  }

  /// What a call that changes something takes; nil for one that looks at its terms by itself.
  private static func terms(of route: Route) -> CallTerms? {
    switch route {
    case .run, .cancel, .cancelClient, .pauseUpstream, .pauseClient, .pauseLane, .probe:
      CallTerms()
    case .postEnvelopes, .queryEnvelopes, .checkIn, .resolve, .requeue, .patch:
      CallTerms(hasBody: true)
    case .runClient: CallTerms(parameters: ["wait"], hasBody: true)
    case .listEnvelopes, .relayRequest, .getEnvelope, .getAnswer, .getClient, .getByKey,
      .getEvents, .getStatus, .getHealth, .getReadiness:
      nil
    }
  }

  private func answer(
    _ route: Route, _ request: HTTPRequest, _ captures: PathCaptures
  ) async -> HTTPResponse {
    switch route {
    case .postEnvelopes: await postEnvelopes.respond(to: request)
    case .listEnvelopes: await ListEnvelopes(context).respond(to: request)
    case .queryEnvelopes: await QueryEnvelopes(context).respond(to: request)
    case .checkIn: await CheckIn(context).respond(to: request)
    case .relayRequest: await RelayRequest(context).respond(to: request, captures)
    case .getEnvelope: await GetEnvelope(context).respond(to: request, captures)
    case .getAnswer: await GetEnvelope(context).respondWithAnswer(captures)
    case .getByKey: await GetEnvelope(context).respondByKey(captures)
    case .run: await SteerEnvelope(context).run(captures)
    case .resolve: await SteerEnvelope(context).resolve(request, captures)
    case .requeue: await SteerEnvelope(context).requeue(request, captures)
    case .patch: await PatchEnvelope(context).respond(to: request, captures)
    case .cancel: await SteerEnvelope(context).cancel(captures)
    case .cancelClient: await CancelClient(context).respond(captures)
    case .runClient: await RunClient(context).respond(to: request, captures)
    case .getClient: await GetClient(context).respond(captures)
    case .pauseUpstream(let isPaused):
      await Pausing(context).upstream(isPaused: isPaused, captures)
    case .pauseClient(let isPaused): await Pausing(context).client(isPaused: isPaused, captures)
    case .pauseLane(let isPaused): await Pausing(context).lane(isPaused: isPaused, captures)
    case .probe: await Pausing(context).probe(captures)
    case .getEvents: await GetEvents(context).respond(to: request)
    case .getStatus: await GetStatus(context).respond()
    case .getHealth: HealthChecks(context).health()
    case .getReadiness: HealthChecks(context).readiness()
    }
  }

  /// Answers what the HTTP server refuses by itself, in the contract's words.
  @Sendable
  package static func response(to problem: ProtocolProblem) -> HTTPResponse {
    Problem(problem).response
  }
}
