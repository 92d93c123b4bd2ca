import HTTPServer
import RelayCore

/// `POST /v1/clients/{client}/run`: have a client's waiting envelopes tried now, and report.
struct RunClient {
  private let context: EndpointContext
  private var dispatcher: Dispatcher { context.relay.dispatcher }

  init(_ context: EndpointContext) { self.context = context }

  func respond(to request: HTTPRequest, _ captures: PathCaptures) async throws(Problem)
    -> HTTPResponse
  {
    guard !context.relay.isDraining else { throw .draining() }
    let waitSeconds = try context.waitSeconds(request.head.query)
    let terms = try RunTerms(try await CommandBody(context).read(request))
    let members = try RunMembers(context, terms.filter)
    let name = captures.decoded("client") ?? ""
    guard let client = try await members.client(named: name) else { throw .unknownClient(name) }
    let wait = waitSeconds > 0 ? try context.takeWait() : nil
    defer { withExtendedLifetime(wait) {} }
    let place = try join(terms.filter, of: client.number)
    defer { dispatcher.leaveRun(place.number) }
    if place.isNew { await begin(place.number, members, client, name) }
    let stand = await dispatcher.runStand(place.number, withinMs: Int64(waitSeconds) * 1000)
    let run = try run(stand)
    return .freshJSON(RunReport(client: name, run, isJoined: !place.isNew).json())
  }

  private func join(
    _ filter: RunFilter, of client: ClientNumber
  ) throws(Problem) -> (number: RunBook.Number, isNew: Bool) {
    do throws(SharedPlaces.Refusal) {
      return try dispatcher.joinRun(
        filter, of: client, for: context.placeHolder(),
        context.placeLimits(of: RunBook.Limits.runsMax))
    } catch {
      throw .shareUsedUp(.runs, error)
    }
  }

  private func begin(
    _ number: RunBook.Number, _ members: RunMembers, _ client: ClientRecord, _ name: String
  ) async {
    do throws(RunBook.Failure) {
      dispatcher.beginRun(number, try await members.read(of: client, name))
    } catch {
      dispatcher.failRun(number, error)
    }
  }

  private func run(_ stand: RunBook.Stand?) throws(Problem) -> ClientRun {
    switch stand {
    case .begun(let run): return run
    case .failed(.tooLarge): throw .runTooLarge()
    case .failed(.unreadable(let error)): throw context.problem(error)
    case .collecting: throw .storeUnavailable()
    case nil: throw .draining()
    }
  }
}
