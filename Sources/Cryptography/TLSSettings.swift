/// The TLS settings of a listener.
package struct TLSSettings: Sendable, Equatable {
  /// The oldest version that is accepted.
  package enum Version: Sendable {
    /// RFC 5246, only with suites that have authenticated encryption (AEAD) and forward secrecy.
    case tls12
    /// RFC 8446.
    case tls13
  }

  /// The requirements for clients' certificates.
  package struct Clients: Sendable, Equatable {
    /// The file of the trusted authorities' certificates (PEM).
    package var authorities: String
    /// Whether a client without a certificate is turned away.
    package var isRequired: Bool
    /// The file of the lists of revoked certificates, one of each authority (PEM); nil for none.
    package var revocations: String?

    /// Puts the parts together.
    package init(authorities: String, isRequired: Bool, revocations: String? = nil) {
      self.authorities = authorities
      self.isRequired = isRequired
      self.revocations = revocations
    }
  }

  /// The file of the certificate, followed by those that lead to its root (PEM).
  package var certificate: String
  /// The file of its key (PEM).
  package var key: String
  /// The oldest version that is accepted.
  package var oldestVersion: Version
  /// The requirements for clients' certificates; nil if clients are not asked for any.
  package var clients: Clients?

  /// Puts the parts together.
  package init(
    certificate: String, key: String, oldestVersion: Version = .tls12, clients: Clients? = nil
  ) {
    self.certificate = certificate
    self.key = key
    self.oldestVersion = oldestVersion
    self.clients = clients
  }
}
