import EventLoop
import RelayCore
import RelayServer
import Testing

@testable import waystation

@Suite("Starting the relay")
struct ServeTests {
  @Test("one loop serves up to two processors, and four serve any number")
  func loops() {
    #expect([1, 2, 3, 4, 7, 8, 64].map(LoopCount.forProcessors) == [1, 1, 1, 2, 3, 4, 4])
    #expect(LoopCount.processors >= 1)
  }

  @Test("a file that is not there is a problem of the configuration")
  func missingFile() {
    let source = ConfigurationSource(configPath: "/nowhere/relay.json")
    let failure = #expect(throws: ConfigurationSource.Failure.self) {
      _ = try source.load(environment: [:])
    }
    #expect(
      failure?.problems == ["/nowhere/relay.json cannot be read: No such file or directory"])
  }

  @Test("the summary of a good configuration shows where things go, and no header's value")
  func summary() throws {
    var upstream = UpstreamConfiguration(
      name: "default", url: try UpstreamURL("https://api.example.com/base"))
    upstream.headers = [.init(name: "Authorization", value: Secret("Bearer hunter2"))]
    upstream.batch.format = .ndjson
    upstream.requestsPerSecondMax = 10
    var configuration = Configuration()
    configuration.upstreams = [upstream]
    let summary = CheckCommand.summary(of: configuration)
    #expect(summary.contains("127.0.0.1:8080"))
    #expect(summary.contains("default = https://api.example.com/base (64 at once"))
    #expect(summary.contains("1 header set"))
    #expect(summary.contains(", up to 500 together as ndjson, 10.0/s, "))
    #expect(summary.contains("access    anybody who can reach it; 0 operators, 0 client keys"))
    #expect(!summary.contains("hunter2"))
  }

  @Test("the summary names the lanes that are evidence lanes, if there are any")
  func evidence() {
    var configuration = Configuration()
    #expect(!CheckCommand.summary(of: configuration).contains("evidence"))
    var rules = LaneRules()
    rules.isEvidence = true
    configuration.lanes = LaneRulesTable([
      .init(pattern: "sales", value: rules), .init(pattern: "other", value: LaneRules()),
      .init(pattern: "till-*", value: rules),
    ])
    let summary = CheckCommand.summary(of: configuration)
    #expect(summary.contains("evidence  lanes sales, till-*\n"), "\(summary)")
  }

  @Test("an address that is in use is told with the way out")
  func inUse() {
    let failure = ListenFailure(
      endpoint: .tcp(.loopback(port: 8080)), error: SystemError(code: 98, operation: "bind"))
    #expect(
      failure.description == "cannot listen on 127.0.0.1:8080: the address is in use;"
        + " stop what listens there or give --listen another port")
  }
}
