/// Every limit of the HTTP server, each named with its unit.
package struct HTTPLimits: Sendable, Equatable {
  /// The longest request line, without its line end; past it 414.
  package var requestLineBytesMax = 8192
  /// The most fields in a head or a trailer section; past it 431.
  package var fieldCountMax = 100
  /// The most bytes of fields in a head or a trailer section; past it 431.
  package var fieldBytesMax = 32768
  /// The most bytes of a request's body; past it 413.
  package var bodyBytesMax: Int64 = 10 << 20
  /// The most connections at a time; one more gets 503 and is closed.
  package var connectionsMax = 10000
  /// How many more there may be where a listener is reserved for some.
  package var reservedConnectionsMax = 64
  /// The most of them from one IPv4 address or one IPv6 network of 64 bits, which is what one
  /// household or device has; nil for ``peerSharePercent``.
  package var connectionsPerPeerMax: Int?
  /// How many of what all share, in percent, may be one such peer's: connections, handshakes and
  /// large heads.
  package var peerSharePercent = 75
  /// How long a kept-alive connection may be silent between requests.
  package var idleTimeoutMs: Int64 = 60_000
  /// How long a request's head may take from its first byte (from connecting, for the first).
  package var headTimeoutMs: Int64 = 10_000
  /// How long a TLS handshake may take, from connecting.
  package var handshakeTimeoutMs: Int64 = 10_000
  /// The most TLS handshakes at a time; with one more, the one that has taken longest is cut off.
  package var handshakesMax = 1000
  /// The period in which a body has to bring ``bodyProgressBytesMin`` bytes, or its end.
  package var bodyProgressTimeoutMs: Int64 = 20_000
  /// The fewest bytes of body in each ``bodyProgressTimeoutMs``.
  package var bodyProgressBytesMin = 1024
  /// How long to wait for a body in all; what a handler takes between two reads is left out.
  package var bodyTotalTimeoutMs: Int64 = 3_600_000
  /// How long a peer may take none of the bytes of an answer.
  package var writeStallTimeoutMs: Int64 = 20_000
  /// How long to go on reading from a peer after the last answer, so that it can see that answer.
  package var lingerTimeoutMs: Int64 = 2_000
  /// The most bytes of a body that nobody read which are skipped to keep a connection.
  package var skippedBodyBytesMax: Int64 = 65536
  /// The size of the buffer that a connection has while bytes arrive; none while it is silent.
  package var readBufferBytes = 16384
  /// The most connections at a time that hold more than ``readBufferBytes`` of a head.
  ///
  /// One more gets 503. Else ``connectionsMax`` slow peers could each hold ``fieldBytesMax``.
  package var largeHeadsMax = 256
  /// The least `Retry-After` of a 503 at ``connectionsMax``; three times as much is the most, and
  /// which of them it is is drawn at random.
  package var retryAfterSeconds = 5

  /// The defaults.
  package init() {}

  /// What is wrong with the limits, as one sentence each; empty if they fit together.
  package func validate() -> [String] {
    var problems: [String] = []
    func require(_ isMet: Bool, _ sentence: String) {
      if !isMet { problems.append(sentence) }
    }
    require((64...1 << 20).contains(requestLineBytesMax), "requestLineBytesMax: 64 to 1048576")
    require((1...10_000).contains(fieldCountMax), "fieldCountMax: 1 to 10000")
    require((256...1 << 20).contains(fieldBytesMax), "fieldBytesMax: 256 to 1048576")
    require(bodyBytesMax >= 0, "bodyBytesMax: 0 or more")
    require((1...1_000_000).contains(connectionsMax), "connectionsMax: 1 to 1000000")
    require((1...1_000_000).contains(handshakesMax), "handshakesMax: 1 to 1000000")
    require((1...10_000).contains(reservedConnectionsMax), "reservedConnectionsMax: 1 to 10000")
    require((connectionsPerPeerMax ?? 1) >= 1, "connectionsPerPeerMax: 1 or more")
    require((1...100).contains(peerSharePercent), "peerSharePercent: 1 to 100")
    require((512...1 << 20).contains(readBufferBytes), "readBufferBytes: 512 to 1048576")
    require(largeHeadsMax >= 1, "largeHeadsMax: 1 or more")
    require(bodyProgressBytesMin >= 1, "bodyProgressBytesMin: 1 or more")
    require(skippedBodyBytesMax >= 0, "skippedBodyBytesMax: 0 or more")
    require((1...86_400).contains(retryAfterSeconds), "retryAfterSeconds: 1 to 86400")
    let timeouts = [
      ("idleTimeoutMs", idleTimeoutMs), ("headTimeoutMs", headTimeoutMs),
      ("handshakeTimeoutMs", handshakeTimeoutMs),
      ("bodyProgressTimeoutMs", bodyProgressTimeoutMs), ("bodyTotalTimeoutMs", bodyTotalTimeoutMs),
      ("writeStallTimeoutMs", writeStallTimeoutMs), ("lingerTimeoutMs", lingerTimeoutMs),
    ]
    for (name, value) in timeouts {
      require((1...86_400_000).contains(value), "\(name): 1 to 86400000")
    }
    return problems
  }
}
