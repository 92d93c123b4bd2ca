import HTTPServer
import RelayCore

extension Route {
  /// All calls; of those whose paths match a request, the first has it, so literal paths come
  /// before those with captures.
  package static let all: [Route] =
    handingOver + uploads + envelopes + clients + lanes + upstreams + streams + tokens + operations
    + watching

  /// The status as JSON.
  static let status = Route(.get, "/status", on: .operators, for: .watching, takes: .anything) {
    _, _, context in
    await GetStatus(context).respond()
  }

  /// The operators' page: `GET /status` for those who prefer HTML to JSON.
  ///
  /// It has no path of its own. It holds no data, and asks for a token by itself.
  static let page = Route(.get, "/status", on: .operators, for: .everybody, takes: .anything) {
    request, _, _ in
    GetPage.page(request.head)
  }

  /// The router that finds the routes of a listener.
  static func router(for audience: ListenerConfiguration.Audience?) -> Router<Route> {
    var router = Router<Route>()
    for route in all where route.audience.isServed(to: audience) {
      if let method = route.method {
        router.add(method, route.pattern, route)
      } else {
        router.addAny(route.pattern, route)
      }
    }
    return router
  }

  private static let handingOver = [
    Route(.post, "/v1/envelopes", on: .devices, for: .handingOver, takes: .body) {
      try await PostEnvelopes($2).respond(to: $0)
    },
    // A check-in says what a device has seen, and so is more than a look.
    Route(.post, "/v1/checkin", on: .devices, for: .handingOver, takes: .body) {
      try await CheckIn($2).respond(to: $0)
    },
    Route(.post, "/v1/sync", on: .devices, for: .handingOver, takes: .body) {
      try await Sync($2).respond(to: $0)
    },
    Route(
      nil, "/v1/relay/{upstream}/{path…}", on: .devices, for: .handingOver, takes: .readByEndpoint
    ) {
      try await RelayRequest($2).respond(to: $0, $1)
    },
    Route(nil, "/v1/relay/{upstream}", on: .devices, for: .handingOver, takes: .readByEndpoint) {
      try await RelayRequest($2).respond(to: $0, $1)
    },
  ]

  private static let uploads = [
    Route(.head, "/v1/uploads/{id}", on: .devices, for: .handingOver, takes: .nothing) {
      try await Uploads($2).state($0, $1)
    },
    Route(.patch, "/v1/uploads/{id}", on: .devices, for: .handingOver, takes: .readByEndpoint) {
      try await Uploads($2).append($0, $1)
    },
    Route(
      .delete, "/v1/uploads/{id}", on: .both, for: .handingOver, takes: .nothing,
      act: AuditedAct("cancel", "uploads/{id}")
    ) {
      try await Uploads($2).cancel($0, $1)
    },
    Route(
      .get, "/v1/uploads", on: .operators, for: .watching, takes: .readByEndpoint, isListing: true
    ) {
      try await ListUploads($2).respond(to: $0)
    },
    Route(
      .get, "/v1/clients/{client}/uploads", on: .both, for: .looking, takes: .readByEndpoint,
      isListing: true
    ) {
      try await ListUploads($2).respond(to: $0, of: $1)
    },
  ]

  private static let envelopes =
    [
      Route(
        .get, "/v1/envelopes", on: .both, for: .looking, takes: .readByEndpoint, isListing: true
      ) {
        try await ListEnvelopes($2).respond(to: $0)
      },
      Route(.post, "/v1/envelopes/query", on: .both, for: .looking, takes: .body, isListing: true) {
        try await QueryEnvelopes($2).respond(to: $0)
      },
      Route(.get, "/v1/envelopes/{id}/request", on: .operators, for: .steering, takes: .anything) {
        try await GetRequest($2).respond($1)
      },
      Route(.get, "/v1/envelopes/{id}/body", on: .operators, for: .steering, takes: .anything) {
        try await GetRequest($2).respondWithBody($1)
      },
    ] + one("envelopes/{id}")

