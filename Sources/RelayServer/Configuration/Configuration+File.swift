import JSON
import RelayCore

extension Configuration {
  /// A hundred years, in seconds: longer is a mistake, and sums of it must not overflow.
  static let secondsMax = 3_155_760_000

  /// Reads the file's outermost object.
  mutating func read(_ section: inout SectionReader, environment: [String: String]) {
    section.readListeners(into: &listen)
    section.read("data", into: &data, expected: "the path of a folder") { value in
      (try? value.string()).flatMap { $0.isEmpty || $0.utf8.contains(0) ? nil : $0 }
    }
    section.section("access") { access.read(&$0, environment: environment) }
    var upstreams: [UpstreamConfiguration] = []
    section.section("upstreams") { section in
      upstreams = section.readUpstreams(environment: environment)
    }
    self.upstreams = upstreams
    section.section("lanes") { lanes = $0.readPatterns(of: "lane", LaneRules.read) }
    section.section("clients") { clients = $0.readPatterns(of: "client", ClientRules.read) }
    section.section("collections") { collections = $0.readCollections() }
    section.section("limits") { limits.read(&$0) }
    section.section("retention") { retention.read(&$0) }
    section.section("events") { events.read(&$0) }
    section.section("audit") { audit.read(&$0) }
    section.section("clock") { clock.read(&$0) }
    section.section("tracing") { tracing.read(&$0, environment: environment) }
    section.section("log") { section in
      section.word("level", into: &log.level)
      section.word("format", into: &log.format)
      section.flag("access", into: &log.access)
    }
    section.integer("shutdownGraceSeconds", into: &shutdownGraceSeconds, 0...86_400)
  }
}

extension LimitsConfiguration {
  /// A day, in milliseconds.
  private static let timeoutMsMax = 86_400_000
  /// A request's body is parsed and counted in 32 bits in places, so it stays below.
  private static let bodyBytesLargest = 1 << 30
  /// Far more than a disk, far less than overflows.
  static let bytesLargest = 1 << 50
  static let countLargest = 1_000_000_000

  mutating func read(_ section: inout SectionReader) {
    section.integer("bodyBytesMax", into: &bodyBytesMax, 1...Self.bodyBytesLargest)
    section.integer("connectionsMax", into: &connectionsMax, 1...1_000_000)
    section.optionalInteger("connectionsPerPeerMax", into: &connectionsPerPeerMax, 1...1_000_000)
    section.integer("clientSharePercent", into: &shares.clientPercent, 1...100)
    section.integer("peerSharePercent", into: &shares.sourcePercent, 1...100)
    section.integer("operatorReservePercent", into: &shares.reservePercent, 0...90)
    section.integer("requestLineBytesMax", into: &requestLineBytesMax, 64...1_048_576)
    section.integer("headerCountMax", into: &headerCountMax, 1...10_000)
    section.integer("headerBytesMax", into: &headerBytesMax, 256...1_048_576)
    section.integer("idleTimeoutMs", into: &idleTimeoutMs, 1...Self.timeoutMsMax)
    section.integer("headTimeoutMs", into: &headTimeoutMs, 1...Self.timeoutMsMax)
    section.integer("bodyTimeoutMs", into: &bodyTimeoutMs, 1...Self.timeoutMsMax)
    section.integer("stallTimeoutMs", into: &stallTimeoutMs, 1...Self.timeoutMsMax)
    section.integer("handshakeTimeoutMs", into: &handshakeTimeoutMs, 1...Self.timeoutMsMax)
    section.integer("handshakesMax", into: &handshakesMax, 1...1_000_000)
    section.integer("bodyTotalTimeoutMs", into: &bodyTotalTimeoutMs, 1...Self.timeoutMsMax)
    section.integer("batchCountMax", into: &batchCountMax, 1...1_000_000)
    section.integer("batchBytesMax", into: &batchBytesMax, 1...Self.bodyBytesLargest)
    section.integer("memoryInFlightBytesMax", into: &memoryInFlightBytesMax, 1...Self.bytesLargest)
    section.integer("spoolThresholdBytes", into: &spoolThresholdBytes, 0...Self.bodyBytesLargest)
    section.integer("waitSecondsMax", into: &waitSecondsMax, 0...3600)
    readQuotas(&section)
    section.integer("acceptanceDelayMsMax", into: &acceptanceDelayMsMax, 20...60_000)
    section.optionalInteger("storeBytesMax", into: &storeBytesMax, 1_048_576...Self.bytesLargest)
    section.integer("storeLogBytesMax", into: &storeLogBytesMax, 1_048_576...Self.bytesLargest)
    section.optionalInteger("diskReserveBytes", into: &diskReserveBytes, 0...Self.bytesLargest)
  }
}

extension RetentionConfiguration {
  mutating func read(_ section: inout SectionReader) {
    section.integer("deliveredSeconds", into: &deliveredSeconds, 0...Configuration.secondsMax)
    section.integer("failedSeconds", into: &failedSeconds, 0...Configuration.secondsMax)
  }
}
