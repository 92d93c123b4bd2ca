/// Carries requests: libcurl, URLSession, or a test's own.
///
/// It retries nothing, follows no redirect, and keeps no cookies.
public protocol Transport: Sendable {
  /// Makes one request.
  ///
  /// A cancelled task ends the request.
  ///
  /// - Parameter progress: Is told how far it has come, as often as the transport likes.
  /// - Throws: Why there is no answer.
  func send(
    _ exchange: Exchange, progress: @escaping @Sendable (Progress) -> Void
  ) async throws(ConnectionFailure) -> Response
}

/// One request as it goes out.
public struct Exchange: Sendable {
  /// The method.
  public var method: String
  /// The whole URL.
  public var url: String
  /// The header fields.
  public var headers: [(String, String)]
  /// The body.
  public var body: ExchangeBody
  /// The certificate that is shown; nil for none.
  public var identity: TLSIdentity?
  /// The longest time of all of it.
  public var timeout: Duration
  /// The most bytes of the answer's body that are of use; a longer one may be cut there.
  public var responseBytesMax: Int

  /// A request.
  public init(
    method: String, url: String, headers: [(String, String)], body: ExchangeBody,
    identity: TLSIdentity? = nil, timeout: Duration, responseBytesMax: Int = 8 << 20
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.identity = identity
    self.timeout = timeout
    self.responseBytesMax = responseBytesMax
  }
}

/// The body of a request as it goes out.
public enum ExchangeBody: Sendable, Equatable {
  /// No body.
  case none
  /// These bytes.
  case bytes([UInt8])
  /// A stretch of a file.
  case file(FileStretch)

  /// How a file differs from what was kept, in words; nil if that was not found.
  var fault: String? {
    if case .file(let stretch) = self { stretch.fault } else { nil }
  }
}

/// The certificate and the key that a device shows.
public enum TLSIdentity: Sendable, Hashable {
  /// Two files in PEM.
  case pem(certificate: String, key: String)
  /// An identity of the platform's key chain.
  case keychain(label: String)
}
