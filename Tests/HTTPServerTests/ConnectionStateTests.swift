import RelayCore
import Testing

@testable import HTTPServer

@Suite("What a connection decides")
struct ConnectionStateTests {
  private let get = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"

  private func post(_ fields: String, version: String = "1.1") -> String {
    "POST /a HTTP/\(version)\r\nHost: h\r\n\(fields)\r\n\r\n"
  }

  @Test("requests follow each other on one connection, each with its own deadlines")
  func requests() {
    var driver = ConnectionDriver()
    #expect(driver.head() == "read 10000")
    driver.receive(get)
    #expect(driver.head() == "respond /a")
    #expect(driver.answer().keepsAlive)
    #expect(driver.end() == .next)
    #expect(driver.state.isIdle)
    #expect(driver.head() == "read 60000")
    driver.pass(1000)
    driver.receive("GET")
    #expect(!driver.state.isIdle)
    #expect(driver.head() == "read 10000")
    driver.pass(4000)
    driver.receive(" /b")
    #expect(driver.head() == "read 6000")
  }

  @Test("pipelined requests wait their turn")
  func pipelining() {
    var driver = ConnectionDriver()
    driver.receive(get + get.replacing("/a", with: "/b") + "GET")
    for target in ["/a", "/b"] {
      #expect(driver.head() == "respond \(target)")
      _ = driver.answer()
      #expect(driver.end() == .next)
    }
    #expect(driver.head() == "read 10000")
  }

  @Test("a body that trickles in has a rate to keep, and a time in all")
  func slowBody() {
    var limits = HTTPLimits()
    limits.bodyProgressBytesMin = 100
    limits.bodyTotalTimeoutMs = 50_000
    var driver = ConnectionDriver(limits)
    driver.receive(post("Content-Length: 1000000"))
    #expect(driver.head() == "respond /a")
    #expect(driver.body() == "read 20000")
    // One byte a second buys nothing.
    for _ in 0..<5 {
      driver.pass(1000)
      driver.receive("x")
      #expect(driver.body() == "piece x")
      _ = driver.body()
    }
    #expect(driver.body() == "read 15000")
    // A full measure buys a new period, but no more than is left in all.
    for left in [20_000, 20_000, 20_000, 15_000, 5_000] {
      driver.receive(String(repeating: "x", count: 100))
      _ = driver.body()
      #expect(driver.body() == "read \(left)")
      driver.pass(10_000)
    }
  }

  @Test("a part of a head waits without a buffer, and goes on from there")
  func smallBuffer() {
    var driver = ConnectionDriver()
    driver.receive(get + "POST /b HT")
    #expect(driver.head() == "respond /a")
    _ = driver.answer()
    #expect(driver.end() == .next)
    #expect(driver.head() == "read 10000")
    let bytesMax = HTTPLimits().readBufferBytes
    #expect(driver.state.input.detach(keeping: bytesMax / 2)?.count == bytesMax)
    #expect(driver.state.input.bytes == Array("POST /b HT".utf8))
    driver.state.input.attach([UInt8](repeating: 0, count: bytesMax))
    driver.receive("TP/1.1\r\nHost: h\r\nX: \(String(repeating: "y", count: 3000))\r\n\r\n")
    #expect(driver.head() == "respond /b")
  }

  @Test("a head that is late is refused if it has begun, and a silent peer just closed")
  func headTimeouts() {
    var begun = ConnectionDriver()
    begun.receive("GET /")
    begun.state.inputTimedOut()
    #expect(begun.head() == "refuse 408")
    #expect(begun.head() == "close")
    var silent = ConnectionDriver()
    silent.state.inputTimedOut()
    #expect(silent.head() == "close")
  }

  @Test("a peer that ends in the middle of a head is not answered")
  func endInHead() {
    var driver = ConnectionDriver()
    driver.receive("GET /")
    driver.state.inputEnded()
    #expect(driver.head() == "close")
    #expect(!driver.state.needsLinger)
  }

