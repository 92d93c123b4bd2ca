import EventLoop
import HTTPServer
import RelayCore
import Synchronization
import Testing

@Suite("The server on real sockets", .timeLimit(.minutes(5)))
struct ServerTests {
  @Test("a request is answered and the connection stays open for the next")
  func keepAlive() async throws {
    let server = try TestServer()
    let client = try await server.connect()
    for index in 0..<3 {
      try await client.send("GET /\(index) HTTP/1.1\r\nHost: a\r\n\r\n")
      let answer = try await client.read(through: "GET /\(index) ")
      #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\nDate: "))
      #expect(answer.contains("\r\nContent-Length: 7\r\n"))
      #expect(!answer.contains("Connection:"))
    }
    await server.stop()
  }

  @Test("pipelined requests are answered in order")
  func pipelining() async throws {
    let server = try TestServer { request in
      if request.head.path.elementsEqual("/0".utf8) {
        await TestLoops.all[0].sleep(until: MonotonicClock.now().adding(milliseconds: 20))
      }
      return await TestServer.echo(request)
    }
    let client = try await server.connect()
    let requests = (0..<50).map { "POST /\($0) HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi" }
    try await client.send(requests.joined())
    for index in 0..<50 {
      let answer = try await client.read(through: "\r\n\r\nPOST /\(index) hi")
      #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
    }
    await server.stop()
  }

