import Cryptography
import EventLoop

/// One of the places where the relay listens, and for whom.
package struct ListenerConfiguration: Equatable, Sendable, CustomStringConvertible {
  /// The audience whose routes a listener has; the words are those of the file's `for`.
  package enum Audience: String, CaseIterable, Sendable {
    /// Those who hand over envelopes, and ask what has become of them.
    case devices
    /// Those who watch the relay and steer it; nothing can be handed over there.
    case operators
    /// Other relays that share the store: they pass on what they cannot answer themselves.
    case relays
  }

  /// The address and port, or the socket.
  package var endpoint: Endpoint
  package var mode: UInt32 = 0o600
  package var audience: Audience?
  /// The TLS settings of its connections; nil without TLS.
  package var tls: TLSConfiguration?
  /// Where other relays reach a listener for relays; nil for its own address.
  package var advertised: String?

  /// Whether it can be reached from other machines, by others than relays.
  var isOpenToOthers: Bool { !endpoint.isLocal && audience != .relays }

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

  /// Which field of a certificate names a client here; nil if none does.
  ///
  /// Among operators a certificate opens the connection, and a token says who it is; a relay passes
  /// on what others have shown it.
  var nameField: ClientCertificatesConfiguration.NameField? {
    audience == nil || audience == .devices ? tls?.clientCertificates?.clientName : nil
  }
}

extension ListenerConfiguration: KeyedSection {
  @KeyList static var keys: [Key] {
    Key(
      "address", \.endpoint, .address,
      "an address and a port; or else `unix` or `systemd`")
    Key("unix", \.endpoint, .unixPath, "the path of a Unix socket")
    Key(
      "systemd", \.endpoint, .inherited,
      """
      the name of a socket that the service manager hands over. Whom it can be reached by is not \
      known beforehand, so it needs credentials, or `access.anonymous`
      """)
    Key(
      "mode", \.mode, .permissions, "the socket's permissions: who may write it may connect",
      isWritten: \.isUnix)
    Key(
      "for", \.audience, .unlessAbsent(.word), absent: "everybody",
      "whose routes it has, see below")
    Key(
      "advertise", \.advertised, .unlessAbsent(.authority), absent: "its `address`",
      """
      for `relays`: the host and port at which other relays reach it, which its certificate has to \
      name
      """)
    Key(section: "tls", \.tls, from: TLSConfiguration(certificate: "", key: ""))
  }

  func check(_ reader: SectionReader) {
    if SectionReader.places.count(where: reader.has) != 1 {
      reader.problems.add(
        reader.path, "needs one of \"address\", \"unix\" and \"systemd\", and no two")
    }
    if reader.has("mode"), !reader.has("unix") {
      reader.problems.add(
        reader.path(of: "mode"), "goes with \"unix\": nothing else has permissions")
    }
    if reader.has("unix"), tls != nil {
      reader.problems.add(
        reader.path(of: "tls"), "goes with \"address\"; a Unix socket is not secured")
    }
    checkForRelays(reader)
  }
}

extension ListenerConfiguration {
  /// Among relays each shows the other one who it is.
  private func checkForRelays(_ reader: SectionReader) {
    guard audience == .relays else {
      if advertised != nil {
        reader.problems.add(
          reader.path(of: "advertise"), "goes with \"for\": \"relays\"; nobody else asks for it")
      }
      return
    }
    if tls?.clientCertificates?.isRequired != true {
      reader.problems.add(
        reader.path(of: "tls"),
        "needs \"clientCertificates\" with the relays' own authority, \"required\": relays show"
          + " each other who they are")
    }
    guard case .tcp(let address) = endpoint else {
      return reader.problems.add(
        reader.path, "needs an \"address\": relays are on several machines")
    }
    if address.isUnspecified, advertised == nil {
      reader.problems.add(
        reader.path(of: "advertise"),
        "is missing: \(address) does not say where other relays reach this one")
    }
  }
}

/// The TLS settings of a listener's connections.
package struct TLSConfiguration: Equatable, Sendable {
  /// The oldest version that is spoken; the words are those of the file.
  package enum Version: String, CaseIterable, Sendable {
    case tls12 = "1.2"
    case tls13 = "1.3"

    /// The same, for what secures connections.
    var version: TLSSettings.Version { self == .tls13 ? .tls13 : .tls12 }
  }

  package var certificate: String
  package var key: String
  package var minVersion = Version.tls12
  /// The authorities of clients' certificates; nil if clients are not asked for any.
  package var clientCertificates: ClientCertificatesConfiguration?

  /// A certificate and its key.
  package init(certificate: String, key: String) {
    self.certificate = certificate
    self.key = key
  }
}

extension TLSConfiguration: KeyedSection {
  @KeyList static var keys: [Key] {
    Key(
      "certificate", \.certificate, .path("the path of a certificate's PEM file"),
      "the relay's certificate, with those that lead to its root behind it", isRequired: true)
    Key(
      "key", \.key, .path("the path of a key's PEM file"), "its key, without a passphrase",
      isRequired: true)
    Key("minVersion", \.minVersion, .word, "the oldest version that is spoken")
    Key(
      section: "clientCertificates", \.clientCertificates,
      from: ClientCertificatesConfiguration(authorities: ""))
  }
}

/// The configuration of clients' own certificates.
package struct ClientCertificatesConfiguration: Equatable, Sendable {
  /// Which field of a certificate is the client's name; the words are those of the file.
  package enum NameField: String, CaseIterable, Sendable {
    case commonName, dnsName, uri, email
  }

  package var authorities: String
  package var isRequired = true
  package var clientName = NameField.commonName
  package var revocations: String?

  /// Authorities, and the defaults.
  package init(authorities: String) {
    self.authorities = authorities
  }
}

extension ClientCertificatesConfiguration: KeyedSection {
  @KeyList static var keys: [Key] {
    Key(
      "authorities", \.authorities, .path("the path of the authorities' PEM file"),
      """
      the authorities whose certificates clients show. Without `clientCertificates` clients are \
      not asked for any
      """,
      isRequired: true)
    Key(
      "required", \.isRequired, .flag,
      "whether a client without a certificate is turned away in the handshake")
    Key("clientName", \.clientName, .word, "the field that names the client")
    Key(
      "revocations", \.revocations,
      .unlessAbsent(.path("the path of revocation lists' PEM file")),
      """
      one revocation list of each authority. A list that is past its time turns its authority's \
      clients away
      """)
  }
}
