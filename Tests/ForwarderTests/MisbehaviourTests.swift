import Forwarder
import Glibc
import RelayCore
import Testing

@Suite("Upstreams that misbehave", .timeLimit(.minutes(5)))
struct MisbehaviourTests {
  private static let evil =
    "HTTP/1.1 200 OK\r\nX-Evil: 1\r\nContent-Length: 4\r\n\r\nevil"

  @Test(
    "what comes behind an answer is nobody's: the next request gets its own answer",
    arguments: [
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok\(evil)",
      "HTTP/1.1 204 No Content\r\n\r\n\(evil)",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
        + "HTTP/1.1 200 OK\r\nX-Evil: 1\r\nContent-Length: 4\r\n\r\nevil",
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more than that",
    ])
  func behindTheAnswer(first: String) async throws {
    let upstream = try RawUpstream { connection in
      guard let request = connection.readRequest() else { return }
      if request.line.hasPrefix("GET /1 ") {
        connection.send(first)
        // The next request may come on this very connection.
        guard connection.readRequest() != nil else { return }
      }
      connection.send("HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\nmine")
      connection.waitForEnd()
    }
    let target = try UpstreamTarget.test(upstream.url)
    let attempts = try Attempts()
    let answer = try await attempts.run(request(target, "GET", "/1")).response
    #expect(answer?.status == 200 || answer?.status == 204)
    #expect(answer?.body == Array("ok".utf8) || answer?.body == [])
    let next = try await attempts.run(request(target, "GET", "/2"))
    #expect(next.response?.status == 201, "\(next)")
    #expect(next.response?.body == Array("mine".utf8))
  }

  @Test(
    "lengths that lie are no answer, or the one that they speak of",
    arguments: [
      ("Content-Length: 10\r\n\r\nshort", nil), ("Content-Length: -1\r\n\r\nx", nil),
      ("Content-Length: 99999999999999999999\r\n\r\nx", nil),
      ("Content-Length: 2x\r\n\r\nok", nil),
      ("Content-Length: 1\r\nContent-Length: 2\r\n\r\nok", nil),
      ("Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n2\r\nok\r\n0\r\n\r\n", "ok"),
      ("Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nok", nil),
      ("Transfer-Encoding: chunked\r\n\r\nxyz\r\nok\r\n0\r\n\r\n", nil),
      ("Transfer-Encoding: chunked\r\n\r\n2\r\nok", nil),
    ])
  func lengths(rest: String, body: String?) async throws {
    let event = try await answer("HTTP/1.1 200 OK\r\n" + rest)
    if let body {
      #expect(event.response?.body == Array(body.utf8))
    } else {
      #expect(event.failure == .cut || event.failure == .malformedResponse, "\(event)")
    }
  }

  @Test(
    "before the status line nothing may stand",
    arguments: [
      "garbage\r\nHTTP/1.1 200 OK\r\n\r\n", "\u{0}\u{1}\u{2}\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n",
      "HTTP/1.1200 OK\r\n\r\n", "<html>\r\n\r\n", "ICY 200 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n",
      " HTTP/1.1 200 OK\r\n\r\n", String(repeating: "x", count: 300_000),
    ])
  func garbage(text: String) async throws {
    let event = try await answer(text)
    #expect(event.failure == .malformedResponse, "\(event)")
  }

  @Test("one line of the header that is too long is the upstream's fault, and not the relay's")
  func longLine() async throws {
    let event = try await answer(
      "HTTP/1.1 200 OK\r\nX-Long: " + String(repeating: "x", count: 150_000) + "\r\n\r\n")
    #expect(event.failure == .malformedResponse, "\(event)")
    #expect("\(event)".contains("sent a header with a line that is too long"))
  }

  @Test("a compressed body stays compressed, so that a bomb is no larger than it came")
  func bomb() async throws {
    let body = [UInt8](repeating: 0x1F, count: 50_000)
    let upstream = try RawUpstream { connection in
      _ = connection.readRequest()
      connection.send(
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(body.count)\r\n\r\n")
      connection.send(body)
    }
    let target = try UpstreamTarget.test(upstream.url, responseBodyBytesMax: 100)
    let response = try #require(try await Attempts().run(request(target)).response)
    #expect(response.body == Array(body.prefix(100)))
    #expect(response.isTruncated && response.headers.first("content-encoding") == "gzip")
  }

  @Test(
    "an answer that drips is over when the attempt's time is",
    arguments: [
      "HTTP/1.1 200 OK\r\nX: ", "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n",
      "HTTP/1.1 200 ",
    ])
  func drip(beginning: String) async throws {
    let upstream = try RawUpstream { connection in
      _ = connection.readRequest()
      connection.send(beginning)
      repeat { _ = poll(nil, 0, 10) } while connection.send("x")
    }
    let target = try UpstreamTarget.test(
      upstream.url, attemptTimeoutMs: 300, idleTimeoutMs: 250)
    let ends = try await Attempts().run([request(target)])
    let report = try #require(ends.reports.first)
    #expect(report.event.failure == .timeout, "\(report.event)")
    #expect(report.durationMs >= 250 && report.durationMs < 5000)
  }

  @Test(
    "a connection that is reset before, or as soon as, the request comes", arguments: [true, false])
  func reset(isAtOnce: Bool) async throws {
    let upstream = try RawUpstream { connection in
      if !isAtOnce { _ = connection.readHead() }
      connection.reset()
    }
    let event = try await Attempts().run(
      request(.test(upstream.url), "POST", body: .inline([UInt8](repeating: 1, count: 1000))))
    #expect(event.failure == .cut || event.failure == .connect, "\(event)")
  }

  @Test("one that floods its answer's header with many small fields is stopped at the limit")
  func manyFields() async throws {
    var limits = ForwarderLimits()
    limits.responseHeaderBytesMax = 4096
    let upstream = try RawUpstream { connection in
      _ = connection.readRequest()
      connection.send("HTTP/1.1 200 OK\r\n")
      while connection.send(String(repeating: "a:\r\n", count: 500)) {}
    }
    let event = try await Attempts(limits: limits).run(request(.test(upstream.url)))
    #expect(event.failure == .malformedResponse)
    #expect(event.detail.contains("too long"))
  }

  @Test("a misbehaving upstream holds none of the others up")
  func beside() async throws {
    let flood = try RawUpstream { connection in
      _ = connection.readRequest()
      connection.send("HTTP/1.1 200 OK\r\n\r\n")
      while connection.send([UInt8](repeating: 0x61, count: 65536)) {}
    }
    let (healthy, seen) = try recorder()
    let attempts = try Attempts()
    let bad = try UpstreamTarget.test(flood.url)
    let good = try UpstreamTarget.test(healthy.url)
    attempts.forwarder.submit((1...8).map { request(bad, serial: $0) })
    attempts.forwarder.submit((9...40).map { request(good, serial: $0) })
    let ends = try await attempts.ends(of: 40)
    #expect(ends.reports.allSatisfy { $0.event.response?.status == 200 })
    #expect(seen.all.count == 32)
  }

  private func answer(_ text: String) async throws -> AttemptEvent {
    let upstream = try RawUpstream { connection in
      _ = connection.readRequest()
      connection.send(text)
    }
    return try await Attempts().run(request(.test(upstream.url)))
  }
}
