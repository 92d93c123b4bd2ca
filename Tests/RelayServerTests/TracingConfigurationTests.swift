import RelayCore
import RelayServer
import Testing

@Suite("Where spans go, by the configuration")
struct TracingConfigurationTests {
  private static let upstream = #""upstreams": {"default": {"url": "http://upstream"}}"#

  private static func file(_ tracing: String) -> String {
    #"{\#(upstream), "tracing": {\#(tracing)}}"#
  }

  @Test("nowhere, unless it says so")
  func off() throws {
    let configuration = try loadConfiguration("{\(Self.upstream)}").get()
    #expect(configuration.tracing == TracingConfiguration())
    #expect(configuration.tracing.endpoint == nil)
    let named = try loadConfiguration(Self.file(#""endpoint": null, "serviceName": "a""#)).get()
    #expect(named.tracing.endpoint == nil && named.tracing.serviceName == "a")
  }

  @Test("a file says all of it, and a variable the endpoint")
  func read() throws {
    let text = Self.file(
      #"""
      "endpoint": "https://collector:4318/v1/traces", "headers": {"X-Key": "${KEY}"},
      "serviceName": "relay-1", "sampleRatio": 0.25, "timeoutMs": 500, "queueSpansMax": 100,
      "queueBytesMax": 65536, "batchSpansMax": 10, "batchDelayMs": 50,
      "certificateAuthorities": "/etc/ca.pem"
      """#)
    let environment = ["KEY": "s3cret-key"]
    let tracing = try loadConfiguration(text, environment: environment).get().tracing
    #expect(tracing.endpoint?.description == "https://collector:4318/v1/traces")
    #expect(tracing.headers.map(\.name) == ["X-Key"])
    #expect(tracing.serviceName == "relay-1" && tracing.sampleRatio == 0.25)
    #expect(tracing.timeoutMs == 500 && tracing.certificateAuthorities == "/etc/ca.pem")
    #expect(tracing.queue.spansMax == 100 && tracing.queue.bytesMax == 65_536)
    #expect(tracing.queue.batchSpansMax == 10 && tracing.queue.batchDelayMs == 50)
    let other = ["WAYSTATION_TRACING_ENDPOINT": "http://other/v1/traces"]
    let overridden = loadConfiguration(text, environment: environment.merging(other) { $1 })
    #expect(try overridden.get().tracing.endpoint?.host == "other")
    #expect(try overridden.get().tracing.headers.map(\.name) == ["X-Key"])
  }

  @Test("what may be secret is not shown")
  func secrets() throws {
    let text = Self.file(
      #""endpoint": "https://collector/${KEY}/v1/traces", "headers": {"Authorization": "s3cret"}"#)
    let configuration = try loadConfiguration(text, environment: ["KEY": "s3cret-key"]).get()
    #expect(configuration.tracing.shownEndpoint == "https://collector/(hidden)")
    var dumped = configuration.description
    dump(configuration.tracing.headers, to: &dumped)
    #expect(!dumped.contains("s3cret"))
    let reread = try loadConfiguration(
      Self.file(#""sampleRatio": 0.5, "batchDelayMs": 7}, "access": {"anonymous": "allow""#)
    ).get()
    #expect(try loadConfiguration(reread.description).get().tracing == reread.tracing)
  }

  @Test(
    "what makes no sense is refused with its place",
    arguments: [
      (#""endpoint": "collector:4318""#, "tracing.endpoint: expected a URL that begins with http"),
      (#""endpoint": 7"#, "tracing.endpoint: expected a string"),
      (#""endpoint": "http://u:s3cret@c""#, "tracing.endpoint: expected a URL without a user name"),
      (#""sampleRatio": 1.5"#, "tracing.sampleRatio: expected a number from 0.0 to 1.0"),
      (#""serviceName": """#, "tracing.serviceName: expected a name of 1 to 128 bytes"),
      (#""serviceName": "a\u0000b""#, "tracing.serviceName: expected a name of 1 to 128 bytes"),
      (#""headers": {"Host": "x"}"#, "tracing.headers.Host: the relay sets this field itself"),
      (#""batchSpansMax": 9000"#, "tracing.batchSpansMax: must not be above tracing.queueSpansMax"),
      (#""endpoints": "http://c""#, "tracing.endpoints: unknown key; did you mean \"endpoint\"?"),
    ])
  func refused(tracing: String, problem: String) {
    let found = problems(Self.file(tracing))
    #expect(found.count == 1 && found[0].hasPrefix(problem), "\(found)")
    #expect(!found.joined().contains("s3cret"))
  }

  @Test("a variable that is no URL is refused under its own name")
  func badVariable() {
    let found = problems(
      "{\(Self.upstream)}", environment: ["WAYSTATION_TRACING_ENDPOINT": "collector"])
    #expect(found.count == 1 && found[0].hasPrefix("WAYSTATION_TRACING_ENDPOINT: expected a URL"))
  }
}
