import HTTPServer
import RelayCore

extension Route {
  /// What the audit log calls it; nil for what changes nothing, or only hands over.
  package var auditedAction: String? {
    switch self {
    case .run, .runClient: "run"
    case .resolve: "resolve"
    case .requeue: "requeue"
    case .patch: "edit"
    case .cancel, .cancelClient: "cancel"
    case .pauseUpstream(let isPaused), .pauseClient(let isPaused), .pauseLane(let isPaused):
      isPaused ? "pause" : "resume"
    case .probe: "probe"
    case .createToken: "create-token"
    case .revokeToken: "revoke-token"
    case .startOperation: "start-operation"
    case .stopOperation: "stop-operation"
    case .postEnvelopes, .listEnvelopes, .queryEnvelopes, .relayRequest, .getEnvelope, .getAnswer,
      .getClient, .checkIn, .getByKey, .listUpstreams, .getEvents, .getStatus, .getPage,
      .getPageFile, .getMetrics, .getHealth, .getReadiness, .listTokens, .getHistory, .listActs,
      .listClients, .listLanes, .listOperations, .getOperation, .getRequest, .getBody,
      .getStatusEvents:
      nil
    // The audit log stands in the very store that is being left: the relay's log has who did it.
    case .rescueStore: nil
    }
  }

  /// Whether it changes something of the store's that is then told as done; posts are looked at
  /// once they are committed.
  var changesTheStore: Bool { auditedAction != nil }

  /// To what it is done: a path below `/v1/`, each name in percent-encoding.
  func auditedSubject(_ captures: PathCaptures) -> String {
    func name(_ capture: String) -> String {
      let name = captures.decoded(capture) ?? ""
      return String(decoding: PercentEncoding.encode(name.utf8), as: UTF8.self)
    }
    return switch self {
    case .pauseUpstream, .probe: "upstreams/\(name("upstream"))"
    case .pauseClient, .runClient, .cancelClient: "clients/\(name("client"))"
    case .pauseLane: "clients/\(name("client"))/lanes/\(name("lane"))"
    case .createToken: "tokens"
    case .startOperation: "operations"
    case .stopOperation: "operations/\(name("id"))"
    case .revokeToken: "tokens/\(name("id"))"
    default: "envelopes/\(name("id"))"
    }
  }
}
