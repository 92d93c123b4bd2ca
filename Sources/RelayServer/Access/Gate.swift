import Cryptography
import EventLoop
import HTTPServer
import RelayCore

/// Where every request is asked who makes it, and whether that may be.
struct Gate: Sendable {
  private let relay: Relay
  private let refusals = RefusalLog()

  init(_ relay: Relay) { self.relay = relay }

  private var access: Access { relay.access }

  /// Who makes a request, if it may be made.
  ///
  /// - Throws: `unauthenticated`, `forbidden` or `malformed-request`.
  func admit(_ request: HTTPRequest, to route: Route) throws(Problem) -> Caller {
    let caller = try caller(of: request, on: route)
    switch AccessRules.verdict(on: route, for: caller, isOpen: access.isOpen) {
    case .allowed: return caller
    case .unknownCaller: throw .unauthenticated()
    case .forbidden: throw .forbidden()
    }
  }

  /// Whether what a caller has waited for may still be shown to it.
  func recheck(_ caller: Caller) throws(Problem) {
    guard access.isGood(caller, at: relay.now().wall) else { throw .badCredentials() }
  }

  private func caller(of request: HTTPRequest, on route: Route) throws(Problem) -> Caller {
    let credentials = try Credentials(
      request.head, isRelayed: route == .relayRequest, isOpen: access.isOpen)
    let certified = certified(request.origin)
    switch credentials.shown {
    case .nothing:
      return certified.map { Caller(.device($0), by: .certificate) } ?? .anonymous
    case .nonsense: throw refuse(request)
    case .token(let token):
      guard let caller = access.caller(by: token, at: relay.now().wall),
        // A token that was taken from its device is of no use behind another's certificate.
        certified == nil || caller.client == nil || caller.client == certified
      else { throw refuse(request, token.publicPart) }
      return caller
    }
  }

  /// The client whom a certificate names; nil where there is none, or no name that a client can
  /// have.
  private func certified(_ origin: RequestOrigin) -> String? {
    guard let certificate = origin.certificate,
      let field = relay.configuration.listen[origin.listener].nameField,
      let name = certificate.name(in: field), NameSyntax.isName(Array(name.utf8)[...])
    else { return nil }
    return name
  }

  private func refuse(_ request: HTTPRequest, _ id: String = "") -> Problem {
    let now = relay.now().monotonic
    if let count = refusals.note(at: now) {
      relay.log.warning(
        "credentials were refused", ("peer", .text(request.origin.peer.description)),
        ("token", .text(id)), ("countSinceLast", .integer(Int64(count))))
    }
    return .badCredentials()
  }
}

extension AccessToken {
  /// What may be shown of it; nothing where it has no such part.
  fileprivate var publicPart: String {
    switch self {
    case .stored(let id, _): id
    case .derived(let token, _): token.id
    case .configured: ""
    }
  }
}

extension PeerCertificate {
  /// What stands in a field; nil if there are several such fields, since it could mean either.
  fileprivate func name(in field: ClientCertificatesConfiguration.NameField) -> String? {
    func only(_ names: [String]) -> String? { names.count == 1 ? names[0] : nil }
    return switch field {
    case .commonName: commonName
    case .dnsName: only(dnsNames)
    case .uri: only(uris)
    case .email: only(emails)
    }
  }
}
