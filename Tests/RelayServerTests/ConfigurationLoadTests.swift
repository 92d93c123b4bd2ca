import EventLoop
import RelayCore
import RelayServer
import Testing

/// Loads a file's text with a working upstream in the environment, unless told otherwise.
func loadConfiguration(
  _ text: String?, environment: [String: String] = [:],
  flags: ConfigurationFlags = ConfigurationFlags()
) -> Result<Configuration, ConfigurationErrors> {
  Configuration.load(
    file: text.map { ("waystation.json", Array($0.utf8)) }, environment: environment, flags: flags)
}

/// What is wrong with a configuration, a line each.
func problems(
  _ text: String?, environment: [String: String] = [:],
  flags: ConfigurationFlags = ConfigurationFlags()
) -> [String] {
  switch loadConfiguration(text, environment: environment, flags: flags) {
  case .success: []
  case .failure(let errors): errors.problems.map(\.description)
  }
}

@Suite("Loading the configuration")
struct ConfigurationLoadTests {
  static let everything = """
    {
      "listen": ["0.0.0.0:8080", "[::1]:9090"],
      "access": {"anonymous": "allow", "hosts": ["relay.example", "*.fleet.example:8080"]},
      "data": "/var/lib/waystation",
      "upstreams": {
        "default": {
          "url": "https://api.example.com/base/",
          "headers": {"Authorization": "Bearer ${API_TOKEN}", "X-Price": "5$ $${X}"},
          "connectTimeoutMs": 1, "attemptTimeoutMs": 2, "maxConcurrent": 3,
          "reuseConnections": false,
          "retry": {"firstDelayMs": 4, "maxDelayMs": 5, "factor": 1.5},
          "onFailure": "block", "deadlineSeconds": 6,
          "outcomes": {"retry": [408, "5xx"], "deliver": ["2xx", 409]},
          "responseBodyBytesMax": 7, "retryAfterMaxSeconds": 8,
          "proxy": "http://user:${API_TOKEN}@proxy.example:3128",
          "reachability": {
            "failuresBeforeUnreachable": 9, "firstProbeDelayMs": 10, "maxProbeDelayMs": 11
          },
          "startPaused": true, "idleTimeoutMs": 1,
          "certificateAuthorities": "/etc/ca.pem", "passHeaders": ["Link", "ETag"],
          "ambiguous": "verify", "verify": {"path": "/orders/{id}"}
        },
        "telemetry_2": {"url": "HTTP://[2001:DB8::1]:81"}
      },
      "lanes": {
        "live": {"order": "latest", "ttlSeconds": 60, "startPaused": true},
        "telemetry-*": {"gapTimeoutSeconds": 300, "ttlSeconds": null}
      },
      "clients": {
        "till-*": {"startPaused": true, "waitingEnvelopesMax": 5, "requestsPerSecondMax": 0.5},
        "till-7": {"waitingBytesMax": null, "requestBurst": 3}
      },
      "collections": {"boot": ["settings", "profile"]},
      "limits": {
        "bodyBytesMax": 1001, "connectionsMax": 1002, "requestLineBytesMax": 1003,
        "headerCountMax": 1004, "headerBytesMax": 1005, "idleTimeoutMs": 1006,
        "headTimeoutMs": 1007, "batchCountMax": 1008, "batchBytesMax": 378,
        "memoryInFlightBytesMax": 1009,
        "spoolThresholdBytes": 1000, "waitSecondsMax": 1011, "waitingEnvelopesMax": 1012,
        "clientWaitingEnvelopesMax": 1012, "waitingBytesMax": 1013, "clientWaitingBytesMax": 1013,
        "requestsPerSecondMax": 100.5, "requestBurst": 1014, "clientRequestsPerSecondMax": 2,
        "clientRequestBurst": 1015, "connectionsPerPeerMax": 1016, "bodyTotalTimeoutMs": 1017,
        "acceptanceDelayMsMax": 1019, "clientSharePercent": 21, "peerSharePercent": 22,
        "operatorReservePercent": 23, "storeBytesMax": 10000000,
        "storeLogBytesMax": 10000001, "diskReserveBytes": 10000002,
        "clientsMax": 1020, "lanesMax": 1021, "clientLanesMax": 1022,
        "uploadsMax": 1023, "clientUploadsMax": 1024
      },
      "retention": {
        "deliveredSeconds": 12, "failedSeconds": 13, "uploadSeconds": 16, "keySeconds": 17
      },
      "clock": {"settleSeconds": 15},
      "log": {"level": "debug", "format": "text"},
      "shutdownGraceSeconds": 14
    }
    """

