import HTTPServer
import RelayCore

/// `GET /v1/events` and `/v1/status/events`: what happens, and how the relay stands, as server-sent
/// events.
struct GetEvents {
  private let context: EndpointContext

  init(_ context: EndpointContext) { self.context = context }

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let parameters = try EventParameters(request.head, from: context.caller.client)
    try await check(parameters.filter)
    let listener = try admit(isForOperators: false)
    return Self.response { [context] writer in
      var stream = EventStream(context, parameters, listener, writer)
      try await stream.run()
    }
  }

  /// Answers with a stream of the relay's state, sent whenever it changes.
  func respondWithStatus() throws(Problem) -> HTTPResponse {
    let listener = try admit(isForOperators: true)
    return Self.response { [context] writer in
      var stream = StatusStream(context, listener, writer)
      try await stream.run()
    }
  }

  private static func response(
    _ run: @escaping @Sendable (ResponseWriter) async throws -> Void
  ) -> HTTPResponse {
    var response = HTTPResponse(status: 200, body: .stream(run))
    response.headers.add("Content-Type", "text/event-stream")
    response.headers.add("Cache-Control", "no-store")
    // Proxies that gather an answer before they pass it on would hold events back.
    response.headers.add("X-Accel-Buffering", "no")
    return response
  }

  /// Whether there is what the filter names, a client may come to be known later; and whether the
  /// log can be read at all, which could not be said any more once a stream has begun.
  private func check(_ filter: EventFilter) async throws(Problem) {
    var isUpstreamKnown = true
    var isEnvelopeKnown = true
    do throws(StoreError) {
      _ = try await context.store.eventLogSpan()
      if let name = filter.upstream, context.relay.upstreamNumber(name) == nil {
        isUpstreamKnown = try await context.store.upstreamNames().values.contains(name)
      }
      if let id = filter.envelope {
        let serial = context.store.serial(in: id)
        isEnvelopeKnown = try await context.store.ids(of: [serial])[serial] == id
      }
    } catch {
      throw context.problem(error)
    }
    if isEnvelopeKnown, let id = filter.envelope {
      isEnvelopeKnown = try await context.ownEnvelopes(among: [id]).contains(id)
    }
    if !isUpstreamKnown { throw .unknownUpstream(filter.upstream ?? "", field: "upstream") }
    if !isEnvelopeKnown { throw .unknownEnvelope(filter.envelope?.description ?? "") }
  }

  private func admit(isForOperators: Bool) throws(Problem) -> EventListener {
    let limits = context.placeLimits(of: context.relay.configuration.events.listenersMax)
    let holder = context.placeHolder(isForOperators: isForOperators)
    switch context.relay.dispatcher.listeners.admit(holder, limits) {
    case .admitted(let listener): return listener
    case .full(let refusal): throw .shareUsedUp(.eventStreams, refusal)
    case .closed: throw .draining()
    }
  }
}
