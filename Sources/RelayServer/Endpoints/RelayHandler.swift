import HTTPServer
import RelayCore

/// Answers every request that the relay is sent, by the contract in `openapi.yaml`.
///
/// A class, and none of it changes: the server copies its handler for each request.
package final class RelayHandler: RequestHandler {
  /// One for each listener of the configuration, with the routes that belong to it.
  private let routers: [Router<Route>]
  private let context: EndpointContext
  private let gate: Gate

  /// The endpoints of a relay.
  package init(_ relay: Relay) {
    context = EndpointContext(relay)
    gate = Gate(relay)
    routers = relay.listeners.map { Route.router(for: $0.audience) }
  }

  /// Answers a request.
  package func respond(to request: HTTPRequest) async -> HTTPResponse {
    context.relay.log.isAccessOn
      ? await answerNoting(request) : await answer(request, in: context)
  }

  /// Answers, and keeps what the access log is to say.
  ///
  /// By itself: what it keeps meanwhile would be kept of every request that waits.
  @inline(never)
  private func answerNoting(_ request: HTTPRequest) async -> HTTPResponse {
    let note = AccessNote()
    var response = await answer(request, in: context.with(note))
    response.note = note
    return response
  }

  private func answer(
    _ request: HTTPRequest, in context: EndpointContext
  ) async -> HTTPResponse {
    switch find(request) {
    case .route(let route, let captures):
      var response = await respond(to: request, route, captures, in: context)
      if route == .getStatus || route == .getPage { response.headers.add("Vary", "Accept") }
      return response
    case .answer(let response): return response
    }
  }

  /// What a request comes to.
  private enum Found {
    case route(Route, PathCaptures)
    /// What needs no more than its head.
    case answer(HTTPResponse)
  }

  /// Finds what a request asks for.
  @inline(never)
  private func find(_ request: HTTPRequest) -> Found {
    do throws(Problem) {
      try gate.checkCertificate(of: request.origin)
    } catch {
      var response = error.response
      response.closesConnection = true
      return .answer(response)
    }
    switch routers[request.origin.listener].match(request.head.method, path: request.head.path) {
    case .found(.getStatus, let captures) where GetPage.isWanted(request.head):
      return .route(.getPage, captures)
    case .found(let route, let captures): return .route(route, captures)
    case .notFound: return .answer(Problem.notFound().response)
    case .methodNotAllowed(let allow):
      return .answer(Problem.methodNotAllowed(allow: allow).response)
    case .options(let allow):
      var response = HTTPResponse(status: 204)
      response.headers.add("Allow", allow)
      return .answer(response)
    }
  }

  private func respond(
    to request: HTTPRequest, _ route: Route, _ captures: PathCaptures,
    in context: EndpointContext
  ) async -> HTTPResponse {
    do throws(Problem) {
      let auditor = Auditor(context: try admit(request, to: route, captures, in: context))
      if route.changesTheStore, let error = context.store.displacement { throw Problem(error) }
      let listing = try auditor.context.takeListing(for: route)
      defer { withExtendedLifetime(listing) {} }
      try await Self.terms(of: route)?.check(request)
      let isTrial = route == .startOperation ? try Operations.isDryRun(request) : false
      let response = try await auditor.watch(route, captures, isTrial: isTrial) { context in
        await Self.endpoint(of: route)(request, captures, context)
      }
      // What was waited for is shown only to those who may still see it.
      if Self.mayWait(route) { try gate.recheck(auditor.context.caller) }
      return response
    } catch {
      return error.response
    }
  }

  /// Lets a request in, if it may come in.
  ///
  /// By itself: what it takes to find that out would be kept of every request that waits.
  @inline(never)
  private func admit(
    _ request: HTTPRequest, to route: Route, _ captures: PathCaptures,
    in context: EndpointContext
  ) throws(Problem) -> EndpointContext {
    let caller = try gate.admit(request, to: route)
    context.accessNote?.note(caller)
    try context.countRequest(request.origin, to: route, captures, of: caller)
    return context.with(caller, from: request.origin)
  }

  /// What a call that changes something takes; nil for one that looks at its terms by itself.
  private static func terms(of route: Route) -> CallTerms? {
    switch route {
    case .run, .cancel, .cancelClient, .pauseUpstream, .pauseClient, .pauseLane, .probe,
      .revokeToken, .stopOperation:
      CallTerms()
    case .postEnvelopes, .queryEnvelopes, .checkIn, .resolve, .requeue, .patch, .createToken,
      .rescueStore:
      CallTerms(hasBody: true)
    case .startOperation: CallTerms(parameters: ["dryRun"], hasBody: true)
    case .runClient: CallTerms(parameters: ["wait"], hasBody: true)
    case .listEnvelopes, .relayRequest, .getEnvelope, .getAnswer, .getClient, .getByKey,
      .getEvents, .getStatus, .getPage, .getPageFile, .getMetrics, .getHealth, .getReadiness,
      .listUpstreams, .listTokens, .getHistory, .listActs, .listClients, .listLanes, .getRequest,
      .getBody, .getStatusEvents, .listOperations, .getOperation:
      nil
    }
  }

  /// Whether a call that only shows something may take a while.
  ///
  /// A relayed request was accepted before it waits, and is answered so whatever happens meanwhile.
  private static func mayWait(_ route: Route) -> Bool {
    route == .getEnvelope || route == .runClient
  }

  /// What answers the calls of one route.
  private typealias Endpoint =
    (HTTPRequest, PathCaptures, EndpointContext) async -> HTTPResponse

  /// What answers a route's calls.
  ///
  /// Said and not called, and by itself: a function that called them all would need the memory of
  /// all together (24 KiB), for as long as any of them waits.
  @inline(never)
  private static func endpoint(of route: Route) -> Endpoint {
    switch route {
    case .postEnvelopes: { await PostEnvelopes($2).respond(to: $0) }
    case .listEnvelopes: { await ListEnvelopes($2).respond(to: $0) }
    case .queryEnvelopes: { await QueryEnvelopes($2).respond(to: $0) }
    case .checkIn: { await CheckIn($2).respond(to: $0) }
    case .relayRequest: { await RelayRequest($2).respond(to: $0, $1) }
    case .getEnvelope: { await GetEnvelope($2).respond(to: $0, $1) }
    case .getAnswer: { await GetEnvelope($2).respondWithAnswer($1) }
    case .getRequest: { await GetRequest($2).respond($1) }
    case .getBody: { await GetRequest($2).respondWithBody($1) }
    case .getByKey: { await GetEnvelope($2).respondByKey($1) }
    case .run: { await SteerEnvelope($2).run($1) }
    case .resolve: { await SteerEnvelope($2).resolve($0, $1) }
    case .requeue: { await SteerEnvelope($2).requeue($0, $1) }
    case .patch: { await PatchEnvelope($2).respond(to: $0, $1) }
    case .cancel: { await SteerEnvelope($2).cancel($1) }
    case .cancelClient: { await CancelClient($2).respond($1) }
    case .runClient: { await RunClient($2).respond(to: $0, $1) }
    case .getClient: { await GetClient($2).respond($1) }
    case .pauseUpstream(let isPaused):
      { await Pausing($2).upstream(isPaused: isPaused, $1) }
    case .pauseClient(let isPaused): { await Pausing($2).client(isPaused: isPaused, $1) }
    case .pauseLane(let isPaused): { await Pausing($2).lane(isPaused: isPaused, $1) }
    case .probe: { await Pausing($2).probe($1) }
    case .listUpstreams: { await ListUpstreams($2).respond() }
    case .getEvents: { await GetEvents($2).respond(to: $0) }
    case .getStatusEvents: { await GetEvents($2).respondWithStatus(to: $0) }
    case .listTokens: { await Tokens($2).list($0) }
    case .createToken: { await Tokens($2).create($0) }
    case .revokeToken: { await Tokens($2).revoke($1) }
    case .listActs: { await ListActs($2).respond(to: $0) }
    case .listOperations: { await Operations($2).list($0) }
    case .startOperation: { await Operations($2).start($0) }
    case .getOperation: { await Operations($2).get($1) }
    case .stopOperation: { await Operations($2).stop($1) }
    case .rescueStore: { await RescueStore($2).respond(to: $0) }
    case .getHistory: { await GetHistory($2).respond(to: $0) }
    case .listClients: { await ListClients($2).respond(to: $0) }
    case .listLanes: { await ListLanes($2).respond(to: $0) }
    case .getStatus: { await GetStatus($2).respond() }
    case .getPage: { request, _, _ in GetPage.page(request.head) }
    case .getPageFile: { request, captures, _ in GetPage.file(request.head, captures) }
    case .getMetrics: { await GetMetrics($2).respond(to: $0) }
    case .getHealth: { HealthChecks($2).health() }
    case .getReadiness: { HealthChecks($2).readiness() }
    }
  }

  /// Answers what the HTTP server refuses by itself, in the contract's words.
  @Sendable
  package static func response(to problem: ProtocolProblem) -> HTTPResponse {
    Problem(problem).response
  }
}
