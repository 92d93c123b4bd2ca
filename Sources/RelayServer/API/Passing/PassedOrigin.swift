import Cryptography
import EventLoop
import HTTPServer
import JSON
import RelayCore

/// Where a request came in that another relay passes on: what that relay says of its sender, in a
/// field that only a listener for relays believes.
struct PassedOrigin {
  /// The field, whose value is JSON in Base64.
  static let fieldName: StaticString = "Waystation-Passed"

  /// The sender, as the other relay has seen it.
  let origin: RequestOrigin
  /// Whom that relay's listener is for; nil for everybody.
  let audience: ListenerConfiguration.Audience?

  /// Describes a request that came in at a listener.
  init(_ origin: RequestOrigin, at listener: ListenerConfiguration) {
    self.origin = origin
    audience = listener.audience
  }

  // MARK: - Writing

  /// The value of the field.
  var fieldValue: [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.member("listener", origin.listener)
      if let audience { json.member("for", audience.rawValue) }
      json.member("peer", origin.peer.description)
      if let local = origin.local {
        json.member("local", SocketAddress(host: local, port: 0).description)
      }
      if let certificate = origin.certificate {
        json.memberObject("certificate") { certificate.write(to: &$0) }
      }
    }
    return Base64.encode(json.finish())
  }

  // MARK: - Reading

  /// Reads a field's value; nil if no relay has written it.
  init?(fieldValue: ArraySlice<UInt8>) {
    guard let bytes = try? Base64.decode(fieldValue), let value = try? JSONValue.parse(bytes),
      let listener = (try? value["listener"]?.int64()).flatMap({ Int(exactly: $0) }),
      let peer = value.text("peer").flatMap(PeerAddress.init(described:))
    else { return nil }
    audience = value.text("for").flatMap(ListenerConfiguration.Audience.init)
    guard value.text("for") == audience?.rawValue else { return nil }
    let local = value.text("local").flatMap(SocketAddress.init)?.host
    let certificate = value["certificate"].flatMap(PeerCertificate.init)
    guard (value["certificate"] == nil) == (certificate == nil) else { return nil }
    origin = RequestOrigin(
      listener: listener, peer: peer, local: local, certificate: certificate)
  }

  // MARK: - Taking

  /// The request as if it had come in here, at the listener of the same number.
  ///
  /// - Throws: What is wrong with it, if the other relay is no relay, or has other listeners.
  static func unwrap(
    _ request: HTTPRequest, _ listeners: [ListenerConfiguration], _ memory: PassedOriginMemory
  ) throws(Problem) -> HTTPRequest {
    guard let value = request.head.value(of: fieldName),
      let passed = memory.origin(fieldValue: value)
    else {
      throw Problem(
        .notFound,
        "This is a listener for other relays, and the request is not one that a relay"
          + " has passed on.", fix: "Use a listener for devices or operators.")
    }
    let number = passed.origin.listener
    guard listeners.indices.contains(number), listeners[number].audience == passed.audience,
      passed.audience != .relays
    else {
      throw Problem(
        .noLeader,
        "The relays have different listeners: the relay with the store has no listen[\(number)] for"
          + " \(passed.audience?.rawValue ?? "everybody").",
        fix: "Give all relays the same listeners in the same order.")
    }
    return HTTPRequest(
      head: request.head.removing(fieldName), body: request.body, origin: passed.origin)
  }
}

extension PeerAddress {
  /// Parses what ``description`` says.
  fileprivate init?(described text: String) {
    if text == PeerAddress.unix.description {
      self = .unix
    } else {
      guard let address = SocketAddress(text) else { return nil }
      self = .tcp(address)
    }
  }
}

extension PeerCertificate {
  fileprivate func write(to json: inout JSONWriter) {
    if let commonName { json.member("commonName", commonName) }
    for (name, values) in [("dnsNames", dnsNames), ("uris", uris), ("emails", emails)] {
      json.memberArray(name) { json in for value in values { json.string(value) } }
    }
    json.member("fingerprint", Hexadecimal.encode(fingerprint))
    json.member("validUntilSeconds", validUntilSeconds)
  }

  /// The years 1970 to 9999, as RFC 5280 section 4.1.2.5 can say them.
  private static let secondsSensible: ClosedRange<Int64> = 0...253_402_300_799

  fileprivate init?(_ value: JSONValue) {
    guard let fingerprint = value.text("fingerprint"),
      let digest = Hexadecimal.decode(Array(fingerprint.utf8)),
      let seconds = try? value["validUntilSeconds"]?.int64(),
      Self.secondsSensible.contains(seconds),
      let dnsNames = value.texts("dnsNames"), let uris = value.texts("uris"),
      let emails = value.texts("emails")
    else { return nil }
    self.init(
      commonName: value.text("commonName"), dnsNames: dnsNames, uris: uris, emails: emails,
      fingerprint: digest, validUntilSeconds: seconds)
  }
}

extension JSONValue {
  fileprivate func text(_ name: StaticString) -> String? { try? self[name]?.string() }

  fileprivate func texts(_ name: StaticString) -> [String]? {
    guard let elements = try? self[name]?.array() else { return nil }
    let texts = elements.map { try? $0.string() }
    return texts.contains(nil) ? nil : texts.compactMap { $0 }
  }
}
