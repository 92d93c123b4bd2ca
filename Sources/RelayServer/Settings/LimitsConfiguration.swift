import RelayCore

/// The configuration of limits, for one sender and for all together.
///
/// Past a limit the sender is told so.
package struct LimitsConfiguration: KeyedSection, Sendable {
  package var bodyBytesMax = 10 * 1024 * 1024
  package var batchCountMax = 1000
  package var batchBytesMax = 32 * 1024 * 1024
  package var requestLineBytesMax = 8448
  package var headerCountMax = 100
  package var headerBytesMax = 32 * 1024
  package var connectionsMax = 10_000
  package var connectionsPerPeerMax: Int?
  /// Which part of what all callers share is one client's or one source's, and what is kept for
  /// operators.
  package var shares = PlaceShares()
  package var idleTimeoutMs = 60_000
  package var headTimeoutMs = 15_000
  package var bodyTimeoutMs = 20_000
  package var stallTimeoutMs = 20_000
  package var handshakeTimeoutMs = 10_000
  package var handshakesMax = 1000
  package var bodyTotalTimeoutMs = 3_600_000
  package var memoryInFlightBytesMax = 128 * 1024 * 1024
  package var spoolThresholdBytes = 256 * 1024
  package var waitSecondsMax = 60
  package var waitingEnvelopesMax = 50_000_000
  package var waitingBytesMax: Int?
  package var clientWaitingEnvelopesMax: Int?
  package var clientWaitingBytesMax: Int?
  package var clientsMax = 2_000_000
  package var lanesMax = 10_000_000
  package var clientLanesMax = 10_000
  package var uploadsMax = 1000
  package var clientUploadsMax = 16
  package var requestsPerSecondMax: Double?
  package var requestBurst: Int?
  package var clientRequestsPerSecondMax: Double?
  package var clientRequestBurst: Int?
  package var acceptanceDelayMsMax = 1000
  package var storeBytesMax: Int?
  package var storeLogBytesMax = 256 * 1024 * 1024
  package var diskReserveBytes: Int?

  /// The defaults.
  package init() {}
}

extension LimitsConfiguration {
  /// A day, in milliseconds.
  private static let timeouts = 1...86_400_000
  /// A request's body is parsed and counted in 32 bits in places, so it stays below.
  private static let bodyBytesLargest = 1 << 30
  /// Far more than a disk, far less than overflows.
  private static let bytesLargest = 1 << 50
  static let waitingCounts = 1...1_000_000_000
  static let waitingBytes = 1...bytesLargest
  static let requestRates = 0.001...1_000_000
  static let requestBursts = 1...1_000_000

