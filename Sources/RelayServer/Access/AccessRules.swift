import RelayCore

/// Who may do what: one row for each route, and nothing decided elsewhere.
///
/// A device that may use a route has to do with its own client alone: what is another's is unknown
/// to it (``Caller/mayKnow(of:)``).
package enum AccessRules {
  /// What is answered to a caller.
  package enum Verdict: Equatable, Sendable {
    /// Go on.
    case allowed
    /// Who is it? (401)
    case unknownCaller
    /// Not this caller (403).
    case forbidden
  }

  /// Who may use a route.
  package struct Row: Equatable, Sendable {
    /// Whether anybody may, without a credential.
    var isForEverybody = false
    /// Whether a client may, for its own.
    var isForDevices = false
    /// What an operator has to be allowed.
    var role = OperatorRole.steer
    /// Whether a credential is needed also where none is otherwise.
    var needsCredential = false
  }

  /// What a caller is answered.
  ///
  /// - Parameter isOpen: Whether who shows no credential may do what needs none; see
  ///   ``AccessConfiguration/anonymous``.
  package static func verdict(on route: Route, for caller: Caller, isOpen: Bool) -> Verdict {
    let row = row(of: route)
    if row.isForEverybody { return .allowed }
    switch caller.kind {
    case .stranger: return .unknownCaller
    case .anonymous: return isOpen && !row.needsCredential ? .allowed : .unknownCaller
    case .device: return row.isForDevices ? .allowed : .forbidden
    case .operator(.steer): return .allowed
    case .operator(.read): return row.role == .read ? .allowed : .forbidden
    }
  }

  /// Whether a caller is told why the relay is not ready.
  package static func seesReasons(_ caller: Caller, isOpen: Bool) -> Bool {
    verdict(on: .getStatus, for: caller, isOpen: isOpen) == .allowed
  }

  /// Who may use a route.
  package static func row(of route: Route) -> Row {
    switch route {
    // The page holds no data, and asks for a token by itself.
    case .getHealth, .getReadiness, .getPage, .getPageFile:
      Row(isForEverybody: true)
    case .listEnvelopes, .queryEnvelopes, .getEnvelope, .getAnswer, .getByKey, .getClient,
      .getEvents:
      Row(isForDevices: true, role: .read)
    // A check-in says what a device has seen, and so is more than a look.
    case .postEnvelopes, .relayRequest, .checkIn, .run, .resolve, .requeue, .patch, .cancel,
      .cancelClient, .runClient:
      Row(isForDevices: true)
    case .getStatus, .getStatusEvents, .getMetrics, .listUpstreams, .getHistory, .listActs,
      .listClients, .listLanes, .listOperations, .getOperation:
      Row(role: .read)
    case .pauseUpstream, .pauseClient, .pauseLane, .probe, .getRequest, .getBody, .startOperation,
      .stopOperation, .rescueStore:
      Row()
    // Whoever may do everything else to an open relay must not hand out, or see, who may later on.
    case .listTokens:
      Row(role: .read, needsCredential: true)
    case .createToken, .revokeToken:
      Row(needsCredential: true)
    }
  }
}
