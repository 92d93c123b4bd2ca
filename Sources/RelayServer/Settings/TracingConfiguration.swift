import Forwarder
import JSON
import RelayCore

/// The configuration of tracing: which spans are exported, and to which endpoint; none without an
/// endpoint.
package struct TracingConfiguration: KeyedSection, Sendable {
  package var endpoint: UpstreamURL?
  package var headers: [UpstreamConfiguration.Header] = []
  package var certificateAuthorities: String?
  package var serviceName = "waystation"
  package var sampleRatio = 1.0
  package var timeoutMs = 10_000
  /// The limits of the export queue.
  package var queue = SpanQueue.Limits()
  /// The secrets that variables brought into the URL and the fields.
  package var secretVariables: [Secret] = []

  /// No tracing.
  package init() {}

  /// The collector as the forwarder is told of it; nil if there is none.
  ///
  /// - Parameter files: What the files that it names held when they were read.
  /// - Throws: If a configured header is one that the relay sets itself.
  func target(_ files: UpstreamFiles) throws(UpstreamTargetError) -> UpstreamTarget? {
    guard let endpoint, let url = try? UpstreamURL(endpoint.origin + Self.split(endpoint).base)
    else { return nil }
    return try collector(at: url).target(files)
  }

  /// The part of the endpoint that follows the target's URL in the request line.
  var requestTarget: [UInt8] { endpoint.map { Array(Self.split($0).rest.utf8) } ?? [] }

  /// The URL's path in two: paths of requests begin with a slash.
  private static func split(_ endpoint: UpstreamURL) -> (base: String, rest: String) {
    let path = endpoint.basePath
    guard let slash = path.lastIndex(of: "/") else { return ("", "/") }
    return (String(path[..<slash]), String(path[slash...]))
  }

  /// The endpoint as it may be shown; nil if there is none.
  package var shownEndpoint: String? { endpoint.map { collector(at: $0).shownURL } }

  /// The collector under the rules of upstreams, which it shares.
  private func collector(at url: UpstreamURL) -> UpstreamConfiguration {
    var collector = UpstreamConfiguration(name: "tracing", url: url)
    collector.headers = headers
    collector.certificateAuthorities = certificateAuthorities
    collector.attemptTimeoutMs = timeoutMs
    collector.connectTimeoutMs = min(collector.connectTimeoutMs, timeoutMs)
    collector.maxConcurrent = 1
    collector.secretVariables = secretVariables
    return collector
  }
}

extension TracingConfiguration {
  private static let serviceNameBytes = 1...128
  private static let delays = 1...600_000

  @KeyList static var keys: [Key] {
    Key(
      "endpoint", \.endpoint, "a URL, `http` or `https`, with its path",
      "where traces are taken; without it there are none",
      read: { tracing, reader in
        guard reader.value("endpoint")?.isNull == false else { return }
        tracing.endpoint = reader.readURL("endpoint", secrets: &tracing.secretVariables)
      },
      write: { tracing, json in
        json.member("endpoint") { json in
          if let shown = tracing.shownEndpoint { json.string(shown) } else { json.null() }
        }
      })
    Key.headers(
      \.headers, secrets: \.secretVariables,
      "fields of each request to it, such as credentials; they are shown nowhere")
    Key.certificateAuthorities(
      \.certificateAuthorities,
      "a PEM file with the authorities that may have signed its certificate")
    Key(
      "serviceName", \.serviceName,
      .text("a name of 1 to \(serviceNameBytes.upperBound) bytes without control characters") {
        serviceNameBytes.contains($0.utf8.count)
          && !$0.unicodeScalars.contains { $0.properties.generalCategory == .control }
      },
      "what the relay is called in traces (`service.name`)")
    Key(
      "sampleRatio", \.sampleRatio, .number(0...1),
      """
      of how many envelopes whose sender names no trace the relay begins one: 0 for none, 1 for \
      all
      """)
    Key(
      "timeoutMs", \.timeoutMs, .integer(delays), "how long a request to the collector may take")
    Key(
      "queueSpansMax", \.queue.spansMax, .integer(1...1_000_000),
      "how many spans wait at the most; more are dropped and counted")
    Key(
      "queueBytesMax", \.queue.bytesMax, .integer(65_536...1 << 30),
      "how many bytes they may have, about")
    Key(
      "batchSpansMax", \.queue.batchSpansMax, .integer(1...10_000), "how many go in one request")
    Key(
      "batchDelayMs", \.queue.batchDelayMs, .integer(delays),
      "how long a span waits for others to go with")
  }
}