  private static let clients =
    [
      Route(
        .get, "/v1/clients", on: .operators, for: .watching, takes: .readByEndpoint, isListing: true
      ) {
        try await ListClients($2).respond(to: $0)
      },
      Route(.get, "/v1/clients/{client}", on: .both, for: .looking, takes: .anything) {
        try await GetClient($2).respond($1)
      },
      Route(
        .delete, "/v1/clients/{client}/envelopes", on: .both, for: .handingOver,
        takes: .only(CancelClient.parameters, hasBody: false),
        act: AuditedAct("cancel", "clients/{client}")
      ) { try await CancelClient($2).respond(to: $0, $1) },
      Route(
        .post, "/v1/clients/{client}/run", on: .both, for: .handingOver,
        takes: .only(["wait"], hasBody: true),
        act: AuditedAct("run", "clients/{client}"), mayWait: true
      ) { try await RunClient($2).respond(to: $0, $1) },
    ]
    + one("clients/{client}/envelopes/{key}")
    + pausing("clients/{client}") { try await Pausing($0).client(isPaused: $1, $2) }

  private static let lanes =
    pausing("clients/{client}/lanes/{lane}") { try await Pausing($0).lane(isPaused: $1, $2) }
    + [
      Route(
        .post, "/v1/clients/{client}/lanes/{lane}/skip", on: .operators, for: .steering,
        takes: .nothing, act: AuditedAct("skip", "clients/{client}/lanes/{lane}")
      ) { try await SkipGap($2).respond($1) },
      Route(
        .get, "/v1/clients/{client}/lanes/{lane}/receipt", on: .both, for: .looking,
        takes: .anything
      ) { try await GetReceipt($2).respond($1) },
      Route(
        .get, "/v1/clients/{client}/lanes/{lane}/ledger", on: .both, for: .looking,
        takes: .readByEndpoint, isListing: true
      ) { try await GetLedger($2).respond(to: $0, $1) },
      Route(
        .get, "/v1/lanes", on: .operators, for: .watching, takes: .readByEndpoint, isListing: true
      ) {
        try await ListLanes($2).respond(to: $0)
      },
    ]

  private static let upstreams =
    [
      Route(.get, "/v1/upstreams", on: .operators, for: .watching, takes: .anything) {
        _, _, context in
        await ListUpstreams(context).respond()
      },
      Route(
        .post, "/v1/upstreams/{upstream}/probe", on: .operators, for: .steering, takes: .nothing,
        act: AuditedAct("probe", "upstreams/{upstream}")
      ) { try await Pausing($2).probe($1) },
      Route(
        .post, "/v1/upstreams/{upstream}/try", on: .operators, for: .steering, takes: .nothing,
        act: AuditedAct("try", "upstreams/{upstream}")
      ) { try await TryUpstream($2).respond($1) },
    ]
    + pausing("upstreams/{upstream}") { try await Pausing($0).upstream(isPaused: $1, $2) }

  private static let streams = [
    Route(.get, "/v1/events", on: .both, for: .looking, takes: .readByEndpoint) {
      try await GetEvents($2).respond(to: $0)
    },
    Route(.get, "/v1/status/events", on: .operators, for: .watching, takes: .nothing) {
      try GetEvents($2).respondWithStatus()
    },
  ]

  private static let tokens = [
    Route(
      .get, "/v1/tokens", on: .operators, for: .seeingTokens, takes: .readByEndpoint,
      isListing: true
    ) {
      try await Tokens($2).list($0)
    },
    Route(
      .post, "/v1/tokens", on: .operators, for: .changingTokens, takes: .body,
      act: AuditedAct("create-token", "tokens")
    ) { try await Tokens($2).create($0) },
    Route(.post, "/v1/token/renew", on: .devices, for: .renewing, takes: .nothing) {
      request, _, context in
      try await RenewToken(context).respond(to: request)
    },
    Route(
      .delete, "/v1/tokens/{id}", on: .operators, for: .changingTokens, takes: .nothing,
      act: AuditedAct("revoke-token", "tokens/{id}")
    ) { try await Tokens($2).revoke($1) },
  ]