  @Test("a refused head ends the connection")
  func refusal() {
    var driver = ConnectionDriver()
    driver.receive("GET / HTTP/1.1\r\n\r\n" + get)
    #expect(driver.head() == "refuse 400")
    #expect(!driver.answer(400).keepsAlive)
    #expect(driver.end() == .close)
    #expect(driver.head() == "close")
  }

  @Test("a body that is here is taken at once, and the next request after it")
  func wholeBody() {
    var driver = ConnectionDriver()
    driver.receive(post("Content-Length: 5") + "hello" + get)
    #expect(driver.head() == "respond /a")
    #expect(driver.state.takeWholeBody() == Array("hello".utf8))
    #expect(driver.body() == "end")
    _ = driver.answer()
    #expect(driver.end() == .next)
    #expect(driver.head() == "respond /a")
  }

  @Test("a body is given out in pieces as it comes")
  func pieces() {
    var driver = ConnectionDriver()
    driver.receive(post("Content-Length: 10") + "hello")
    #expect(driver.head() == "respond /a")
    #expect(driver.state.takeWholeBody() == nil)
    #expect(driver.body() == "piece hello")
    #expect(driver.body() == "read 20000")
    driver.receive("worldGET")
    #expect(driver.body() == "piece world")
    #expect(driver.body() == "end")
  }

  @Test("a chunked body that exceeds the limit is refused when it does")
  func chunkedLimit() {
    var limits = HTTPLimits()
    limits.bodyBytesMax = 8
    var driver = ConnectionDriver(limits)
    driver.receive(post("Transfer-Encoding: chunked") + "5\r\nhello\r\n")
    #expect(driver.head() == "respond /a")
    #expect(driver.body() == "piece hello")
    driver.receive("5\r\nworld\r\n")
    #expect(driver.body() == "failed tooLarge")
    #expect(driver.body() == "failed tooLarge")
    #expect(driver.state.problem(for: .tooLarge)?.status == 413)
    #expect(!driver.answer(413).keepsAlive)
  }

  @Test("a stated length over the limit is refused before the handler sees it")
  func statedLimit() {
    var driver = ConnectionDriver()
    driver.receive(post("Content-Length: 99999999"))
    #expect(driver.head() == "refuse 413")
  }

  @Test("100 Continue goes out once, and not if the body is here already")
  func continues() {
    var driver = ConnectionDriver()
    driver.receive(post("Content-Length: 4\r\nExpect: 100-continue"))
    #expect(driver.head() == "respond /a")
    #expect(driver.body() == "continue")
    #expect(driver.body() == "read 20000")
    driver.receive("hi")
    #expect(driver.body() == "piece hi")
    #expect(driver.body() == "read 20000")
    var eager = ConnectionDriver()
    eager.receive(post("Content-Length: 4\r\nExpect: 100-continue") + "hi")
    #expect(eager.head() == "respond /a")
    #expect(eager.body() == "piece hi")
  }

  @Test(
    "an expectation that was never met closes the connection after the answer",
    arguments: ["Content-Length: 4", "Transfer-Encoding: chunked"])
  func unmetExpectation(framing: String) {
    var driver = ConnectionDriver()
    driver.receive(post("\(framing)\r\nExpect: 100-continue"))
    #expect(driver.head() == "respond /a")
    #expect(!driver.answer(403).keepsAlive)
    #expect(driver.end() == .close)
  }

  @Test("a body has to bring its measure of bytes in each period, the handler's own time apart")
  func bodyProgress() {
    var limits = HTTPLimits()
    limits.bodyProgressTimeoutMs = 1000
    limits.bodyProgressBytesMin = 10
    var driver = ConnectionDriver(limits)
    driver.receive(post("Content-Length: 1000"))
    _ = driver.head()
    #expect(driver.body() == "read 1000")
    driver.pass(600)
    driver.receive("a")
    #expect(driver.body() == "piece a")
    driver.pass(50_000)  // The handler takes its time; that is not the sender's fault.
    #expect(driver.body() == "read 400")
    driver.pass(300)
    driver.receive("123456789")
    _ = driver.body()
    #expect(driver.body() == "read 1000")
    driver.state.inputTimedOut()
    #expect(driver.body() == "failed timedOut")
    #expect(driver.state.problem(for: .timedOut)?.status == 408)
  }

