import EventLoop
import Foundation
import RelayCore
import Testing

@testable import HTTPServer

/// An answer says `Connection: close` where the connection ends behind it, and only there.
@Suite("What an answer says of its connection", .timeLimit(.minutes(5)))
struct KeptConnectionTests {
  /// A body of so many bytes, and how it is sent.
  struct Body: Sendable, CustomStringConvertible {
    let framing: String
    let bytes: [UInt8]
    let size: Int

    var description: String { "\(framing), \(size) bytes" }
    var isChunked: Bool { framing.hasPrefix("T") }

    static func stated(_ size: Int) -> Body {
      Body(
        framing: "Content-Length: \(size)", bytes: [UInt8](repeating: 0x61, count: size),
        size: size)
    }

    static func chunked(_ size: Int) -> Body {
      var bytes: [UInt8] = []
      var left = size
      while left > 0 {
        let count = min(left, 3000)
        bytes += Array("\(String(count, radix: 16))\r\n".utf8)
        bytes += [UInt8](repeating: 0x61, count: count) + [0x0D, 0x0A]
        left -= count
      }
      return Body(
        framing: "Transfer-Encoding: chunked", bytes: bytes + Array("0\r\n\r\n".utf8), size: size)
    }

    static let all = [0, 1, 4000, 8191, 8192, 8193, 20_000].flatMap {
      [stated($0), chunked($0)]
    }
  }

  private static let limits: HTTPLimits = {
    var limits = HTTPLimits()
    limits.skippedBodyBytesMax = 8192
    return limits
  }()
  private static let next = "GET /next HTTP/1.1\r\nHost: h\r\n\r\n"