  @Test("every key of a file arrives where it belongs")
  func everyKey() throws {
    let configuration = try loadConfiguration(
      Self.everything, environment: ["API_TOKEN": "s3cret"]
    ).get()
    #expect(configuration.listen.map(\.description) == ["0.0.0.0:8080", "[::1]:9090"])
    #expect(configuration.data == "/var/lib/waystation")
    #expect(configuration.log.level == .debug)
    #expect(configuration.log.format == .text)
    #expect(configuration.clock.settleSeconds == 15)
    #expect(configuration.shutdownGraceSeconds == 14)
    #expect(configuration.retention.deliveredSeconds == 12)
    #expect(configuration.retention.failedSeconds == 13)
    #expect(configuration.retention.uploadSeconds == 16)
    #expect(configuration.retention.keySeconds == 17)
    let limits = configuration.limits
    #expect(
      [
        limits.bodyBytesMax, limits.connectionsMax, limits.requestLineBytesMax,
        limits.headerCountMax, limits.headerBytesMax, limits.idleTimeoutMs, limits.headTimeoutMs,
        limits.batchCountMax, limits.batchBytesMax, limits.memoryInFlightBytesMax,
        limits.spoolThresholdBytes, limits.waitSecondsMax, limits.waitingEnvelopesMax,
        limits.clientWaitingEnvelopesMax,
        limits.storeBytesMax, limits.storeLogBytesMax, limits.diskReserveBytes,
        limits.clientsMax, limits.lanesMax, limits.clientLanesMax, limits.uploadsMax,
        limits.clientUploadsMax,
      ] == [
        1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008, 378, 1009, 1000, 1011, 1012, 1012,
        10_000_000, 10_000_001, 10_000_002, 1020, 1021, 1022, 1023, 1024,
      ])
  }

  @Test("quotas arrive where they belong, and a name's own come first")
  func quotas() throws {
    let configuration = try loadConfiguration(
      Self.everything, environment: ["API_TOKEN": "s3cret"]
    ).get()
    let limits = configuration.limits
    #expect(limits.connectionsPerPeerMax == 1016 && limits.acceptanceDelayMsMax == 1019)
    #expect(limits.bodyTotalTimeoutMs == 1017)
    #expect(
      [limits.shares.clientPercent, limits.shares.sourcePercent, limits.shares.reservePercent]
        == [21, 22, 23])
    #expect(
      configuration.access.hosts.map(\.description) == ["relay.example", "*.fleet.example:8080"])
    let rules = QuotaRules(configuration)
    #expect(rules.everybody == WaitingQuota(envelopesMax: 1012, bytesMax: 1013))
    #expect(rules.everybodyRate == RateLimit(perSecond: 100.5, burst: 1014))
    #expect(rules.waiting(of: "other") == WaitingQuota(envelopesMax: 1012, bytesMax: 1013))
    #expect(rules.rate(of: "other") == RateLimit(perSecond: 2, burst: 1015))
    #expect(rules.waiting(of: "till-8") == WaitingQuota(envelopesMax: 5, bytesMax: 1013))
    #expect(rules.rate(of: "till-8") == RateLimit(perSecond: 0.5, burst: 1))
    #expect(rules.waiting(of: "till-7") == WaitingQuota(envelopesMax: 1012, bytesMax: nil))
    #expect(rules.rate(of: "till-7") == RateLimit(perSecond: 2, burst: 3))
    let printed = loadConfiguration(
      configuration.description, environment: ["API_TOKEN": "s3cret"])
    if case .success(let again) = printed { #expect(again.clients == configuration.clients) }
  }

  @Test("what is said of lanes, clients and collections arrives where it belongs")
  func everyName() throws {
    let configuration = try loadConfiguration(
      Self.everything, environment: ["API_TOKEN": "s3cret"]
    ).get()
    let live = configuration.lanes.rules(ofLane: "live")
    #expect(live.order == .latest && live.ttlMs == 60_000)
    #expect(live.startPaused && live.gapTimeoutMs == nil)
    let telemetry = configuration.lanes.rules(ofLane: "telemetry-2")
    #expect(telemetry.order == .strict && telemetry.gapTimeoutMs == 300_000)
    #expect(configuration.lanes.rules(ofLane: "other") == LaneRules())
    #expect(configuration.clients.rules(ofClient: "till-8").startPaused)
    #expect(!configuration.clients.rules(ofClient: "till-7").startPaused)
    #expect(
      configuration.collections == [TagCollection(name: "boot", tags: ["settings", "profile"])])
  }

  @Test("every key of an upstream arrives where it belongs")
  func everyUpstreamKey() throws {
    let configuration = try loadConfiguration(
      Self.everything, environment: ["API_TOKEN": "s3cret"]
    ).get()
    #expect(configuration.upstreams.map(\.name) == ["default", "telemetry_2"])
    let upstream = try #require(configuration.defaultUpstream)
    #expect(upstream.url.description == "https://api.example.com/base")
    #expect(upstream.url.basePath == "/base")
    #expect(upstream.headers.map(\.name) == ["Authorization", "X-Price"])
    #expect(upstream.headers.map(\.value.value) == ["Bearer s3cret", "5$ ${X}"])
    #expect(
      [upstream.connectTimeoutMs, upstream.attemptTimeoutMs, upstream.maxConcurrent] == [1, 2, 3])
    #expect([upstream.retry.firstDelayMs, upstream.retry.maxDelayMs] == [4, 5])
    #expect(upstream.retry.factor == 1.5)
    #expect(upstream.onFailure == .block)
    #expect(upstream.deadlineSeconds == 6)
    #expect(upstream.outcomes.retry.contains(408) && upstream.outcomes.retry.contains(599))
    #expect(upstream.outcomes.deliver.contains(409) && !upstream.outcomes.retry.contains(429))
    #expect(upstream.responseBodyBytesMax == 7 && upstream.retry.retryAfterMaxMs == 8000)
    #expect(upstream.proxy?.url.value == "http://user:s3cret@proxy.example:3128")
    #expect(upstream.reachability.failuresBeforeUnreachable == 9)
    #expect(upstream.reachability.firstProbeDelayMs == 10)
    #expect(upstream.reachability.maxProbeDelayMs == 11)
    #expect(upstream.startPaused)
    #expect(upstream.idleTimeoutMs == 1 && upstream.ambiguous == .verify)
    #expect(!upstream.reuseConnections)
    #expect(upstream.verify?.description == "/orders/{id}")
    #expect(upstream.policy.ambiguity == .verify)
    let other = try #require(configuration.upstream(named: "telemetry_2"))
    #expect(other.url.description == "http://[2001:db8::1]:81")
    #expect(other == UpstreamConfiguration(name: "telemetry_2", url: other.url))
  }

  @Test("an upstream alone is enough; all else has its default")
  func defaults() throws {
    var flags = ConfigurationFlags()
    flags.upstreams = ["default=http://127.0.0.1:9090"]
    let configuration = try loadConfiguration(nil, flags: flags).get()
    #expect(configuration.listen == [.loopback(port: 8080)])
    #expect(configuration.data == "./data")
    #expect(configuration.limits == LimitsConfiguration())
    #expect(configuration.retention == RetentionConfiguration())
    #expect(configuration.shutdownGraceSeconds == 30)
    #expect(configuration.upstreams.count == 1)
    #expect(configuration.defaultUpstream?.url.origin == "http://127.0.0.1:9090")
    #expect(configuration.defaultUpstream?.url.basePath == "")
    #expect(configuration.defaultUpstream?.policy == UpstreamPolicy())
  }

  @Test("flags beat variables, and variables beat the file")
  func precedence() throws {
    let file = """
      {"listen": "127.0.0.1:1", "data": "file",
       "log": {"level": "error", "format": "json", "access": true},
       "upstreams": {"a": {"url": "http://file", "maxConcurrent": 5}, "b": {"url": "http://file"}}}
      """
    let environment = [
      "WAYSTATION_LISTEN": "127.0.0.1:2, [::1]:2", "WAYSTATION_DATA": "variable",
      "WAYSTATION_UPSTREAMS": "a=http://variable,c=http://variable",
      "WAYSTATION_LOG_LEVEL": "debug",
      "WAYSTATION_LOG_FORMAT": "", "WAYSTATION_LOG_ACCESS": "false",
    ]
    let byVariables = try loadConfiguration(file, environment: environment).get()
    #expect(byVariables.listen.map(\.description) == ["127.0.0.1:2", "[::1]:2"])
    #expect(byVariables.data == "variable")
    #expect(byVariables.log.level == .debug)
    #expect(byVariables.log.format == .json)
    #expect(!byVariables.log.access)
    #expect(byVariables.upstreams.map(\.url.host) == ["variable", "file", "variable"])
    #expect(byVariables.upstream(named: "a")?.maxConcurrent == 5)

    var flags = ConfigurationFlags()
    flags.listen = ["127.0.0.1:0"]
    flags.data = "flag"
    flags.upstreams = ["a=http://flag"]
    flags.logFormat = "text"
    flags.logsAccess = true
    let byFlags = try loadConfiguration(file, environment: environment, flags: flags).get()
    #expect(byFlags.listen == [.loopback(port: 0)])
    #expect(byFlags.data == "flag")
    #expect(
      byFlags.log
        == {
          var log = LogConfiguration(); log.level = .debug; log.format = .text
          log.access = true; return log
        }())
    #expect(byFlags.upstreams.map(\.url.host) == ["flag", "file", "variable"])
  }

  @Test("the folder that systemd has made is the store's, unless anything else names one")
  func stateDirectory() throws {
    let upstream = #""upstreams": {"a": {"url": "http://a"}}"#
    let made = ["STATE_DIRECTORY": "/var/lib/waystation:/var/lib/other"]
    func data(_ file: String, _ environment: [String: String]) throws -> String {
      try loadConfiguration(file, environment: environment).get().data
    }
    #expect(try data("{\(upstream)}", made) == "/var/lib/waystation")
    #expect(try data("{\(upstream)}", ["STATE_DIRECTORY": ""]) == "./data")
    #expect(try data(#"{"data": "/srv/w", \#(upstream)}"#, made) == "/srv/w")
    let both = made.merging(["WAYSTATION_DATA": "/mnt/w"]) { given, _ in given }
    #expect(try data(#"{"data": "/srv/w", \#(upstream)}"#, both) == "/mnt/w")
  }

  @Test("the file's path comes from the flag, else from the variable")
  func filePath() {
    let environment = ["WAYSTATION_CONFIG": "/etc/a.json"]
    #expect(Configuration.filePath(flag: "b.json", environment: environment) == "b.json")
    #expect(Configuration.filePath(flag: nil, environment: environment) == "/etc/a.json")
    #expect(Configuration.filePath(flag: nil, environment: ["WAYSTATION_CONFIG": ""]) == nil)
  }

  @Test("what differs is told by section, and what takes a restart apart from it")
  func differences() throws {
    let old = try Fixture.configuration(["a", "b", "gone"])
    let new = try Fixture.configuration(["a", "b", "fresh"]) {
      $0.upstreams[1].maxConcurrent += 1
      $0.limits.batchCountMax += 1
      $0.log.access = true
      $0.data += "/other"
      $0.clock.settleSeconds += 1
    }
    #expect(
      new.changes(since: old) == [
        "upstreams.b", "upstreams.fresh", "upstreams.gone", "limits", "log",
      ])
    #expect(
      new.obstacles(after: old).map(\.description) == [
        "data: the store is opened once, at the start; restart the relay to change it",
        "clock: the clock is taken up once, at the start; restart the relay to change it",
      ])
    #expect(old.changes(since: old).isEmpty && old.obstacles(after: old).isEmpty)
  }

  @Test("what is printed is a configuration that reads back the same, but for secrets")
  func printed() throws {
    var configuration = try loadConfiguration(
      Self.everything, environment: ["API_TOKEN": "s3cret"]
    ).get()
    let text = configuration.description
    #expect(!text.contains("s3cret"))
    #expect(text.contains(#""Authorization": "(hidden)""#))
    for value in ["\(configuration.upstreams)", String(reflecting: configuration.upstreams[0])] {
      #expect(!value.contains("s3cret"))
    }
    var dumped = ""
    dump(configuration, to: &dumped)
    #expect(!dumped.contains("s3cret"))
    configuration.upstreams[0].headers = []
    configuration.upstreams[0].proxy = nil
    configuration.upstreams[0].secretVariables = []
    var readBack = try loadConfiguration(configuration.description).get()
    #expect(readBack.origin?.sha256 != configuration.origin?.sha256)
    readBack.origin = configuration.origin
    #expect(readBack == configuration)
  }

  @Test("a hundred thousand names in one section are read", .timeLimit(.minutes(5)))
  func manyNames() throws {
    let rules = (0..<100_000).map { "\"lane-\($0)\": {\"order\": \"latest\"}" }
    let text =
      #"{"upstreams": {"default": {"url": "http://a"}}, "lanes": {"#
      + rules.joined(separator: ", ") + "}}"
    let configuration = try loadConfiguration(text).get()
    #expect(configuration.lanes.rules(ofLane: "lane-99999").order == .latest)
  }
}
