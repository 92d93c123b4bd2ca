import HTTPServer
import JSON
import RelayCore

/// `POST …/pause` and `…/resume` of an upstream, a client or a lane, and `POST …/probe` of an
/// upstream.
struct Pausing {
  private let context: EndpointContext

  init(_ context: EndpointContext) { self.context = context }

  /// Begins or ends an upstream's pause.
  func upstream(isPaused: Bool, _ captures: PathCaptures) async throws(Problem) -> HTTPResponse {
    try await set(isPaused, .upstream(try configuredUpstream(captures).name), isKnown: nil)
  }

  /// Begins or ends a client's pause.
  func client(isPaused: Bool, _ captures: PathCaptures) async throws(Problem) -> HTTPResponse {
    let client = try name("client", captures)
    return try await set(isPaused, .client(client), isKnown: try await isKnown(client))
  }

  /// Begins or ends a lane's pause.
  func lane(isPaused: Bool, _ captures: PathCaptures) async throws(Problem) -> HTTPResponse {
    let lane = LaneName(client: try name("client", captures), lane: try name("lane", captures))
    return try await set(isPaused, .lane(lane), isKnown: try await isKnown(lane))
  }

  /// Tries an upstream at once.
  func probe(_ captures: PathCaptures) async throws(Problem) -> HTTPResponse {
    let number = try configuredUpstream(captures).number
    let (isReachable, retriedLanes) = context.relay.dispatcher.probe(number)
    let waiting = context.relay.dispatcher.waiting(for: number)
    return Self.json { json in
      json.member("reachable", isReachable)
      json.member("waiting", waiting)
      json.member("retriedLanes", retriedLanes)
    }
  }

  /// Whether anything of a client was ever accepted, paused or resumed.
  private func isKnown(_ client: String) async throws(Problem) -> Bool {
    do throws(StoreError) {
      return try await context.store.client(client) != nil
    } catch {
      throw context.problem(error)
    }
  }

  private func isKnown(_ lane: LaneName) async throws(Problem) -> Bool {
    var last: LaneNumber?
    do throws(StoreError) {
      while true {
        let page = try await context.store.lanes(
          of: lane.client, after: last, countMax: StoreLimits.lanesShownMax)
        if page.lanes.contains(where: { $0.name == lane }) { return true }
        guard page.hasMore, let number = page.lanes.last?.number else { return false }
        last = number
      }
    } catch {
      throw context.problem(error)
    }
  }

  /// - Parameter isKnown: Whether the name was known before; nil if it is configured.
  private func set(
    _ isPaused: Bool, _ name: PauseName, isKnown: Bool?
  ) async throws(Problem) -> HTTPResponse {
    let refusal: QuotaRefusal?
    do throws(StoreError) {
      refusal = try await context.relay.dispatcher.setPaused(isPaused, name)
    } catch {
      throw context.problem(error)
    }
    if let refusal {
      context.relay.metrics.count(refusal)
      throw .tooManyNames(refusal, client: name.ownerName, field: nil)
    }
    return Self.json { json in
      json.member("paused", isPaused)
      if let isKnown { json.member("known", isKnown) }
    }
  }

  private func configuredUpstream(
    _ captures: PathCaptures
  ) throws(Problem) -> (name: String, number: UpstreamNumber) {
    let name = captures.decoded("upstream") ?? ""
    guard let number = context.relay.upstreamNumber(name) else {
      throw .unknownUpstream(name, field: nil)
    }
    return (name, number)
  }

  private func name(_ capture: String, _ captures: PathCaptures) throws(Problem) -> String {
    let name = captures.decoded(capture) ?? ""
    guard NameSyntax.isName(Array(name.utf8)[...]) else {
      throw .invalidField(capture, "A \(capture)'s name is \(NameSyntax.rule).")
    }
    return name
  }

  private static func json(_ members: (inout JSONWriter) -> Void) -> HTTPResponse {
    var json = JSONWriter()
    json.object { members(&$0) }
    return .freshJSON(json.finish())
  }
}

extension PauseName {
  /// The client that it is about; empty for an upstream.
  fileprivate var ownerName: String {
    switch self {
    case .upstream: ""
    case .client(let client): client
    case .lane(let lane): lane.client
    }
  }
}