  @Test("the answer to HEAD has the fields of GET and no body")
  func head() async throws {
    let server = try TestServer()
    let answer = try await server.exchange(
      "HEAD /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    #expect(answer.contains("\r\nContent-Length: 8\r\n"))
    #expect(answer.hasSuffix("\r\n\r\n"))
    await server.stop()
  }

  @Test("100 Continue is sent once the handler begins to read, and only then")
  func expectContinue() async throws {
    let server = try TestServer { request in
      if request.head.path.elementsEqual("/refuse".utf8) { return HTTPResponse(status: 403) }
      return await TestServer.echo(request)
    }
    let head = "HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"
    let client = try await server.connect()
    try await client.send("POST /take " + head)
    #expect(try await client.read(through: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
    try await client.send("abc")
    #expect(try await client.read(through: "POST /take abc").hasPrefix("HTTP/1.1 200"))
    try await client.send("POST /refuse " + head)
    let refusal = try await client.readToEnd()
    #expect(refusal.hasPrefix("HTTP/1.1 403"))
    #expect(refusal.contains("Connection: close\r\n"))
    await server.stop()
  }

  @Test("a chunked body reaches the handler whole, and the connection goes on")
  func chunked() async throws {
    let server = try TestServer()
    let client = try await server.connect()
    try await client.send("POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
    for part in ["3\r\nabc", "\r\n2;x=y\r\nde\r\n", "0\r\nTrailer: 1\r\n", "\r\n"] {
      try await client.send(part)
    }
    _ = try await client.read(through: "POST /c abcde")
    try await client.send("GET /next HTTP/1.1\r\nHost: a\r\n\r\n")
    _ = try await client.read(through: "GET /next ")
    await server.stop()
  }

  @Test("a malformed request gets a problem document and a closed connection")
  func malformed() async throws {
    let server = try TestServer()
    let answer = try await server.exchange("GET / HTTP/1.1\nHost: a\n\n")
    #expect(answer.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
    #expect(answer.contains("Content-Type: application/problem+json\r\n"))
    #expect(answer.contains("\"type\":\"urn:waystation:problem:malformed-request\""))
    await server.stop()
  }

  @Test("a body over the limit gets 413, which the sender can read although it went on sending")
  func bodyTooLarge() async throws {
    var limits = HTTPLimits()
    limits.bodyBytesMax = 1000
    let server = try TestServer(limits)
    for framing in ["Content-Length: 5000000", "Transfer-Encoding: chunked"] {
      let client = try await server.connect()
      try await client.send("POST / HTTP/1.1\r\nHost: a\r\n\(framing)\r\n\r\n4C4B40\r\n")
      try? await client.socket.write([UInt8](repeating: 0x61, count: 5_000_000), stallMs: 200)
      #expect(try await client.read(through: "\r\n\r\n").hasPrefix("HTTP/1.1 413"))
    }
    await server.stop()
  }

  @Test("a head that comes byte by byte is cut off when its time is up")
  func slowHead() async throws {
    var limits = HTTPLimits()
    limits.headTimeoutMs = 500
    let answer = try await answer(toTrickleAfter: "GET / HTTP/1.1\r\nX-Endless: ", limits)
    #expect(answer.hasPrefix("HTTP/1.1 408"), "\(answer)")
  }

  @Test("large heads have room of their own, and past it 503 until one of them is whole")
  func largeHeads() async throws {
    var limits = HTTPLimits()
    limits.readBufferBytes = 512
    limits.largeHeadsMax = 1
    limits.headTimeoutMs = 60_000
    let server = try TestServer(limits)
    let beginning = "GET / HTTP/1.1\r\nHost: h\r\nX: \(String(repeating: "a", count: 1000))"
    let rest = "\r\nConnection: close\r\n\r\n"
    let first = try await server.connect()
    try await first.send(beginning)
    // The first one is noticed in a moment; until then the second one is served.
    var refused = false
    for _ in 0..<1000 where !refused {
      refused = try await server.exchange(beginning + rest).hasPrefix("HTTP/1.1 503 ")
    }
    #expect(refused)
    try await first.send(rest)
    #expect(try await first.readToEnd().hasPrefix("HTTP/1.1 200 "))
    #expect(try await server.exchange(beginning + rest).hasPrefix("HTTP/1.1 200 "))
    await server.stop()
  }

  @Test("a silent connection is closed without a word")
  func silence() async throws {
    var limits = HTTPLimits()
    limits.headTimeoutMs = 50
    limits.idleTimeoutMs = 50
    let server = try TestServer(limits)
    let silent = try await server.connect()
    #expect(try await silent.readToEnd() == "")
    let idle = try await server.connect()
    try await idle.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(try await idle.readToEnd().hasPrefix("HTTP/1.1 200"))
    await server.stop()
  }

  @Test("a body that trickles is answered with 408")
  func slowBody() async throws {
    var limits = HTTPLimits()
    limits.bodyProgressTimeoutMs = 100
    let answer = try await answer(
      toTrickleAfter: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n", limits)
    #expect(answer.hasPrefix("HTTP/1.1 408"), "\(answer)")
  }

  /// Sends the beginning of a request, and a byte every now and then, until there is an answer.
  private func answer(
    toTrickleAfter beginning: String, _ limits: HTTPLimits
  ) async throws -> String {
    let server = try TestServer(limits)
    let client = try await server.connect()
    try await client.send(beginning)
    let feeder = Task {
      for _ in 0..<1000 {
        try await client.send("a")
        await TestLoops.all[0].sleep(until: MonotonicClock.now().adding(milliseconds: 10))
      }
    }
    let answer = try await client.readToEnd()
    feeder.cancel()
    await server.stop()
    return answer
  }

  @Test("a connection past the limit gets 503 with Retry-After, and the others go on")
  func connectionLimit() async throws {
    var limits = HTTPLimits()
    limits.connectionsMax = 2
    let server = try TestServer(limits)
    let kept = [try await server.connect(), try await server.connect()]
    for client in kept {
      try await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      _ = try await client.read(through: "GET / ")
    }
    let answer = try await server.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(answer.hasPrefix("HTTP/1.1 503"))
    // Drawn at random, from the limit's value to three times as much.
    #expect((5...15).contains { answer.contains("\r\nRetry-After: \($0)\r\n") })
    try await kept[0].send("GET /more HTTP/1.1\r\nHost: a\r\n\r\n")
    _ = try await kept[0].read(through: "GET /more ")
    await server.stop()
  }

  @Test("draining closes idle connections, and lets a request in flight finish")
  func drain() async throws {
    let (started, startedSignal) = AsyncStream.makeStream(of: Void.self)
    let (released, releaseSignal) = AsyncStream.makeStream(of: Void.self)
    let server = try TestServer { request in
      if request.head.path.elementsEqual("/slow".utf8) {
        startedSignal.yield()
        for await _ in released { break }
      }
      return HTTPResponse(status: 200)
    }
    let idle = try await server.connect()
    try await idle.send("GET /idle HTTP/1.1\r\nHost: a\r\n\r\n")
    _ = try await idle.read(through: "\r\n\r\n")
    let busy = try await server.connect()
    try await busy.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
    for await _ in started { break }
    async let cutOff = server.server.drain(
      until: MonotonicClock.now().adding(milliseconds: 10_000))
    #expect(try await idle.readToEnd() == "")
    releaseSignal.yield()
    #expect(try await busy.readToEnd().contains("\r\nConnection: close\r\n"))
    #expect(await cutOff == 0)
    #expect(server.server.connectionCount == 0)
  }

  @Test("a request that outlasts the drain is cut off and its task cancelled")
  func drainDeadline() async throws {
    let (started, startedSignal) = AsyncStream.makeStream(of: Void.self)
    let server = try TestServer { _ in
      startedSignal.yield()
      await TestLoops.all[0].sleep(until: MonotonicTime(nanoseconds: .max))
      return HTTPResponse(status: Task.isCancelled ? 503 : 200)
    }
    let client = try await server.connect()
    try await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    for await _ in started { break }
    let count = await server.server.drain(until: MonotonicClock.now().adding(milliseconds: 30))
    #expect(count == 1)
    #expect((try? await client.readToEnd()) ?? "" == "")
  }

  @Test("a streamed answer is chunked for HTTP/1.1 and ends with the connection for HTTP/1.0")
  func streaming() async throws {
    let server = try TestServer { _ in
      HTTPResponse(
        status: 200,
        body: .stream { writer in
          for part in ["hello ", "world"] { try await writer.write(Array(part.utf8)) }
        })
    }
    let modern = try await server.exchange("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    #expect(modern.hasSuffix("\r\n\r\n6\r\nhello \r\n5\r\nworld\r\n0\r\n\r\n"))
    let old = try await server.exchange("GET / HTTP/1.0\r\n\r\n")
    #expect(old.hasSuffix("\r\n\r\nhello world"))
    #expect(old.contains("Connection: close\r\n"))
    await server.stop()
  }

  @Test("a stream that is cut breaks off, also where it waits for a peer that does not read")
  func cutStream() async throws {
    let server = try TestServer { _ in
      HTTPResponse(
        status: 200,
        body: .stream { writer in
          let much = [UInt8](repeating: 0x61, count: 1 << 20)
          TestLoops.all[0].schedule(afterMs: 20) { writer.cut() }
          while true { try await writer.write(much) }
        })
    }
    let client = try await server.connect()
    try await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    // Ends only once no connection is left, long before the peer has stalled for too long.
    let deadline = MonotonicClock.now().adding(milliseconds: 15_000)
    _ = try await client.read(through: "\r\n\r\n")
    #expect(await server.server.drain(until: deadline) == 0)
  }

  @Test("a source that gives fewer bytes than it promised cuts the connection")
  func shortSource() async throws {
    let server = try TestServer { _ in
      HTTPResponse(status: 200, body: .source(length: 10) { nil })
    }
    #expect(try await server.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n") == "")
    await server.stop()
  }

  @Test("a body that the handler left is skipped if it is small, else the connection is closed")
  func unreadBodies() async throws {
    let server = try TestServer { _ in HTTPResponse(status: 200) }
    let client = try await server.connect()
    try await client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 40000\r\n\r\n")
    _ = try await client.read(through: "\r\n\r\n")
    try await client.send(String(repeating: "a", count: 40000))
    try await client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 400000\r\n\r\n")
    #expect(try await client.readToEnd().contains("Connection: close\r\n"))
    await server.stop()
  }

  @Test("a body that outlives its handler cannot read into the next request")
  func bodyOutlivesHandler() async throws {
    let kept = Mutex<RequestBody?>(nil)
    let server = try TestServer { request in
      if request.head.framing != .none { kept.withLock { $0 = request.body } }
      return HTTPResponse(status: 200)
    }
    let client = try await server.connect()
    try await client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc")
    _ = try await client.read(through: "\r\n\r\n")
    let body = try #require(kept.withLock { $0 })
    await #expect(throws: RequestBodyError.disconnected) { try await body.read() }
    try await client.send("defghiGET / HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(try await client.read(through: "\r\n\r\n").hasPrefix("HTTP/1.1 200"))
    await server.stop()
  }

  @Test("a handler that hops to another executor comes back to its connection")
  func hops() async throws {
    let server = try TestServer { request in
      let text = await Task.detached { "from elsewhere" }.value
      return HTTPResponse(status: 200, body: .bytes(Array(text.utf8)))
    }
    let client = try await server.connect()
    for _ in 0..<20 {
      try await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      _ = try await client.read(through: "from elsewhere")
    }
    await server.stop()
  }

  @Test("a peer that takes none of its answer is cut off")
  func stalledReader() async throws {
    var limits = HTTPLimits()
    limits.writeStallTimeoutMs = 100
    let server = try TestServer(limits) { _ in
      HTTPResponse(status: 200, body: .bytes([UInt8](repeating: 0x61, count: 64 << 20)))
    }
    let client = try await server.connect()
    try await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    try await client.socket.waitUntilReadable()
    // The drain lets it finish in peace: only the stall can end it before the deadline.
    let deadline = MonotonicClock.now().adding(milliseconds: 10_000)
    #expect(await server.server.drain(until: deadline) == 0)
  }

  @Test("many connections at once are all served")
  func manyConnections() async throws {
    let server = try TestServer()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<200 {
        group.addTask {
          let client = try await server.connect()
          for round in 0..<5 {
            let body = String(repeating: "\(index).", count: round * 100)
            try await client.send(
              "POST /\(index) HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n")
            try await client.send(body)
            _ = try await client.read(through: "POST /\(index) \(body)")
          }
        }
      }
      try await group.waitForAll()
    }
    await server.stop()
  }

  @Test("a peer that goes away while its answer is written harms nobody")
  func vanishingPeer() async throws {
    let server = try TestServer { _ in
      HTTPResponse(status: 200, body: .bytes([UInt8](repeating: 0x61, count: 8 << 20)))
    }
    for _ in 0..<5 {
      let client = try await server.connect()
      try await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      _ = try await client.socket.read(upTo: 10)
      client.socket.close()
    }
    await server.stop()
    #expect(server.server.connectionCount == 0)
  }
}
