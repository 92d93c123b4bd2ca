import RelayCore

/// Everything that can be set about a relay; what stands here are the defaults.
///
/// Made by ``load(file:environment:flags:)`` from a JSON file, variables and flags, and checked as
/// a whole before anything is opened. The names are those of the file.
package struct Configuration: Equatable, Sendable {
  /// Where to listen, and for whom: at least one place.
  package var listen = [ListenerConfiguration.loopback(port: 8080)]
  /// Who may use the relay.
  package var access = AccessConfiguration()
  /// The folder that holds the store.
  package var data = "./data"
  /// Whether a damaged store is moved aside at the start; only a flag says so, for one start.
  package var setsAsideDamaged = false
  /// The upstreams, at least one, each with a name of its own, in the order they were named.
  package var upstreams: [UpstreamConfiguration] = []
  /// How lanes go about their envelopes, by the lanes' names.
  package var lanes = LaneRulesTable()
  /// What is particular about clients, by their names.
  package var clients = ClientRulesTable()
  /// Sets of tags that a run can name, in the order they were named.
  package var collections: [TagCollection] = []
  /// What a sender, and all of them together, may use.
  package var limits = LimitsConfiguration()
  /// How long ended envelopes are kept.
  package var retention = RetentionConfiguration()
  /// What is kept of events, and who may listen to them.
  package var events = EventsConfiguration()
  /// What is kept of what people did.
  package var audit = AuditConfiguration()
  /// What is made of a machine's clock that is set.
  package var clock = ClockConfiguration()
  /// Where spans are exported to, and which.
  package var tracing = TracingConfiguration()
  /// What is logged, and in which form.
  package var log = LogConfiguration()
  /// How long attempts in flight may go on once the relay was asked to stop, in seconds.
  package var shutdownGraceSeconds = 30

  /// The file that it was read from; nil where only variables and flags said something.
  package var origin: ConfigurationOrigin?

  /// The defaults, with no upstream yet.
  package init() {}

  /// The upstream of that name; nil if there is none.
  package func upstream(named name: String) -> UpstreamConfiguration? {
    upstreams.first { $0.name == name }
  }

  /// The upstream for envelopes that name none: the one called `default`, or the only one.
  package var defaultUpstream: UpstreamConfiguration? {
    upstream(named: "default") ?? (upstreams.count == 1 ? upstreams[0] : nil)
  }
}

/// What a sender, and all of them together, may use.
///
/// Past a limit the sender is told so.
package struct LimitsConfiguration: Equatable, Sendable {
  /// The largest body of a request, decoded, in bytes.
  package var bodyBytesMax = 10 * 1024 * 1024
  /// The most connections open at once.
  package var connectionsMax = 10_000
  /// The most of them from one address, or from one IPv6 network of 64 bits; nil for its share.
  package var connectionsPerPeerMax: Int?
  /// Which part of what all callers share is one client's or one source's, and what is kept for
  /// operators.
  package var shares = PlaceShares()
  /// The longest request line, in bytes.
  package var requestLineBytesMax = 8192
  /// The most header fields of a request.
  package var headerCountMax = 100
  /// The most bytes of all header fields of a request together.
  package var headerBytesMax = 32 * 1024
  /// How long a connection may stay silent between requests, in milliseconds.
  package var idleTimeoutMs = 60_000
  /// How long a request's head may take from its first byte to its last, in milliseconds.
  package var headTimeoutMs = 15_000
  /// How long a request's body may take to bring 1024 bytes, or its end, in milliseconds.
  package var bodyTimeoutMs = 20_000
  /// How long a peer may take no byte of an answer, in milliseconds.
  package var stallTimeoutMs = 20_000
  /// How long a TLS handshake may take, from connecting, in milliseconds.
  package var handshakeTimeoutMs = 10_000
  /// The most TLS handshakes at once; with one more, the one that has taken longest is cut off.
  package var handshakesMax = 1000
  /// How long a request's body may take in all, in milliseconds.
  package var bodyTotalTimeoutMs = 3_600_000
  /// The most envelopes in one batch.
  package var batchCountMax = 1000
  /// The most bytes of a batch, before and after decompression.
  package var batchBytesMax = 32 * 1024 * 1024
  /// The most bytes of requests and answers held in memory at once; past it, 503.
  package var memoryInFlightBytesMax = 128 * 1024 * 1024
  /// Bodies above so many bytes go through a file rather than through memory.
  package var spoolThresholdBytes = 256 * 1024
  /// The longest that a sender may ask to wait for an outcome, in seconds.
  package var waitSecondsMax = 60
  /// The most envelopes that wait at once; past it, the queue is full.
  package var waitingEnvelopesMax = 50_000_000
  /// The most bytes that they may have together; nil for no limit.
  package var waitingBytesMax: Int?
  /// The most envelopes that wait for one client; nil if only the limit on all of them counts.
  package var clientWaitingEnvelopesMax: Int?
  /// The most bytes that those may have; nil likewise.
  package var clientWaitingBytesMax: Int?
  /// The most clients that are known at once.
  package var clientsMax = 2_000_000
  /// The most lanes that are known at once, of all clients together.
  package var lanesMax = 10_000_000
  /// The most lanes of one client that are known at once.
  package var clientLanesMax = 10_000
  /// How many requests a second are taken of all senders in the long run; nil for no limit.
  package var requestsPerSecondMax: Double?
  /// How many of them at once; nil for those of one second.
  package var requestBurst: Int?
  /// How many requests a second are taken of one client in the long run; nil for no limit.
  package var clientRequestsPerSecondMax: Double?
  /// How many of them at once; nil for those of one second.
  package var clientRequestBurst: Int?
  /// What the 99th percentile of the time that an accepted post takes is to stay below, however
  /// much is sent, in milliseconds.
  package var acceptanceDelayMsMax = 1000
  /// The most bytes that the store may take on disk; nil for as much as there is.
  package var storeBytesMax: Int?
  /// The most bytes that the store's log may hold before new envelopes are refused.
  package var storeLogBytesMax = 256 * 1024 * 1024
  /// How much of the disk new envelopes leave free, in bytes; nil for the store's own figure.
  package var diskReserveBytes: Int?

  /// The defaults.
  package init() {}
}

/// How long ended envelopes can still be looked up.
package struct RetentionConfiguration: Equatable, Sendable {
  /// For delivered ones, in seconds.
  package var deliveredSeconds = 86_400
  /// For failed, expired and cancelled ones, in seconds.
  package var failedSeconds = 2_592_000

  /// The defaults.
  package init() {}
}

/// What is logged, and in which form.
package struct LogConfiguration: Equatable, Sendable {
  /// How much is logged; each level includes those after it.
  package enum Level: String, CaseIterable, Sendable {
    case debug, info, warning, error
  }

  /// The form of a log line.
  package enum Format: String, CaseIterable, Sendable {
    /// Text on a terminal, JSON elsewhere.
    case auto
    /// One JSON object a line.
    case json
    /// Lines for people.
    case text
  }

  /// The least important level that is logged.
  package var level = Level.info
  /// The form of a line.
  package var format = Format.auto
  /// Whether there is a line for each request, whatever the level is.
  package var access = false

  /// The defaults.
  package init() {}
}
