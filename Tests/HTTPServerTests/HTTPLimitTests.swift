import EventLoop
import RelayCore
import Testing

@testable import HTTPServer

/// Each limit is tried at its very number, and with one more.
@Suite("The limits of the server, to the one")
struct HTTPLimitTests {
  private static let small: HTTPLimits = {
    var limits = HTTPLimits()
    limits.requestLineBytesMax = 100
    limits.fieldCountMax = 5
    limits.fieldBytesMax = 300
    limits.bodyBytesMax = 1000
    return limits
  }()

  private func text(_ count: Int) -> String { String(repeating: "a", count: count) }

  /// What a connection makes of a request: how it is refused, if it is.
  private func refusal(_ request: String) -> String? {
    var driver = ConnectionDriver(Self.small)
    driver.receive(request)
    let action = driver.head()
    return action.hasPrefix("refuse") ? action : nil
  }

  // MARK: Heads

  @Test("the request line")
  func requestLine() {
    func request(_ length: Int) -> String {
      "GET /\(text(length - 14)) HTTP/1.1\r\nHost: h\r\n\r\n"
    }
    #expect(refusal(request(100)) == nil)
    #expect(refusal(request(101)) == "refuse 414")
    // As soon as it is too long, whatever is still to come.
    #expect(refusal(String(request(200).prefix(100))) == nil)
    #expect(refusal(String(request(200).prefix(101))) == "refuse 414")
  }

  @Test("the bytes of fields, in one field and in several")
  func fieldBytes() {
    // `Host: h` takes nine bytes with its line end, a field of its own five beside its value.
    func one(_ total: Int) -> String {
      "GET / HTTP/1.1\r\nHost: h\r\nX: \(text(total - 14))\r\n\r\n"
    }
    func several(_ total: Int) -> String {
      "GET / HTTP/1.1\r\nHost: h\r\nX: \(text(100))\r\nY: \(text(total - 119))\r\n\r\n"
    }
    for request in [one, several] {
      #expect(refusal(request(299)) == nil)
      #expect(refusal(request(300)) == nil)
      #expect(refusal(request(301)) == "refuse 431")
    }
  }

  @Test("the number of fields")
  func fieldCount() {
    func request(_ count: Int) -> String {
      let others = (1..<count).map { "X\($0): 1\r\n" }.joined()
      return "GET / HTTP/1.1\r\nHost: h\r\n\(others)\r\n"
    }
    #expect(refusal(request(5)) == nil)
    #expect(refusal(request(6)) == "refuse 431")
  }

  @Test("the empty lines before a request")
  func emptyLines() {
    func request(_ count: Int) -> String {
      String(repeating: "\r\n", count: count) + "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
    }
    #expect(refusal(request(RequestParser.leadingLinesMax)) == nil)
    #expect(refusal(request(RequestParser.leadingLinesMax + 1)) == "refuse 400")
  }

  @Test("the port of a host")
  func port() {
    #expect(refusal("GET / HTTP/1.1\r\nHost: h:65535\r\n\r\n") == nil)
    #expect(refusal("GET / HTTP/1.1\r\nHost: h:65536\r\n\r\n") == "refuse 400")
  }

  // MARK: Bodies