  @KeyList static var keys: [Key] {
    Key(
      "bodyBytesMax", \.bodyBytesMax, .integer(1...bodyBytesLargest),
      "413: the largest body of one envelope, decoded")
    Key(
      "connectionsMax", \.connectionsMax, .integer(1...1_000_000),
      "503 and a closed connection. A listener `for` operators has 64 of its own")
    Key(
      "connectionsPerPeerMax", \.connectionsPerPeerMax, .optional(.integer(1...1_000_000)),
      absent: "`peerSharePercent` of `connectionsMax`",
      """
      503 and a closed connection: of one IPv4 address, or one IPv6 network of 64 bits. Many \
      devices may share an address behind a NAT
      """)
    Key(
      "clientSharePercent", \.shares.clientPercent, .integer(1...100),
      """
      503: what one client may have of [what all share](security.md#what-all-share), in percent, \
      rounded up
      """)
    Key(
      "peerSharePercent", \.shares.sourcePercent, .integer(1...100),
      """
      503: what one address, or one operator, may have of it; 100 for no limit, as behind a proxy \
      that is the only way in
      """)
    Key(
      "operatorReservePercent", \.shares.reservePercent, .integer(0...90),
      "what is kept of it for operators, rounded down")
    Key(
      "requestLineBytesMax", \.requestLineBytesMax, .integer(64...1_048_576),
      "414. The default has room for the longest path of an envelope, 8192 bytes")
    Key(
      "headerCountMax", \.headerCountMax, .integer(1...10_000),
      "431: the most header fields of an envelope. A request may have 32 more, such as relays add")
    Key(
      "headerBytesMax", \.headerBytesMax, .integer(256...1_048_576),
      "431: the most bytes of them. A request may have 16 KiB more")
    Key(
      "idleTimeoutMs", \.idleTimeoutMs, .integer(timeouts),
      "the connection is closed: silent between requests")
    Key(
      "headTimeoutMs", \.headTimeoutMs, .integer(timeouts),
      "408: a request's head takes too long, from its first byte to its last")
    Key(
      "bodyTimeoutMs", \.bodyTimeoutMs, .integer(timeouts),
      "408: in this time, a request's body brings neither 1024 bytes nor its end")
    Key(
      "stallTimeoutMs", \.stallTimeoutMs, .integer(timeouts),
      "the connection is closed: its peer takes no byte of an answer")
    Key(
      "handshakeTimeoutMs", \.handshakeTimeoutMs, .integer(timeouts),
      "the connection is closed: a TLS handshake takes too long, from connecting")
    Key(
      "handshakesMax", \.handshakesMax, .integer(1...1_000_000),
      "TLS handshakes at once: the one that has taken longest is cut off")
    Key(
      "bodyTotalTimeoutMs", \.bodyTotalTimeoutMs, .integer(timeouts),
      "408: a request's body takes too long in all")
    Key(
      "batchCountMax", \.batchCountMax, .integer(1...1_000_000),
      "413: the most envelopes in a batch")
    Key(
      "batchBytesMax", \.batchBytesMax, .integer(1...bodyBytesLargest),
      "413: the most bytes of a post to `/v1/envelopes`, packed and unpacked")
    Key(
      "memoryInFlightBytesMax", \.memoryInFlightBytesMax, .integer(1...bytesLargest),
      """
      503: bytes of requests in memory; a post to `/v1/envelopes` counts twice. The last quarter \
      is kept for requests of up to 64 KiB. Under want of memory \
      [slow bodies give way](security.md#memory-that-bodies-hold-while-they-come)
      """)
    Key(
      "spoolThresholdBytes", \.spoolThresholdBytes, .integer(0...bodyBytesLargest),
      "none: a larger body goes through a file")
    Key(
      "waitSecondsMax", \.waitSecondsMax, .integer(0...3600), "the longest wait that a sender gets")
    Key(
      "waitingEnvelopesMax", \.waitingEnvelopesMax, .integer(waitingCounts),
      "429: envelopes that wait, in all")
    Key(
      "waitingBytesMax", \.waitingBytesMax, .optional(.integer(waitingBytes)),
      "429: bytes of bodies, headers and targets that wait, in all")
    Key(
      "clientWaitingEnvelopesMax", \.clientWaitingEnvelopesMax, .optional(.integer(waitingCounts)),
      "429: envelopes that wait, of one client")
    Key(
      "clientWaitingBytesMax", \.clientWaitingBytesMax, .optional(.integer(waitingBytes)),
      "429: bytes that wait, of one client")
    Key(
      "clientsMax", \.clientsMax, .integer(waitingCounts),
      "429: clients that are [known](operating.md#names)")
    Key(
      "lanesMax", \.lanesMax, .integer(waitingCounts), "429: lanes that are known, of all clients")
    Key(
      "clientLanesMax", \.clientLanesMax, .integer(waitingCounts),
      "429: lanes that are known, of one client")
    Key(
      "uploadsMax", \.uploadsMax, .integer(0...1_000_000),
      "429: [uploads](protocol.md#uploads) that are open, of all clients; 0 for none at all (403)")
    Key(
      "clientUploadsMax", \.clientUploadsMax, .integer(0...1_000_000),
      "429: uploads that are open, of one client")
    Key(
      "requestsPerSecondMax", \.requestsPerSecondMax, .optional(.number(requestRates)),
      "429: requests a second in the long run, of all devices")
    Key(
      "requestBurst", \.requestBurst, .optional(.integer(requestBursts)),
      "how many of them at once after a pause; none for those of one second")
    Key(
      "clientRequestsPerSecondMax", \.clientRequestsPerSecondMax, .optional(.number(requestRates)),
      "429: requests a second in the long run, of one client")
    Key(
      "clientRequestBurst", \.clientRequestBurst, .optional(.integer(requestBursts)),
      "how many of them at once after a pause; none for those of one second")
    Key(
      "acceptanceDelayMsMax", \.acceptanceDelayMsMax, .integer(20...60_000),
      "503: posts are refused so that 99 of 100 that are accepted take less than this")
    Key(
      "storeBytesMax", \.storeBytesMax, .optional(.integer(1_048_576...bytesLargest)),
      """
      507: bytes that the store takes on disk, without its log and what is free within its file; \
      an open upload counts with its length, as far as that is known
      """)
    Key(
      "storeLogBytesMax", \.storeLogBytesMax, .integer(1_048_576...bytesLargest),
      "507: bytes that the store's log holds and its database does not yet")
    Key(
      "diskReserveBytes", \.diskReserveBytes, .optional(.integer(0...bytesLargest)),
      absent: "none: see [operating](operating.md#when-the-disk-is-full)",
      "507: how much of the disk new envelopes leave free")
  }
}
