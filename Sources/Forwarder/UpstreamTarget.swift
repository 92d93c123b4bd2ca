import Cryptography
import RelayCore
import Synchronization

/// An upstream's settings for requests; built once per upstream from the configuration.
///
/// It is a class, since the forwarder keeps prepared handles for each upstream and knows it by
/// identity: a changed configuration is a new target.
package final class UpstreamTarget: Sendable {
  /// The upstream's name in the configuration.
  package let name: String
  /// The base URL.
  package let url: UpstreamURL
  /// Fields that every request carries, mostly credentials; they replace the sender's fields of
  /// those names.
  package let headers: HeaderBlock
  /// The longest time for making a connection, in milliseconds.
  package let connectTimeoutMs: Int
  /// The longest time for the whole attempt, in milliseconds; nil for as long as bytes move.
  package let attemptTimeoutMs: Int?
  /// The longest time for which no byte may move in either direction once there is a connection, in
  /// milliseconds; nil for as long as the attempt may take.
  package let idleTimeoutMs: Int?
  /// The path for asking the upstream whether it has an envelope; nil if it is never asked.
  package let verification: VerificationPath?
  /// The form in which envelopes go together; nil if each goes in a request of its own.
  package let batch: BatchForm?
  /// Whether a request may be sent again within one attempt after its kept connection ended without
  /// a response.
  package let mayRepeat: Bool
  /// Whether the configuration allows HTTP/2.
  private let offersHTTP2: Bool
  /// Whether a connection that has carried a request is used for more.
  package let reusesConnections: Bool
  /// The most bytes of a response's body that are kept.
  package let responseBodyBytesMax: Int
  /// The most attempts that the caller has running; decides how many idle connections and handles
  /// are kept.
  package let maxConcurrent: Int
  /// The URL of the proxy to use, with its credentials; nil for none.
  ///
  /// The environment's proxies are never used.
  package let proxy: String?
  /// The trusted certificates.
  package let certificates: CertificateAuthorities
  /// The oldest version of TLS that is spoken.
  package let oldestVersion: TLSSettings.Version
  /// The certificate that is shown to a server that asks for one; nil for none.
  package let identity: ClientIdentity?
  /// The name by which this relay appears in `Via` (RFC 9110 section 7.6.3).
  package let viaPseudonym: String
  /// The signing of requests; nil if they are not signed.
  package let signing: WebhookSigning?
  /// The signing of requests for AWS; nil if they are not signed so.
  package let awsSigning: AWSSigning?
  /// The source of the access tokens that requests carry; nil if they carry none.
  package let tokens: TokenSource?
  /// The credentials that must not be seen in its responses, nor in reports of failures.
  package let credentials: CredentialMask

  /// The authorities against which an upstream's certificate is checked.
  ///
  /// Certificates are always checked.
  package enum CertificateAuthorities: Sendable, Hashable {
    /// The system's.
    case system
    /// Those that a PEM file held when it was read, and no others.
    case only(AuthoritiesFile)

    /// Reads those of a PEM file.
    ///
    /// - Throws: The path, and the reason that the file cannot be used.
    package init(reading path: String) throws(UpstreamTargetError) {
      do throws(TLSLoadError) {
        self = .only(try AuthoritiesFile(reading: path))
      } catch {
        throw UpstreamTargetError(error.description)
      }
    }
  }

  /// Checks an upstream's settings.
  ///
  /// - Throws: ``UpstreamTargetError`` if a field of `headers` is one that the relay sets itself.
  /// - Precondition: The numbers are positive, at least one of the attempt and idle timeouts is
  ///   set, and `viaPseudonym` is a token.
  package init(
    name: String, url: UpstreamURL, headers: HeaderBlock = HeaderBlock(),
    connectTimeoutMs: Int = 10_000, attemptTimeoutMs: Int? = 120_000,
    idleTimeoutMs: Int? = nil, verification: VerificationPath? = nil, batch: BatchForm? = nil,
    mayRepeat: Bool = true, offersHTTP2: Bool = true,
    reusesConnections: Bool = true, responseBodyBytesMax: Int = 64 * 1024, maxConcurrent: Int = 64,
    proxy: String? = nil,
    certificates: CertificateAuthorities = .system,
    oldestVersion: TLSSettings.Version = .tls12, identity: ClientIdentity? = nil,
    viaPseudonym: String = "waystation",
    signing: WebhookSigning? = nil, awsSigning: AWSSigning? = nil,
    tokens: TokenSource? = nil,
    credentials: CredentialMask = CredentialMask()
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
    self.batch = batch
    self.mayRepeat = mayRepeat
    self.offersHTTP2 = offersHTTP2
    self.reusesConnections = reusesConnections
    self.responseBodyBytesMax = responseBodyBytesMax
    self.maxConcurrent = maxConcurrent
    self.proxy = proxy
    self.certificates = certificates
    self.oldestVersion = oldestVersion
    self.identity = identity
    self.viaPseudonym = viaPseudonym
    self.signing = signing
    self.awsSigning = awsSigning
    self.tokens = tokens
    self.credentials = credentials
    requestTargetPrefix = Self.prefix(url: url, proxy: proxy)
    fixedNames = headers.map { field in field.name.map(FieldSyntax.lowercased) }
  }

  /// Whether HTTP/2 is offered to it.
  ///
  /// It is not if requests must not be repeated. A server that ends an HTTP/2 connection says which
  /// requests it has not processed (RFC 9113 section 8.7), which is common. But libcurl does not
  /// pass that on, and repeats them like requests that a dead connection has swallowed. So all of
  /// them would be in doubt.
  var mayUseHTTP2: Bool { url.scheme == .https && mayRepeat && offersHTTP2 }

  /// Whether a server that asks for a certificate is shown one that has not ended.
  func shows(identityAt now: WallTime) -> Bool {
    identity.map { $0.facts.validUntilSeconds * 1000 > now.millisecondsSinceEpoch } ?? false
  }

  private let retired = Atomic(false)

  /// Whether it was replaced, so that nothing of it is worth keeping.
  package var isRetired: Bool { retired.load(ordering: .relaxed) }

  /// Marks it as replaced.
  func retire() {
    retired.store(true, ordering: .relaxed)
    tokens?.endpoint.retire()
  }

  /// Whether every request carries this upstream's own value of the field.
  func fixesField(_ name: Span<UInt8>) -> Bool {
    for fixed in fixedNames where name.equals(fixed.span) { return true }
    return false
  }

  /// Whether no sender's `Authorization` is sent to it, since the relay has one of its own.
  package var fixesAuthorization: Bool {
    tokens != nil || awsSigning != nil || headers.contains { $0.isNamed("Authorization") }
  }

  /// The names of ``headers`` in lower case.
  private let fixedNames: [[UInt8]]

  /// The value of `Host` as libcurl writes it: without the scheme's own port.
  var hostField: String {
    url.port == (url.scheme == .https ? 443 : 80) ? url.host : url.authority
  }

  /// The text before the sender's target in the request line.
  let requestTargetPrefix: [UInt8]

  /// The base path.
  ///
  /// If a proxy fetches `http:` itself, the origin comes before it (RFC 9112 section 3.2.2:
  /// absolute form).
  private static func prefix(url: UpstreamURL, proxy: String?) -> [UInt8] {
    let isAbsolute = proxy != nil && url.scheme == .http
    return Array(((isAbsolute ? url.origin : "") + url.basePath).utf8)
  }
}

/// A fault in an upstream's settings.
package struct UpstreamTargetError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The fault, or what was expected, in one sentence.
  package let description: String

  init(_ description: String) { self.description = description }
}
