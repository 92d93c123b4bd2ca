import Cryptography
import EventLoop
import RelayCore

extension ListenerConfiguration {
  /// The client whom a verified certificate names; nil where it names none, or by no name that a
  /// client can have.
  package func client(namedBy certificate: PeerCertificate) -> String? {
    guard let field = nameField, let name = certificate.name(in: field),
      NameSyntax.isName(Array(name.utf8)[...])
    else { return nil }
    return name
  }
}

extension PeerCertificate {
  /// Until when it holds, and so do those that vouch for it.
  var validUntil: WallTime {
    let neverSeconds = WallTime.never.millisecondsSinceEpoch / 1000
    let seconds = min(max(validUntilSeconds, -neverSeconds), neverSeconds)
    return WallTime(millisecondsSinceEpoch: seconds * 1000)
  }

  /// The name in a field of the certificate; nil if there are several such fields, since either
  /// could be meant.
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

extension Access {
  /// The caller that a certificate stands for; nil if the certificate names nobody who may use the
  /// relay.
  ///
  /// - Parameter certified: The client whom a certificate names; nil if none does.
  package func caller(
    showing shown: Credentials.Shown, certified: String?, at now: @autoclosure () -> WallTime
  ) -> Caller? {
    switch shown {
    case .nothing: return certified.map { Caller(.device($0), by: .certificate) } ?? .anonymous
    case .nonsense: return nil
    case .token(let token):
      guard let caller = caller(by: token, at: now()) else { return nil }
      // A token that was taken from its device is of no use behind another's certificate.
      if let certified, let client = caller.client, client != certified { return nil }
      return caller
    }
  }
}
