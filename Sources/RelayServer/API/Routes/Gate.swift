import EventLoop
import HTTPServer
import RelayCore

/// Finds out who makes a request, and whether that caller may make it.
struct Gate: Sendable {
  private let relay: RelayParts

  init(_ relay: RelayParts) { self.relay = relay }

  private var access: Access { relay.access }

  /// Returns the caller of a request that may be made.
  ///
  /// A call that everybody may make is not refused for a credential that is not good: a load
  /// balancer that adds one of its own still learns whether the relay is ready.
  ///
  /// - Throws: `unauthenticated`, `forbidden`, `unknown-host`, `cross-site` or `malformed-request`.
  func admit(_ request: HTTPRequest, to route: Route) throws(Problem) -> Caller {
    guard !route.access.isForEverybody else {
      guard let caller = try? caller(of: request, on: route) else { return .stranger }
      return refusal(of: request, from: caller) == nil ? caller : .stranger
    }
    let caller = try caller(of: request, on: route)
    if let refusal = refusal(of: request, from: caller) { throw tell(refusal, request) }
    switch AccessRules.verdict(on: route.access, for: caller, isOpen: access.isOpen) {
    case .allowed: return caller
    case .unknownCaller: throw .unauthenticated()
    case .forbidden: throw .forbidden(isForClients: !route.access.isForOperators)
    }
  }

  /// Why a request cannot be taken for its sender's own; nil where it can.
  ///
  /// A token stands in a field that no browser adds by itself: what brings one was sent by who has
  /// it. A browser adds a certificate, whoever has it send the request; but not to a host of
  /// another name, since the relay's own certificate is not that one's.
  private func refusal(of request: HTTPRequest, from caller: Caller) -> OriginPolicy.Refusal? {
    let isSecured = relay.listeners[request.origin.listener].tls != nil
    switch caller.credential {
    case nil where access.isOpen:
      return access.origins.refusal(
        of: request.head, to: request.origin.local, isSecured: isSecured)
    case .certificate:
      return access.origins.siteRefusal(of: request.head, isSecured: isSecured)
    case nil, .stored, .derived, .configured: return nil
    }
  }

  private func tell(_ refusal: OriginPolicy.Refusal, _ request: HTTPRequest) -> Problem {
    let (words, what, problem): (StaticString, String, Problem) =
      switch refusal {
      case .unknownHost(let host):
        (
          "a request without a credential named a host that is not known", host,
          .unknownHost(host)
        )
      case .otherSite(let origin):
        ("a browser sent a request for another site", origin, .crossSite(origin))
      }
    // Of all peers together: who tries many hosts must not fill the log.
    relay.log.repeating(
      .warning, words, about: "", RepeatPace(firstMs: 10_000, longestMs: 60_000),
      ("peer", .text(request.origin.peer.description)), ("said", .text(what)))
    return problem
  }

  /// Refuses whoever's connection was opened by a certificate that has ended since.
  ///
  /// - Throws: `unauthenticated`; the connection is of no more use.
  func checkCertificate(of origin: RequestOrigin) throws(Problem) {
    guard let end = origin.certificate?.validUntil, end <= relay.now().wall else { return }
    throw .endedCertificate(end)
  }

  /// Checks that a caller may still see the answer that it has waited for.
  func recheck(_ caller: Caller) throws(Problem) {
    guard access.isGood(caller, at: relay.now().wall) else { throw .badCredentials() }
  }

  private func caller(of request: HTTPRequest, on route: Route) throws(Problem) -> Caller {
    let credentials = try Credentials(
      request.head, isRelayed: route.isRelayed, isOpen: access.isOpen)
    let certified = request.origin.certificate.flatMap {
      relay.listeners[request.origin.listener].client(namedBy: $0)
    }
    guard
      let caller = access.caller(
        showing: credentials.shown, certified: certified, at: relay.now().wall)
    else { throw refuse(request, credentials.shown.publicPart) }
    return caller.until(request.origin.certificate?.validUntil)
  }

  private func refuse(_ request: HTTPRequest, _ id: String = "") -> Problem {
    // Of all peers together: who tries many addresses must not fill the log.
    relay.log.repeating(
      .warning, "credentials were refused", about: "",
      RepeatPace(firstMs: 10_000, longestMs: 60_000),
      ("peer", .text(request.origin.peer.description)), ("token", .text(id)))
    return .badCredentials()
  }
}

extension Credentials.Shown {
  /// The part that may be shown; empty if there is none.
  fileprivate var publicPart: String {
    switch self {
    case .token(.stored(let id, _)): id
    case .token(.derived(let token, _)): token.id
    case .token(.configured), .nonsense, .nothing: ""
    }
  }
}
