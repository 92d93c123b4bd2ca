/// What a listener's TLS is made of.
package struct TLSSettings: Sendable, Equatable {
  /// The oldest version that is spoken.
  package enum Version: Sendable {
    /// RFC 5246, with suites that encrypt and authenticate in one (AEAD) and forward secrecy only.
    case tls12
    /// RFC 8446.
    case tls13
  }

  /// What is asked of clients' own certificates.
  package struct Clients: Sendable, Equatable {
    /// The file of the authorities whose certificates count (PEM).
    package var authorities: String
    /// Whether a client without a certificate is turned away.
    package var isRequired: Bool
    /// The file of the lists of revoked certificates, one of each authority (PEM); nil for none.
    package var revocations: String?

    /// Clients' certificates, and whether they are required.
    package init(authorities: String, isRequired: Bool, revocations: String? = nil) {
      self.authorities = authorities
      self.isRequired = isRequired
      self.revocations = revocations
    }
  }

  /// The file of the certificate, with those that lead to its root behind it (PEM).
  package var certificate: String
  /// The file of its key (PEM).
  package var key: String
  /// The oldest version that is spoken.
  package var oldestVersion: Version
  /// What is asked of clients' own certificates; nil if they are not asked for any.
  package var clients: Clients?

  /// A certificate, its key, and what else is asked.
  package init(
    certificate: String, key: String, oldestVersion: Version = .tls12, clients: Clients? = nil
  ) {
    self.certificate = certificate
    self.key = key
    self.oldestVersion = oldestVersion
    self.clients = clients
  }
}