  @Test("the bytes of a body, stated and in chunks")
  func bodyBytes() {
    func stated(_ count: Int) -> String {
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: \(count)\r\n\r\n"
    }
    #expect(refusal(stated(1000)) == nil)
    #expect(refusal(stated(1001)) == "refuse 413")
    func chunked(_ count: Int) -> String {
      var driver = ConnectionDriver(Self.small)
      driver.receive("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
      _ = driver.head()
      driver.receive("1f4\r\n\(text(500))\r\n\(String(count - 500, radix: 16))\r\n")
      driver.receive("\(text(count - 500))\r\n0\r\n\r\n")
      while true {
        let action = driver.body()
        if !action.hasPrefix("piece") { return action }
      }
    }
    #expect(chunked(1000) == "end")
    #expect(chunked(1001) == "failed tooLarge")
  }

  @Test("what of a body that nobody reads is skipped")
  func skippedBytes() {
    let most = HTTPLimits().skippedBodyBytesMax
    for (count, isKept) in [(most, true), (most + 1, false)] {
      var driver = ConnectionDriver()
      driver.receive("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: \(count)\r\n\r\n")
      _ = driver.head()
      #expect(driver.answer(403).keepsAlive == isKept)
    }
  }

  @Test("the bytes that a body has to bring in each period")
  func progressBytes() {
    for (count, deadlineMs) in [(1023, 1000), (1024, 20_000)] {
      var driver = ConnectionDriver()
      driver.receive("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n")
      _ = driver.head()
      #expect(driver.body() == "read 20000")
      driver.pass(19_000)
      driver.receive(text(count))
      _ = driver.body()
      #expect(driver.body() == "read \(deadlineMs)")
    }
  }

  private func chunks(_ text: String) -> Bool {
    var decoder = ChunkDecoder(limits: Self.small)
    let bytes = Array(text.utf8)
    var start = 0
    while true {
      switch decoder.next(bytes, from: &start, to: bytes.count) {
      case .data: continue
      case .end: return true
      case .needMore, .refused: return false
      }
    }
  }

  @Test("a chunk's size line, and the extensions of all chunks together")
  func chunkLines() {
    func line(_ length: Int) -> String { "1;\(text(length - 2))\r\na\r\n" }
    let end = "0\r\n\r\n"
    #expect(chunks(line(ChunkDecoder.sizeLineBytesMax) + end))
    #expect(!chunks(line(ChunkDecoder.sizeLineBytesMax + 1) + end))
    // An extension is counted from its semicolon on: 300 bytes may be there.
    #expect(chunks(line(201) + line(101) + end))
    #expect(!chunks(line(201) + line(102) + end))
  }

  @Test("the trailer section: its fields and their bytes")
  func trailers() {
    func section(_ fields: [String]) -> String {
      "0\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
    }
    #expect(chunks(section((1...5).map { "X\($0): 1" })))
    #expect(!chunks(section((1...6).map { "X\($0): 1" })))
    #expect(chunks(section(["X: \(text(295))"])))
    #expect(!chunks(section(["X: \(text(296))"])))
    #expect(chunks(section(["X: \(text(95))", "Y: \(text(195))"])))
    #expect(!chunks(section(["X: \(text(95))", "Y: \(text(196))"])))
  }

  // MARK: Connections

  @Test("connections in all, those in reserve, and those of one peer")
  func connections() throws {
    var limits = HTTPLimits()
    limits.connectionsMax = 3
    limits.reservedConnectionsMax = 2
    limits.connectionsPerPeerMax = 2
    let peers = try (1...4).map { PeerAddress.tcp(try #require(SocketAddress("192.0.2.\($0):1"))) }
    func admitted(_ peers: [PeerAddress], in room: ConnectionRoom = .common) -> Int {
      var counts = ConnectionCounts()
      return peers.count { peer in
        (try? counts.admit(peer, in: room, limits: limits)) != nil
      }
    }
    #expect(admitted(peers) == 3)
    #expect(admitted([peers[0], peers[0], peers[0], peers[1]]) == 3)
    #expect(admitted(peers, in: .reserved) == 2)
  }

  // MARK: The limits of the limits

  @Test("each limit's least and most values are valid, and the ones beyond are named")
  func validation() {
    func check<Value: BinaryInteger>(
      _ name: String, _ key: WritableKeyPath<HTTPLimits, Value>, _ least: Value, _ most: Value?
    ) {
      func names(_ value: Value) -> [Substring] {
        var limits = HTTPLimits()
        limits[keyPath: key] = value
        return limits.validate().map { $0.prefix { $0 != ":" } }
      }
      #expect(names(least).isEmpty, "\(name)")
      #expect(names(least - 1) == [name[...]])
      guard let most else { return }
      #expect(names(most).isEmpty, "\(name)")
      #expect(names(most + 1) == [name[...]])
    }
    check("requestLineBytesMax", \.requestLineBytesMax, 64, 1 << 20)
    check("fieldCountMax", \.fieldCountMax, 1, 10_000)
    check("fieldBytesMax", \.fieldBytesMax, 256, 1 << 20)
    check("bodyBytesMax", \.bodyBytesMax, 0, nil)
    check("connectionsMax", \.connectionsMax, 1, 1_000_000)
    check("handshakesMax", \.handshakesMax, 1, 1_000_000)
    check("reservedConnectionsMax", \.reservedConnectionsMax, 1, 10_000)
    check("readBufferBytes", \.readBufferBytes, 512, 1 << 20)
    check("largeHeadsMax", \.largeHeadsMax, 1, nil)
    check("bodyProgressBytesMin", \.bodyProgressBytesMin, 1, nil)
    check("skippedBodyBytesMax", \.skippedBodyBytesMax, 0, nil)
    check("retryAfterSeconds", \.retryAfterSeconds, 1, 86_400)
    check("idleTimeoutMs", \.idleTimeoutMs, 1, 86_400_000)
    check("headTimeoutMs", \.headTimeoutMs, 1, 86_400_000)
    check("handshakeTimeoutMs", \.handshakeTimeoutMs, 1, 86_400_000)
    check("bodyProgressTimeoutMs", \.bodyProgressTimeoutMs, 1, 86_400_000)
    check("bodyTotalTimeoutMs", \.bodyTotalTimeoutMs, 1, 86_400_000)
    check("writeStallTimeoutMs", \.writeStallTimeoutMs, 1, 86_400_000)
    check("lingerTimeoutMs", \.lingerTimeoutMs, 1, 86_400_000)
  }

  @Test("one peer may be allowed one connection, and not none")
  func ofOnePeer() {
    var limits = HTTPLimits()
    limits.connectionsPerPeerMax = 1
    #expect(limits.validate().isEmpty)
    limits.connectionsPerPeerMax = 0
    #expect(limits.validate().count == 1)
  }
}
