import HTTPServer
import JSON
import RelayCore

/// `GET` and `POST /v1/operations`, and `GET` and `DELETE /v1/operations/{id}`: something that is
/// done with all that a filter matches.
struct Operations {
  private let context: EndpointContext
  private var desk: OperationDesk { context.relay.operations }

  /// The number of envelopes that one look returns, and the number that it examines.
  private static let pageCount = 1000
  private static let looksMax = 200_000
  /// The time that a stop waits for operations that have their turn, in milliseconds, and the steps
  /// of that wait.
  private static let stopPatienceMs: Int64 = 10_000
  private static let stopStepMs: Int64 = 10

  init(_ context: EndpointContext) { self.context = context }

  // MARK: - Beginning

  /// Returns true if a request only asks for the number of matches.
  ///
  /// - Throws: `unknown-field` or `invalid-field` for another query.
  static func isDryRun(_ request: HTTPRequest) throws(Problem) -> Bool {
    let parameters = try PageParameters(request.head.query, ["dryRun"], isPaged: false)
    switch parameters.text("dryRun") {
    case nil, "false": return false
    case "true": return true
    case let text?:
      throw .invalidField(
        "dryRun", "dryRun is \(text.quoted); it has to be true or false.")
    }
  }

  /// Counts what a filter matches, and begins unless only that was asked.
  func start(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let isDryRun = try Self.isDryRun(request)
    let terms = try OperationTerms(try await CommandBody(context).read(request))
    guard !isDryRun else { return Self.json(try await matches(terms)) }
    guard !context.relay.isDraining else { throw .draining() }
    let place = try takePlace()
    var isBegun = false
    defer { if !isBegun { desk.giveBack(place) } }
    let matches = try await matches(terms)
    if let expected = terms.expectedCount {
      guard expected == matches.order.count else {
        throw .countDiffers(expected: expected, matched: matches.order.count)
      }
    } else if terms.action == .replay {
      throw .notCounted(matched: matches.order.count)
    }
    let operation = try await begin(terms, matches, at: place)
    isBegun = true
    return Self.begun(operation)
  }

  private func takePlace() throws(Problem) -> SharedPlaces.Place {
    do throws(SharedPlaces.Refusal) {
      return try desk.take(
        context.placeHolder(isForOperators: true),
        context.placeLimits(of: OperationLimits.runningMax))
    } catch {
      throw .shareUsedUp(.operations, error)
    }
  }

  private func begin(
    _ terms: OperationTerms, _ matches: Matches, at place: SharedPlaces.Place
  ) async throws(Problem) -> Operation {
    var operation = Operation(
      terms.action, terms.filter, matched: matches.order.count, hasMore: matches.hasMore,
      who: context.caller.publicName ?? Auditor.nobody, at: context.relay.now().wall)
    operation.hasFreshKeys = terms.hasFreshKeys
    do throws(StoreError) {
      operation.number = try await context.store.beginOperation(operation)
    } catch {
      throw context.problem(error)
    }
    context.act?.say(
      "\(operation.number): \(operation.action.rawValue) \(operation.matched) with"
        + " \(operation.filter.words)")
    desk.note(operation)
    let run = OperationRun(context, operation, matches.order.items, at: place)
    Task(executorPreference: context.relay.dispatcher.loop) {
      var run = run
      await run.run()
    }
    return operation
  }

  private static func begun(_ operation: Operation) -> HTTPResponse {
    var response = HTTPResponse.freshJSON(operation.json(), status: 202)
    response.headers.add("Location", "/v1/operations/\(operation.number)")
    return response
  }

  // MARK: - Counting

  /// The present matches of a filter.
  private struct Matches {
    var order: OperationOrder
    /// True if there are more than one operation takes.
    var hasMore = false
  }

  private func matches(_ terms: OperationTerms) async throws(Problem) -> Matches {
    let filter = EnvelopeFilter(terms.filter, inFlight: context.relay.dispatcher.inFlightSerials())
    var matches = Matches(order: OperationOrder(terms.action))
    let lanes = context.rules.lanes
    var serial: Serial = 0
    while true {
      guard !Task.isCancelled else { throw .draining() }
      let page = try await page(filter, after: serial)
      for envelope in page.envelopes {
        guard matches.order.count < OperationLimits.envelopesMax else {
          matches.hasMore = true
          return matches
        }
        matches.order.add(envelope, order: lanes.rules(ofLane: envelope.terms.lane).order)
      }
      guard page.hasMore else { return matches }
      serial = page.scannedThrough
    }
  }

  private func page(
    _ filter: EnvelopeFilter, after serial: Serial
  ) async throws(Problem) -> EnvelopePage {
    do throws(StoreError) {
      return try await context.list(
        filter, after: serial, countMax: Self.pageCount, looksMax: Self.looksMax)
    } catch {
      throw context.problem(error)
    }
  }

  private static func json(_ matches: Matches) -> HTTPResponse {
    var json = JSONWriter()
    json.object { json in
      json.member("matched", matches.order.count)
      if matches.hasMore { json.member("more", true) }
    }
    return .freshJSON(json.finish())
  }

  // MARK: - Looking, stopping

  /// All that are remembered, the newest first.
  func list(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    _ = try PageParameters(request.head.query, [], isPaged: false)
    var json = JSONWriter()
    let operations = try await all()
    json.object { json in
      json.memberArray("operations") { json in
        for operation in operations { json.object { operation.writeMembers(to: &$0) } }
      }
    }
    return .freshJSON(json.finish())
  }

  /// One of them.
  func get(_ captures: PathCaptures) async throws(Problem) -> HTTPResponse {
    .freshJSON(try await operation(captures).json())
  }

  /// Has one stopped, and shows how far it came; one that has ended stays as it is.
  func stop(_ captures: PathCaptures) async throws(Problem) -> HTTPResponse {
    let operation = try await operation(captures)
    guard desk.stop(operation.number) else {
      return .freshJSON(try await ended(try await self.operation(captures)).json())
    }
    let relay = context.relay
    let end = relay.now().monotonic.adding(milliseconds: Self.stopPatienceMs)
    while desk.operation(operation.number)?.state == .running, relay.now().monotonic < end {
      await relay.pause(milliseconds: Self.stopStepMs)
    }
    let shown = desk.operation(operation.number) ?? operation
    context.act?.say("\(shown.state.rawValue) after \(shown.done) of \(shown.matched)")
    return .freshJSON(shown.json())
  }

  /// The operation as it is shown.
  ///
  /// One that the store has as running, and that does not run here, was interrupted: the store may
  /// not have been told of its end.
  private func ended(_ operation: Operation) async throws(Problem) -> Operation {
    guard operation.state == .running else { return operation }
    var operation = operation
    operation.end(as: .interrupted, at: context.relay.now().wall)
    do throws(StoreError) {
      try await context.store.noteOperation(operation)
    } catch {
      throw context.problem(error)
    }
    return operation
  }

  private func operation(_ captures: PathCaptures) async throws(Problem) -> Operation {
    let id = captures.decoded("id") ?? ""
    guard let number = Int64(id), String(number) == id,
      let operation = try await all().first(where: { $0.number == number })
    else { throw .unknownOperation(id) }
    return operation
  }

  /// Running operations are known better here than in the store.
  private func all() async throws(Problem) -> [Operation] {
    do throws(StoreError) {
      return try await context.store.operations().map { desk.operation($0.number) ?? $0 }
    } catch {
      throw context.problem(error)
    }
  }
}
