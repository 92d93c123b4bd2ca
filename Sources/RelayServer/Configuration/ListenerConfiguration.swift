import EventLoop

/// One of the places where the relay listens, and for whom.
package struct ListenerConfiguration: Equatable, Sendable, CustomStringConvertible {
  /// Whose routes a listener has; the words are those of the file's `for`.
  package enum Audience: String, CaseIterable, Sendable {
    /// Those who hand over envelopes, and ask what has become of them.
    case devices
    /// Those who watch the relay and steer it; nothing can be handed over there.
    case operators
  }

  /// The address and port, or the Unix socket.
  package var endpoint: Endpoint
  /// The permission bits of a Unix socket's file: who may write it may connect.
  package var mode: UInt32 = 0o600
  /// Whose routes it has; nil for all of them.
  package var audience: Audience?
  /// How its connections are secured; nil where they are not.
  package var tls: TLSConfiguration?

  /// A listener for everybody, without TLS.
  package init(_ endpoint: Endpoint) {
    self.endpoint = endpoint
  }

  /// 127.0.0.1 with a port, for everybody, without TLS.
  package static func loopback(port: UInt16) -> ListenerConfiguration {
    ListenerConfiguration(.tcp(.loopback(port: port)))
  }

  /// The endpoint, such as `127.0.0.1:8080` or `unix:/run/waystation.sock`.
  package var description: String { endpoint.description }

  /// A bound endpoint as a client would name it, such as `https://127.0.0.1:8443`.
  package func shown(bound: Endpoint) -> String {
    switch bound {
    case .tcp(let address): tls == nil ? "http://\(address)" : "https://\(address)"
    case .unix, .inherited: bound.description
    }
  }
}

/// How the connections of a listener are secured.
package struct TLSConfiguration: Equatable, Sendable {
  /// The oldest version that is spoken; the words are those of the file.
  package enum Version: String, CaseIterable, Sendable {
    case tls12 = "1.2"
    case tls13 = "1.3"
  }

  /// The file of the relay's certificate, with those that lead to its root behind it (PEM).
  package var certificate: String
  /// The file of the key (PEM, without a passphrase).
  package var key: String
  /// The oldest version that is spoken.
  package var minVersion = Version.tls12
  /// Whose certificates clients show; nil if they are not asked for any.
  package var clientCertificates: ClientCertificatesConfiguration?

  /// A certificate and its key.
  package init(certificate: String, key: String) {
    self.certificate = certificate
    self.key = key
  }
}

/// What is asked of the clients' own certificates.
package struct ClientCertificatesConfiguration: Equatable, Sendable {
  /// Which field of a certificate is the client's name; the words are those of the file.
  package enum NameField: String, CaseIterable, Sendable {
    case commonName, dnsName, uri, email
  }

  /// The file of the authorities whose certificates count (PEM).
  package var authorities: String
  /// Whether a client without a certificate is turned away in the handshake.
  package var isRequired = true
  /// Which field of a certificate is the client's name.
  package var clientName = NameField.commonName
  /// The file of the lists of certificates that were revoked (PEM); nil if none is looked at.
  package var revocations: String?

  /// Authorities, and the defaults.
  package init(authorities: String) {
    self.authorities = authorities
  }
}
