import HTTPServer
import RelayCore

/// `GET /v1/clients/{client}`.
struct GetClient {
  private let context: EndpointContext

  init(_ context: EndpointContext) { self.context = context }

  func respond(_ captures: PathCaptures) async throws(Problem) -> HTTPResponse {
    let name = captures.decoded("client") ?? ""
    guard NameSyntax.isName(Array(name.utf8)[...]), context.caller.mayKnow(of: name) else {
      throw .unknownClient(name)
    }
    return .json(try await view(of: name).json())
  }

  private func view(of name: String) async throws(Problem) -> ClientView {
    let view: ClientView?
    do throws(StoreError) {
      view = try await knownView(of: name)
    } catch {
      throw context.problem(error)
    }
    guard let view else { throw .unknownClient(name) }
    return view
  }

  /// Returns the state of a client; nil if nothing of it was ever accepted.
  func knownView(of name: String) async throws(StoreError) -> ClientView? {
    guard let record = try await context.store.client(name) else { return nil }
    let views = record.lanes.map { ($0, context.relay.dispatcher.laneView($0.number)) }
    let ids = try await context.store.ids(of: views.compactMap { $0.1?.head?.serial })
    let dispatcher = context.relay.dispatcher
    let lanes = views.map { lane, view in
      var shown = ClientView.Lane(
        record: lane, phase: view?.phase, waiting: view?.waiting ?? 0,
        headStanding: view?.head?.standing, head: view?.head.flatMap { ids[$0.serial] })
      shown.parked = view?.parked ?? 0
      shown.isPaused = dispatcher.isPaused(.lane(lane.number))
      let rules = context.rules.lanes.rules(ofLane: lane.name)
      shown.order = rules.order
      shown.isEvidence = rules.isEvidence
      return shown
    }
    var client = ClientView(
      client: name, isPaused: dispatcher.isPaused(.client(record.number)), lanes: lanes)
    client.openUploads = context.relay.uploads.claimed(of: name)
    // By the head, since the lanes do not move yet when the first requests after a start come.
    let blocked = lanes.filter { $0.headStanding == .blocked }.compactMap(\.head)
    client.needsAttentionCount = blocked.count
    client.needsAttention = try await context.blockedEnvelopes(
      Array(blocked.prefix(ClientView.attentionMax)))
    return client
  }
}
