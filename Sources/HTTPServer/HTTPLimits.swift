/// Every limit of the HTTP server, each named with its unit.
package struct HTTPLimits: Sendable, Equatable {
  /// The longest request line, without its line end; beyond it 414.
  package var requestLineBytesMax = 8192
  /// The most fields in a head or a trailer section; beyond it 431.
  package var fieldCountMax = 100
  /// The most bytes of fields in a head or a trailer section; beyond it 431.
  package var fieldBytesMax = 32768
  /// The most bytes of a request's body; beyond it 413.
  package var bodyBytesMax: Int64 = 10 << 20
  /// The most connections at a time; one more gets 503 and is closed.
  package var connectionsMax = 10000
  /// The most further connections on reserved listeners.
  package var reservedConnectionsMax = 64
  /// The most connections from one IPv4 address or one IPv6 network of 64 bits, which is what one
  /// household or device has; nil for ``peerSharePercent``.
  package var connectionsPerPeerMax: Int?
  /// The share of one such peer in connections, handshakes and large heads, in percent.
  package var peerSharePercent = 75
  /// The longest silence of a kept-alive connection between requests.
  package var idleTimeoutMs: Int64 = 60_000
  /// The longest time for a request's head from its first byte; for the first head, from
  /// connecting.
  package var headTimeoutMs: Int64 = 10_000
  /// The longest time for a TLS handshake, from connecting.
  package var handshakeTimeoutMs: Int64 = 10_000
  /// The most TLS handshakes at a time; with one more, the oldest is cut off.
  package var handshakesMax = 1000
  /// The period in which a body has to bring ``bodyProgressBytesMin`` bytes, or its end.
  package var bodyProgressTimeoutMs: Int64 = 20_000
  /// The fewest bytes of body in each ``bodyProgressTimeoutMs``.
  package var bodyProgressBytesMin = 1024
  /// The longest time of waiting for a body in all, without a handler's time between two reads.
  package var bodyTotalTimeoutMs: Int64 = 3_600_000
  /// The longest time that a peer may take no bytes of a response.
  package var writeStallTimeoutMs: Int64 = 20_000
  /// The time of further reading from a peer after the last response, so that it can receive that
  /// response.
  package var lingerTimeoutMs: Int64 = 2_000
  /// The most bytes of an unread body that are skipped to keep a connection.
  package var skippedBodyBytesMax: Int64 = 65536
  /// The size of a connection's buffer while bytes arrive; a silent connection has none.
  package var readBufferBytes = 16384
  /// The most connections at a time that hold more of a head than ``readBufferBytes``.
  ///
  /// One more gets 503. Otherwise ``connectionsMax`` slow peers could each hold ``fieldBytesMax``.
  package var largeHeadsMax = 256
  /// The least `Retry-After` of a 503 at ``connectionsMax``; the value is random up to three times
  /// as much.
  package var retryAfterSeconds = 5

  /// The largest ``fieldCountMax`` that there may be.
  package static let fieldCountLargest = 10_000
  /// The largest ``fieldBytesMax`` that there may be.
  package static let fieldBytesLargest = 1 << 20

  /// The defaults.
  package init() {}

  /// The faults of the limits, one sentence each; empty if they fit together.
  package func validate() -> [String] {
    var problems: [String] = []
    func require(_ isMet: Bool, _ sentence: String) {
      if !isMet { problems.append(sentence) }
    }
    require((64...1 << 20).contains(requestLineBytesMax), "requestLineBytesMax: 64 to 1048576")
    require((1...Self.fieldCountLargest).contains(fieldCountMax), "fieldCountMax: 1 to 10000")
    require((256...Self.fieldBytesLargest).contains(fieldBytesMax), "fieldBytesMax: 256 to 1048576")
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
