import Forwarder
import JSON
import RelayCore

/// Where spans are exported to, and which; without an endpoint none are.
package struct TracingConfiguration: Equatable, Sendable {
  /// The URL that takes traces, as in `http://127.0.0.1:4318/v1/traces`; nil for no tracing.
  package var endpoint: UpstreamURL?
  /// Fields that are set on every request to it: credentials, likely.
  package var headers: [UpstreamConfiguration.Header] = []
  /// The PEM file of whoever may sign its certificate; nil for the system's.
  package var certificateAuthorities: String?
  /// What the relay is called in traces (`service.name`).
  package var serviceName = "waystation"
  /// Of how many envelopes that name no trace the relay begins one: from 0 for none to 1 for all.
  package var sampleRatio = 1.0
  /// How long a request to the collector may take, in milliseconds.
  package var timeoutMs = 10_000
  /// How many spans wait, and how they go out.
  package var queue = SpanQueue.Limits()
  /// What variables brought into the URL and the fields.
  package var secretVariables: [Secret] = []

  /// No tracing.
  package init() {}

  /// The longest name, in bytes.
  private static let serviceNameBytesMax = 128

  /// The collector as the forwarder is told of it; nil if there is none.
  ///
  /// - Throws: If a configured header is one that the relay sets itself.
  func target() throws(UpstreamTargetError) -> UpstreamTarget? {
    guard let endpoint, let url = try? UpstreamURL(endpoint.origin + Self.split(endpoint).base)
    else { return nil }
    return try collector(at: url).target()
  }

  /// What stands behind the target's URL in the request line.
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
  private static let timeoutMsMax = 600_000
  private static let spansLargest = 1_000_000

  mutating func read(_ section: inout SectionReader, environment: [String: String]) {
    var values: [String] = []
    if section.value("endpoint")?.isNull == false {
      endpoint = UpstreamConfiguration.readURL(
        &section, key: "endpoint", environment: environment, values: &values)
    }
    // A host is no secret, and is named wherever something went wrong.
    values.removeAll {
      endpoint?.basePath.contains($0) != true || endpoint?.host.contains($0) == true
    }
    section.section("headers") {
      headers = $0.readHeaders(environment: environment, values: &values)
    }
    secretVariables = values.map(Secret.init)
    section.certificateAuthorities(into: &certificateAuthorities)
    section.read(
      "serviceName", into: &serviceName,
      expected: "a name of 1 to \(Self.serviceNameBytesMax) bytes"
    ) { value in
      (try? value.string()).flatMap {
        (1...Self.serviceNameBytesMax).contains($0.utf8.count) ? $0 : nil
      }
    }
    section.number("sampleRatio", into: &sampleRatio, 0...1)
    section.integer("timeoutMs", into: &timeoutMs, 1...Self.timeoutMsMax)
    section.integer("queueSpansMax", into: &queue.spansMax, 1...Self.spansLargest)
    section.integer("queueBytesMax", into: &queue.bytesMax, 65_536...1 << 30)
    section.integer("batchSpansMax", into: &queue.batchSpansMax, 1...10_000)
    section.integer("batchDelayMs", into: &queue.batchDelayMs, 1...Self.timeoutMsMax)
  }

  func writeMembers(to json: inout JSONWriter) {
    json.member("endpoint") { json in
      if let shownEndpoint { json.string(shownEndpoint) } else { json.null() }
    }
    json.memberObject("headers") { json in
      for header in headers { json.member(header.name, header.value.description) }
    }
    json.member("certificateAuthorities") { json in
      if let certificateAuthorities { json.string(certificateAuthorities) } else { json.null() }
    }
    json.member("serviceName", serviceName)
    json.member("sampleRatio", sampleRatio)
    json.member("timeoutMs", timeoutMs)
    json.member("queueSpansMax", queue.spansMax)
    json.member("queueBytesMax", queue.bytesMax)
    json.member("batchSpansMax", queue.batchSpansMax)
    json.member("batchDelayMs", queue.batchDelayMs)
  }
}