  private static let operations = [
    Route(.get, "/v1/operations", on: .operators, for: .watching, takes: .readByEndpoint) {
      try await Operations($2).list($0)
    },
    Route(
      .post, "/v1/operations", on: .operators, for: .steering,
      takes: .only(["dryRun"], hasBody: true),
      act: AuditedAct("start-operation", "operations", isTrial: Operations.isDryRun)
    ) { try await Operations($2).start($0) },
    Route(.get, "/v1/operations/{id}", on: .operators, for: .watching, takes: .anything) {
      try await Operations($2).get($1)
    },
    Route(
      .delete, "/v1/operations/{id}", on: .operators, for: .steering, takes: .nothing,
      act: AuditedAct("stop-operation", "operations/{id}")
    ) { try await Operations($2).stop($1) },
    // The audit log is in the very store that is being left: the relay's log has who did it.
    Route(.post, "/v1/store/rescue", on: .operators, for: .steering, takes: .body) {
      try await RescueStore($2).respond(to: $0)
    },
  ]

  private static let watching = [
    Route(
      .get, "/v1/history", on: .operators, for: .watching, takes: .readByEndpoint, isListing: true
    ) {
      try await GetHistory($2).respond(to: $0)
    },
    Route(
      .get, "/v1/audit", on: .operators, for: .watching, takes: .readByEndpoint, isListing: true
    ) {
      try await ListActs($2).respond(to: $0)
    },
    status,
    Route(.get, "/status/page/{file}", on: .operators, for: .everybody, takes: .anything) {
      request, captures, _ in
      GetPage.file(request.head, captures)
    },
    Route(.get, "/metrics", on: .operators, for: .watching, takes: .anything) {
      await GetMetrics($2).respond(to: $0)
    },
    Route(.get, "/healthz", on: .both, for: .everybody, takes: .anything) { _, _, _ in
      HealthChecks.alive
    },
    Route(.get, "/readyz", on: .both, for: .everybody, takes: .anything) { _, _, context in
      await HealthChecks(context).readiness()
    },
    Route(
      .get, "/.well-known/waystation/keys", on: .both, for: .everybody, takes: .anything
    ) { _, _, context in
      try GetKeys.respond(context.relay.receiptKeys)
    },
  ]

  /// The calls about one envelope that devices may make: by its id, or by their key.
  private static func one(_ subject: String) -> [Route] {
    let path = "/v1/\(subject)"
    return [
      Route(.get, path, on: .both, for: .looking, takes: .anything, mayWait: true) {
        try await GetEnvelope($2).respond(to: $0, $1)
      },
      Route(.get, path + "/response", on: .both, for: .looking, takes: .anything) {
        try await GetEnvelope($2).respondWithAnswer($1)
      },
      Route(
        .post, path + "/run", on: .both, for: .handingOver, takes: .nothing,
        act: AuditedAct("run", subject)
      ) { try await SteerEnvelope($2).run($1) },
      Route(
        .post, path + "/resolve", on: .both, for: .handingOver, takes: .body,
        act: AuditedAct("resolve", subject)
      ) { try await SteerEnvelope($2).resolve($0, $1) },
      Route(
        .post, path + "/requeue", on: .both, for: .handingOver, takes: .body,
        act: AuditedAct("requeue", subject)
      ) { try await SteerEnvelope($2).requeue($0, $1) },
      Route(
        .patch, path, on: .both, for: .handingOver, takes: .body, act: AuditedAct("edit", subject)
      ) { try await PatchEnvelope($2).respond(to: $0, $1) },
      Route(
        .delete, path, on: .both, for: .handingOver, takes: .nothing,
        act: AuditedAct("cancel", subject)
      ) { try await SteerEnvelope($2).cancel($1) },
    ]
  }

  /// The two calls that pause and resume one thing.
  private static func pausing(
    _ subject: String,
    _ endpoint:
      @escaping @Sendable (EndpointContext, Bool, PathCaptures) async throws -> HTTPResponse
  ) -> [Route] {
    [("pause", true), ("resume", false)].map { action, isPaused in
      Route(
        .post, "/v1/\(subject)/\(action)", on: .operators, for: .steering, takes: .nothing,
        act: AuditedAct(action, subject)
      ) { _, captures, context in try await endpoint(context, isPaused, captures) }
    }
  }
}