  @Test(
    "a body that nobody reads ends the connection only where the answer says so",
    arguments: Body.all, ["1.1", "1.0"])
  func unread(body: Body, version: String) {
    if body.isChunked, version == "1.0" { return }
    let whole = body.bytes.count
    let cuts = Set([0, 1, whole / 2, whole - 1, whole])
    for expects in [false, true] {
      // What the handler reads of it, and what has come before the answer.
      for readsFirst in [false, true] {
        for cut in cuts where (0...whole).contains(cut) {
          let keeps = keeps(body, version, expects, readsFirst, cut)
          let what: Comment = "expects \(expects), reads \(readsFirst), \(cut) had come"
          let isHere = cut == whole
          if isHere { #expect(keeps, what) }
          // Nobody can know how long these still are, or whether they come at all.
          let isWaited = expects && version == "1.1" && !readsFirst
          if !isHere, body.isChunked || isWaited { #expect(!keeps, what) }
          if !isHere, !body.isChunked, !isWaited {
            #expect(keeps == (body.size - cut <= Self.limits.skippedBodyBytesMax), what)
          }
        }
      }
    }
  }

  /// Answers a request whose body has come so far; the rest comes then, and another request.
  private func keeps(
    _ body: Body, _ version: String, _ expects: Bool, _ readsFirst: Bool, _ cut: Int
  ) -> Bool {
    var driver = ConnectionDriver(Self.limits)
    let fields = expects ? "Expect: 100-continue\r\n" : ""
    driver.receive(
      "POST /first HTTP/\(version)\r\nHost: h\r\nConnection: keep-alive\r\n\(fields)"
        + "\(body.framing)\r\n\r\n")
    #expect(driver.head() == "respond /first")
    if readsFirst, driver.body() == "continue" { _ = driver.body() }
    driver.receive(body.bytes[..<cut])
    if readsFirst { _ = driver.body() }
    let plan = driver.answer(403)
    let after = driver.end()
    guard plan.keepsAlive else {
      #expect(after == .close)
      return false
    }
    // What was said holds, whatever else comes.
    var rest = body.bytes[cut...]
    if after == .skip {
      while !rest.isEmpty {
        driver.receive(rest.prefix(9000))
        rest = rest.dropFirst(9000)
        let action = driver.skip()
        #expect(action == (rest.isEmpty ? "end" : "read 20000"))
      }
    }
    driver.receive(Self.next)
    #expect(driver.head() == "respond /next")
    return true
  }

  @Test("chunks that nobody reads and that break end the connection, and the answer says so")
  func brokenChunks() {
    var driver = ConnectionDriver()
    driver.receive(
      "POST /first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n")
    #expect(driver.head() == "respond /first")
    #expect(!driver.answer(403).keepsAlive)
  }

  // MARK: HEAD

  @Test(
    "a HEAD that is refused before it is a request gets no body",
    arguments: [
      "HEAD / HTTP/1.1\r\n\r\n", "HEAD * HTTP/1.1\r\nHost: h\r\n\r\n", "HEAD nowhere",
      "HEAD / HTTP/1.1\r\nHost: h\r\nX : 1\r\n", "HEAD / HTTP/3.0\r\n", "HEAD  /",
      "HEAD /\(String(repeating: "a", count: 9000))", "\r\n\r\nHEAD / HTTP/1.1\r\n\r\n",
      "HEAD / HTTP/1.1\r\nHost: h\r\nX: \(String(repeating: "a", count: 40_000))",
      "HEAD / HTTP/1.1\r\nHost: h\r\nExpect: more\r\n\r\n",
      "HEAD / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\n",
      "HEAD / HTTP/1.1\r\nHost: h\nX: y\r\n",
    ])
  func refusedHead(text: String) {
    // Also behind another request, in the same bytes.
    for first in ["", "POST /a HTTP/1.1\r\nHost: h\r\n\r\n"] {
      var driver = ConnectionDriver()
      driver.receive(first + text)
      if !first.isEmpty {
        #expect(driver.head() == "respond /a")
        _ = driver.answer()
        #expect(driver.end() == .next)
      }
      // Some are refused once no more of them comes.
      if driver.head().hasPrefix("read") { driver.state.inputTimedOut() }
      _ = driver.head()
      let plan = driver.answer(400, length: 179)
      #expect(!plan.sendsBody)
      #expect(!plan.keepsAlive)
      #expect(plan.framing == .length(179))
    }
  }

  @Test(
    "what is refused behind a HEAD gets its body, unless it is one itself",
    arguments: [
      "GET / HTTP/1.1\r\n\r\n", "HEADY / HTTP/1.1\r\n\r\n", "GARBAGE\r\n",
      "head / HTTP/1.1\r\n\r\n",
      "HEA", "GET / HTTP/1.1\r\nHEAD : 1\r\n", "\n",
    ])
  func refusedBehindHead(text: String) {
    var driver = ConnectionDriver()
    driver.receive("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(driver.head() == "respond /a")
    #expect(!driver.answer().sendsBody)
    #expect(driver.end() == .next)
    driver.receive(text)
    if driver.head().hasPrefix("read") { driver.state.inputTimedOut() }
    _ = driver.head()
    #expect(driver.answer(400, length: 179).sendsBody)
  }

  // MARK: The end of the server

  @Test("a request that has come before a server's end is answered, and the answer says the end")
  func requestAtTheEnd() async throws {
    let loop = try EventLoop(name: "test")
    let other = try EventLoop(name: "other")
    defer {
      loop.stop()
      other.stop()
    }
    let server = HTTPServer(
      loops: [loop], handler: TestServer.Handler { _ in HTTPResponse(status: 200) })
    let address = try server.bind(.loopback(port: 0))
    let client = TestClient(try await Socket.connect(to: address, on: other))
    try await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(try await !client.read(through: "\r\n\r\n").contains("Connection: close"))
    // The loop is held up, so that the request comes, and the end, before it has read either.
    let hold = DispatchSemaphore(value: 0)
    let (held, heldSignal) = AsyncStream.makeStream(of: Void.self)
    loop.execute {
      heldSignal.yield()
      hold.wait()
    }
    for await _ in held { break }
    try await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    let drain = Task(executorPreference: other) {
      await server.drain(until: MonotonicClock.now().adding(milliseconds: 30_000))
    }
    // Behind what the drain does before it waits: one loop runs one thing after the other.
    Task(executorPreference: other) { hold.signal() }
    let rest = try await client.readToEnd()
    #expect(rest.hasPrefix("HTTP/1.1 200 OK\r\n"), "\(rest)")
    #expect(rest.contains("\r\nConnection: close\r\n"))
    #expect(await drain.value == 0)
  }
}
