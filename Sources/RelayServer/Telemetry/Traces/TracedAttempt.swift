import Forwarder
import RelayCore

/// An attempt that is under way, as its span will tell of it: by OpenTelemetry's stable conventions
/// for HTTP clients (semantic conventions 1.23 and later).
///
/// The query is left out, and so is the upstream's base path: they may hold what is secret.
struct TracedAttempt: Sendable {
  /// Its own id, which the upstream sees as its caller's.
  let span: SpanID
  /// The method, or a word for those that nobody knows.
  let spanName: String
  /// All that is known before it ends.
  let attributes: [TraceSpan.Attribute]

  /// The methods named in span names and in `http.request.method`, so that both stay few.
  private static let methods: Set = [
    "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE",
  ]

  /// The longest path that is told, in bytes.
  private static let pathBytesMax = 1024

  init(_ request: AttemptRequest) {
    let method = request.content.method
    let isKnown = Self.methods.contains(method)
    let url = request.target.url
    span = .random()
    spanName = isKnown ? method : "HTTP"
    var attributes = [
      TraceSpan.Attribute("http.request.method", .text(isKnown ? method : "_OTHER")),
      TraceSpan.Attribute("server.address", .text(Self.address(url.host))),
      TraceSpan.Attribute("server.port", .integer(Int64(url.port ?? url.scheme.defaultPort))),
      TraceSpan.Attribute("url.scheme", .text(url.scheme.rawValue)),
      TraceSpan.Attribute("url.path", .text(Self.path(of: request.content.target))),
    ]
    if !isKnown {
      attributes.append(TraceSpan.Attribute("http.request.method_original", .text(method)))
    }
    if request.isVerification {
      attributes.append(TraceSpan.Attribute("waystation.verification", .flag(true)))
    } else {
      attributes.append(TraceSpan.Attribute("waystation.attempt", .integer(Int64(request.attempt))))
      if request.attempt > 1 {
        attributes.append(
          TraceSpan.Attribute("http.request.resend_count", .integer(Int64(request.attempt) - 1)))
      }
    }
    self.attributes = attributes
  }

  /// A host without the brackets that an IPv6 address has in a URL.
  private static func address(_ host: String) -> String {
    host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
  }

  private static func path(of target: [UInt8]) -> String {
    let path = target.prefix { $0 != UInt8(ascii: "?") }
    return String(decoding: path.prefix(pathBytesMax), as: UTF8.self)
  }
}

/// An attempt's end in the words of a span.
struct AttemptOutcome {
  /// The upstream's status; nil if it did not answer.
  let status: Int?
  private let errorType: String?

  /// From here on a status is a failure, for a client.
  private static let failureStatusMin = 400

  init(_ event: AttemptEvent) {
    switch event {
    case .answered(let response):
      status = response.status
      errorType = response.status >= Self.failureStatusMin ? "\(response.status)" : nil
    case .failed(let failure, _):
      status = nil
      errorType = failure.rawValue
    case .unsendable:
      status = nil
      errorType = "unsendable"
    }
  }

  /// Whether it failed.
  var isFailure: Bool { errorType != nil }

  /// Its attributes.
  var attributes: [TraceSpan.Attribute] {
    var attributes: [TraceSpan.Attribute] = []
    if let status {
      attributes.append(TraceSpan.Attribute("http.response.status_code", .integer(Int64(status))))
    }
    if let errorType { attributes.append(TraceSpan.Attribute("error.type", .text(errorType))) }
    return attributes
  }
}

extension UpstreamURL.Scheme {
  /// The port of a URL that names none.
  fileprivate var defaultPort: UInt16 {
    switch self {
    case .http: 80
    case .https: 443
    }
  }
}