  @Test("a peer that goes away in the middle of a body is noticed, and not answered")
  func lostBody() {
    var driver = ConnectionDriver()
    driver.receive(post("Content-Length: 10") + "hello")
    _ = driver.head()
    driver.state.inputEnded()
    #expect(driver.body() == "piece hello")
    #expect(driver.body() == "failed disconnected")
    #expect(driver.state.problem(for: .disconnected) == nil)
  }

  @Test("what a handler left of a small body is skipped, up to the limit")
  func skipping() {
    var driver = ConnectionDriver()
    driver.receive(post("Content-Length: 10") + "hello")
    _ = driver.head()
    #expect(driver.answer().keepsAlive)
    #expect(driver.end() == .skip)
    #expect(driver.skip() == "read 20000")
    driver.receive("world" + get)
    #expect(driver.skip() == "end")
    #expect(driver.head() == "respond /a")
  }

  @Test("a large unread body closes the connection instead")
  func largeUnread() {
    var driver = ConnectionDriver()
    driver.receive(post("Content-Length: 1000000"))
    _ = driver.head()
    #expect(!driver.answer().keepsAlive)
  }

  @Test("how an answer is delimited follows from the request, the status and its length")
  func framing() {
    func plan(
      _ request: String, _ status: Int = 200, length: Int64? = 5
    ) -> ConnectionState.ResponsePlan {
      var driver = ConnectionDriver()
      driver.receive(request)
      _ = driver.head()
      return driver.answer(status, length: length)
    }
    let head = "HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n"
    let old = "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
    #expect(plan(get).framing == .length(5))
    #expect(plan(get, length: nil).framing == .chunked)
    #expect(plan(get, 204).framing == .bodiless)
    #expect(plan(get, 304).framing == .bodiless)
    #expect(plan(head).framing == .length(5))
    #expect(!plan(head).sendsBody)
    #expect(plan(old).saysKeepAlive)
    #expect(plan(old, length: nil).framing == .untilClose)
    #expect(!plan(old, length: nil).keepsAlive)
  }

  @Test("draining finishes the request in flight and takes no other")
  func draining() {
    var driver = ConnectionDriver()
    driver.receive(get + get)
    _ = driver.head()
    driver.state.drain()
    #expect(!driver.answer().keepsAlive)
    #expect(driver.end() == .close)
    var idle = ConnectionDriver()
    idle.state.drain()
    #expect(idle.head() == "close")
  }

  @Test("while nothing comes, a connection keeps what it has been sent and no more")
  func keepsLittle() {
    var buffer = InputBuffer()
    buffer.attach([UInt8](repeating: 0, count: 1024))
    func take(_ text: String) {
      _ = buffer.fill { (room) -> Int? in
        room.copyBytes(from: text.utf8)
        return text.utf8.count
      }
    }
    take("GET / HT")
    #expect(buffer.detach(keeping: 512)?.count == 1024)
    #expect(!buffer.hasStorage && buffer.bytes.count == 8)
    buffer.attach([UInt8](repeating: 0, count: 1024))
    take("TP/1.1")
    #expect(buffer.take(buffer.count) == Array("GET / HTTP/1.1".utf8))
    #expect(buffer.detach(keeping: 512)?.count == 1024)
    #expect(buffer.bytes.isEmpty)
    buffer.attach([UInt8](repeating: 0, count: 1024))
    take(String(repeating: "a", count: 600))
    #expect(buffer.detach(keeping: 512) == nil)
    #expect(buffer.hasStorage)
  }

  @Test("a head larger than the read buffer still fits, up to its own limits")
  func growingBuffer() {
    var limits = HTTPLimits()
    limits.readBufferBytes = 512
    var driver = ConnectionDriver(limits)
    driver.receive(post("X: \(String(repeating: "a", count: 5000))"))
    #expect(driver.head() == "respond /a")
    var endless = ConnectionDriver(limits)
    endless.receive(post("X: \(String(repeating: "a", count: 50_000))"))
    #expect(endless.head() == "refuse 431")
  }
}
