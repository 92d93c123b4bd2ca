import RelayCore
import Synchronization

/// Where requests go, and under which terms; built once per upstream from the configuration.
///
/// A class, since the forwarder keeps prepared handles for each upstream and knows it by identity:
/// a changed configuration is a new target.
package final class UpstreamTarget: Sendable {
  /// The upstream's name in the configuration.
  package let name: String
  /// Where it is.
  package let url: UpstreamURL
  /// Fields that every request carries, credentials mostly; they replace the sender's of that name.
  package let headers: HeaderBlock
  /// How long a connection may take to be made, in milliseconds.
  package let connectTimeoutMs: Int
  /// How long the whole attempt may take, in milliseconds; nil for as long as bytes move.
  package let attemptTimeoutMs: Int?
  /// For how long no byte may move in either direction once there is a connection, in milliseconds;
  /// nil for as long as the attempt may take.
  package let idleTimeoutMs: Int?
  /// How the upstream is asked whether it has an envelope; nil if it never is.
  package let verification: VerificationPath?
  /// Whether a request may be sent anew within one attempt, since the kept connection that it was
  /// sent on ended without an answer.
  package let mayRepeat: Bool
  /// Whether a connection that has carried a request is used for further ones.
  package let reusesConnections: Bool
  /// How much of an answer's body is kept, in bytes.
  package let responseBodyBytesMax: Int
  /// How many attempts the caller has under way at the most; decides how many idle connections and
  /// handles are kept.
  package let maxConcurrent: Int
  /// The URL of the proxy to go through, credentials and all; nil for none.
  ///
  /// The environment's proxies are never used.
  package let proxy: String?
  /// Whose certificates are trusted.
  package let certificates: CertificateAuthorities
  /// The name by which this relay appears in `Via` (RFC 9110 section 7.6.3).
  package let viaPseudonym: String
  /// How requests are signed; nil if they are not.
  package let signing: WebhookSigning?
  /// What must not be seen in its answers, nor in what is told of failures.
  package let credentials: CredentialMask

  /// Whose certificates an upstream's certificate is checked against.
  ///
  /// It always is checked.
  package enum CertificateAuthorities: Sendable, Hashable {
    /// The system's.
    case system
    /// Those in a PEM file.
    case file(path: String)
  }

  /// Checks an upstream's terms.
  ///
  /// - Throws: ``UpstreamTargetError`` if a field of `headers` is one that the relay sets itself.
  /// - Precondition: The numbers are positive, one of the timeouts beside the one for connecting is
  ///   set, and `viaPseudonym` is a token.
  package init(
    name: String, url: UpstreamURL, headers: HeaderBlock = HeaderBlock(),
    connectTimeoutMs: Int = 10_000, attemptTimeoutMs: Int? = 120_000,
    idleTimeoutMs: Int? = nil, verification: VerificationPath? = nil, mayRepeat: Bool = true,
    reusesConnections: Bool = true, responseBodyBytesMax: Int = 64 * 1024, maxConcurrent: Int = 64,
    proxy: String? = nil,
    certificates: CertificateAuthorities = .system, viaPseudonym: String = "waystation",
    signing: WebhookSigning? = nil, credentials: CredentialMask = CredentialMask()
  ) throws(UpstreamTargetError) {
    precondition(
      connectTimeoutMs > 0 && attemptTimeoutMs ?? 1 > 0 && idleTimeoutMs ?? 1 > 0,
      "a timeout is positive")
    precondition(attemptTimeoutMs != nil || idleTimeoutMs != nil, "an attempt ends some time")
    precondition(maxConcurrent > 0 && responseBodyBytesMax >= 0, "a limit is positive")
    precondition(viaPseudonym.utf8.allSatisfy(FieldSyntax.isTokenByte), "a pseudonym is a token")
    for field in headers
    where !OutgoingHeaders.mayBeFixed(field.name, isSigned: signing != nil) {
      throw UpstreamTargetError(
        "the field \(String(decoding: field.name, as: UTF8.self)) is set by the relay itself")
    }
    self.name = name
    self.url = url
    self.headers = headers
    self.connectTimeoutMs = connectTimeoutMs
    self.attemptTimeoutMs = attemptTimeoutMs
    self.idleTimeoutMs = idleTimeoutMs
    self.verification = verification
    self.mayRepeat = mayRepeat
    self.reusesConnections = reusesConnections
    self.responseBodyBytesMax = responseBodyBytesMax
    self.maxConcurrent = maxConcurrent
    self.proxy = proxy
    self.certificates = certificates
    self.viaPseudonym = viaPseudonym
    self.signing = signing
    self.credentials = credentials
    requestTargetPrefix = Self.prefix(url: url, proxy: proxy)
    fixedNames = headers.map { field in field.name.map(FieldSyntax.lowercased) }
  }

  /// Whether it is offered HTTP/2.
  ///
  /// Not where a request must not be repeated. A server that ends an HTTP/2 connection tells which
  /// requests it has not looked at (RFC 9113 section 8.7), and that happens all day; but libcurl
  /// tells nobody, and begins them anew as it does those that a dead connection has swallowed. So
  /// all of them would be in doubt.
  var mayUseHTTP2: Bool { url.scheme == .https && mayRepeat }

  private let retired = Atomic(false)

  /// Whether another one has taken its place, so that nothing of it is worth keeping.
  var isRetired: Bool { retired.load(ordering: .relaxed) }

  /// Another one takes its place.
  func retire() { retired.store(true, ordering: .relaxed) }

  /// Whether every request carries this upstream's own value of the field.
  func fixesField(_ name: Span<UInt8>) -> Bool {
    for fixed in fixedNames where name.equals(fixed.span) { return true }
    return false
  }

  /// The names of ``headers`` in lower case.
  private let fixedNames: [[UInt8]]

  /// What stands before the sender's target in the request line.
  let requestTargetPrefix: [UInt8]

  /// The base path; before it, for a proxy that is to fetch `http:` itself, the origin
  /// (RFC 9112 section 3.2.2: absolute form).
  private static func prefix(url: UpstreamURL, proxy: String?) -> [UInt8] {
    let isAbsolute = proxy != nil && url.scheme == .http
    return Array(((isAbsolute ? url.origin : "") + url.basePath).utf8)
  }
}

/// An upstream's terms make no sense.
package struct UpstreamTargetError: Error, Sendable, Equatable, CustomStringConvertible {
  /// One sentence: what is wrong, or what was expected.
  package let description: String

  init(_ description: String) { self.description = description }
}
