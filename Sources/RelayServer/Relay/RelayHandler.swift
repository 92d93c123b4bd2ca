import EventLoop
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
  /// Where requests came in that other relays have passed on.
  private let origins = PassedOriginMemory()

  /// The endpoints of a relay.
  init(_ relay: RelayParts) {
    context = EndpointContext(relay)
    gate = Gate(relay)
    routers = relay.listeners.map { Route.router(for: $0.audience) }
  }

  /// Answers a request.
  package func respond(to request: HTTPRequest) async -> HTTPResponse {
    let listeners = context.relay.listeners
    guard listeners[request.origin.listener].audience != .relays else {
      if Self.isBundle(request) { return await respond(toBundle: request) }
      do throws(Problem) {
        let own = try PassedOrigin.unwrap(request, listeners, origins)
        return await respond(toOwn: own, passedOnFor: own.origin.peer)
      } catch {
        return error.response
      }
    }
    return await respond(toOwn: request)
  }

  /// The parts of the relay.
  var parts: RelayParts { context.relay }

  /// The limits as they are configured.
  var limits: LimitsConfiguration { context.relay.settings.rules.limits }

  /// Answers a request that came in here, or is passed on by another relay.
  private func respond(
    toOwn request: HTTPRequest, passedOnFor sender: PeerAddress? = nil
  ) async -> HTTPResponse {
    context.relay.log.isAccessOn
      ? await answerNoting(request, passedOnFor: sender) : await answer(request, in: context)
  }

  /// Answers, and keeps what the access log is to say.
  ///
  /// Never inlined: the task of every request that waits would keep room for its variables.
  @inline(never)
  private func answerNoting(
    _ request: HTTPRequest, passedOnFor sender: PeerAddress?
  ) async -> HTTPResponse {
    let note = AccessNote()
    if let sender { note.note(sender: sender.description) }
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
      if route === Route.status || route === Route.page { response.headers.add("Vary", "Accept") }
      return response
    case .answer(let response): return response
    }
  }

  /// The way that a request is answered.
  private enum Found {
    case route(Route, PathCaptures)
    /// An answer that needs only the request's head.
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
    case .found(let route, let captures)
    where route === Route.status && GetPage.isWanted(request.head):
      return .route(.page, captures)
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
      // An act would be told as done. Posts are told no sooner than they are on disk.
      if route.isAudited, let error = context.relay.embedded?.displacement {
        throw Problem(error)
      }
      let listing = try auditor.context.takeListing(for: route)
      defer { withExtendedLifetime(listing) {} }
      try await route.terms.check(request)
      let response = try await auditor.watch(request, route, captures) { context in
        do {
          return try await route.endpoint(request, captures, context)
        } catch {
          return (error as? Problem ?? .internalError()).response
        }
      }
      // What was waited for is shown only to those who may still see it.
      if route.mayWait { try gate.recheck(auditor.context.caller) }
      return response
    } catch {
      return error.response
    }
  }

  /// Lets a request in, if it may come in.
  ///
  /// Never inlined: the task of every request that waits would keep room for its variables.
  @inline(never)
  private func admit(
    _ request: HTTPRequest, to route: Route, _ captures: PathCaptures,
    in context: EndpointContext
  ) throws(Problem) -> EndpointContext {
    let caller = try gate.admit(request, to: route)
    context.accessNote?.note(client: caller.client, credential: caller.publicName)
    try context.countRequest(request.origin, to: route, captures, of: caller)
    return context.with(caller, from: request.origin)
  }

  /// Answers what the HTTP server refuses by itself, in the contract's words.
  @Sendable
  package static func response(to problem: ProtocolProblem) -> HTTPResponse {
    Problem(problem).response
  }
}
