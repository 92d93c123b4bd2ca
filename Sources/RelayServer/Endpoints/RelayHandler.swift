import HTTPServer
import RelayCore

/// Answers every request that the relay is sent, by the contract in `openapi.yaml`.
package struct RelayHandler: RequestHandler {
  /// One for each listener of the configuration, with the routes that belong to it.
  private let routers: [Router<Route>]
  private var context: EndpointContext
  private let gate: Gate

  /// The endpoints of a relay.
  package init(_ relay: Relay) {
    context = EndpointContext(relay)
    gate = Gate(relay)
    routers = relay.listeners.map { Route.router(for: $0.audience) }
  }

  /// Answers a request.
  package func respond(to request: HTTPRequest) async -> HTTPResponse {
    context.relay.log.isAccessOn ? await answerNoting(request) : await answer(request)
  }

  /// Answers, and keeps what the access log is to say.
  ///
  /// By itself: what it keeps meanwhile would be kept of every request that waits.
  @inline(never)
  private func answerNoting(_ request: HTTPRequest) async -> HTTPResponse {
    let note = AccessNote()
    var noting = self
    noting.context = context.with(note)
    var response = await noting.answer(request)
    response.note = note
    return response
  }

  private func answer(_ request: HTTPRequest) async -> HTTPResponse {
    do throws(Problem) {
      try gate.checkCertificate(of: request.origin)
    } catch {
      var response = error.response
      response.closesConnection = true
      return response
    }
    return await route(request)
  }

  private func route(_ request: HTTPRequest) async -> HTTPResponse {
    switch routers[request.origin.listener].match(request.head.method, path: request.head.path) {
    case .found(let route, let captures):
      guard route == .getStatus else { return await respond(to: request, route, captures) }
      let isPage = GetPage.isWanted(request.head)
      var response = await respond(to: request, isPage ? .getPage : route, captures)
      response.headers.add("Vary", "Accept")
      return response
    case .notFound: return Problem.notFound().response
    case .methodNotAllowed(let allow): return Problem.methodNotAllowed(allow: allow).response
    case .options(let allow):
      var response = HTTPResponse(status: 204)
      response.headers.add("Allow", allow)
      return response
    }
  }

  private func respond(
    to request: HTTPRequest, _ route: Route, _ captures: PathCaptures
  ) async -> HTTPResponse {
    do throws(Problem) {
      let caller = try gate.admit(request, to: route)
      context.accessNote?.note(caller)
      try context.countRequest(request.origin, to: route, captures, of: caller)
      try await Self.terms(of: route)?.check(request)
      let auditor = Auditor(context: context.with(caller))
      let isTrial = route == .startOperation ? try Operations.isDryRun(request) : false
      let response = try await auditor.watch(route, captures, isTrial: isTrial) { context in
        await answer(route, request, captures, context)
      }
      // What was waited for is shown only to those who may still see it.
      if Self.mayWait(route) { try gate.recheck(caller) }
      return response
    } catch {
      return error.response
    }
  }

  /// What a call that changes something takes; nil for one that looks at its terms by itself.
  private static func terms(of route: Route) -> CallTerms? {
    switch route {
    case .run, .cancel, .cancelClient, .pauseUpstream, .pauseClient, .pauseLane, .probe,
      .revokeToken, .stopOperation:
      CallTerms()
    case .postEnvelopes, .queryEnvelopes, .checkIn, .resolve, .requeue, .patch, .createToken:
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

  private func answer(
    _ route: Route, _ request: HTTPRequest, _ captures: PathCaptures, _ context: EndpointContext
  ) async -> HTTPResponse {
    switch route {
    case .postEnvelopes: await PostEnvelopes(context).respond(to: request)
    case .listEnvelopes: await ListEnvelopes(context).respond(to: request)
    case .queryEnvelopes: await QueryEnvelopes(context).respond(to: request)
    case .checkIn: await CheckIn(context).respond(to: request)
    case .relayRequest: await RelayRequest(context).respond(to: request, captures)
    case .getEnvelope: await GetEnvelope(context).respond(to: request, captures)
    case .getAnswer: await GetEnvelope(context).respondWithAnswer(captures)
    case .getRequest: await GetRequest(context).respond(captures)
    case .getBody: await GetRequest(context).respondWithBody(captures)
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
    case .listUpstreams: await ListUpstreams(context).respond()
    case .getEvents: await GetEvents(context).respond(to: request)
    case .getStatusEvents: await GetEvents(context).respondWithStatus(to: request)
    case .listTokens: await Tokens(context).list(request)
    case .createToken: await Tokens(context).create(request)
    case .revokeToken: await Tokens(context).revoke(captures)
    case .listActs: await ListActs(context).respond(to: request)
    case .listOperations: await Operations(context).list(request)
    case .startOperation: await Operations(context).start(request)
    case .getOperation: await Operations(context).get(captures)
    case .stopOperation: await Operations(context).stop(captures)
    case .getHistory: await GetHistory(context).respond(to: request)
    case .listClients: await ListClients(context).respond(to: request)
    case .listLanes: await ListLanes(context).respond(to: request)
    case .getStatus: await GetStatus(context).respond()
    case .getPage: GetPage.page(request.head)
    case .getPageFile: GetPage.file(request.head, captures)
    case .getMetrics: GetMetrics(context).respond(to: request)
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
