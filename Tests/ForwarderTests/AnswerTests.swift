import Forwarder
import RelayCore
import Testing

@Suite("Answers of the upstream", .timeLimit(.minutes(5)))
struct AnswerTests {
  @Test("status, fields and body of any bytes are kept as they came")
  func kept() async throws {
    let body = (0..<1000).map { UInt8(truncatingIfNeeded: $0) }
    let event = try await answer(
      Array("HTTP/1.1 418 Teapot\r\nX-a:  1 \r\nContent-Length: 1000\r\n".utf8)
        + Array("Content-Encoding: gzip\r\nKeep-Alive: x\r\n\r\n".utf8) + body)
    let response = try #require(event.response)
    #expect(response.status == 418)
    #expect(
      String(decoding: response.headers.bytes, as: UTF8.self)
        == "X-a: 1\r\nContent-Length: 1000\r\nContent-Encoding: gzip\r\n")
    #expect(response.body == body)
    #expect(!response.isTruncated)
  }

  @Test("a chunked body is put together, and its trailers left out")
  func chunked() async throws {
    let event = try await answer(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        + "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: 1\r\n\r\n"
    )
    #expect(event.response?.body == Array("abcde".utf8))
    #expect(event.response?.headers.isEmpty == true)
  }

  @Test("a body that ends with the connection is whole")
  func untilClose() async throws {
    let event = try await answer("HTTP/1.0 200 OK\r\n\r\nall of it")
    #expect(event.response?.body == Array("all of it".utf8))
    #expect(event.response?.isTruncated == false)
  }

  @Test("answers without a body", arguments: ["204 No Content", "304 Not Modified"])
  func bodiless(status: String) async throws {
    let event = try await answer("HTTP/1.1 \(status)\r\nETag: x\r\n\r\n", keepOpen: true)
    #expect(event.response?.status == Int(status.prefix(3)))
    #expect(event.response?.body == [])
  }

  @Test("an answer to HEAD has no body, whatever length it speaks of", arguments: [0, 3])
  func head(bodyByteCount: Int) async throws {
    let body = EnvelopeBody.inline([UInt8](repeating: 1, count: bodyByteCount))
    let event = try await answer(
      "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n", method: "HEAD", body: body, keepOpen: true)
    #expect(event.response?.status == 200)
    #expect(event.response?.headers.first("content-length") == "5000")
    #expect(event.response?.isTruncated == false)
  }

  @Test("interim answers are passed over")
  func interim() async throws {
    let event = try await answer(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
        + "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok")
    #expect(event.response?.status == 201)
    #expect(event.response?.body == Array("ok".utf8))
    #expect(event.response?.headers.first("link") == nil)
  }

  @Test(
    "a redirect is an answer, and nobody goes where it points", arguments: [301, 302, 307, 308])
  func redirect(status: Int) async throws {
    let (elsewhere, seen) = try recorder()
    let event = try await answer(
      "HTTP/1.1 \(status) X\r\nLocation: \(elsewhere.url)/\r\nContent-Length: 0\r\n\r\n")
    #expect(event.response?.status == status)
    #expect(seen.all.isEmpty)
  }

  @Test("a question for credentials is an answer")
  func unauthorized() async throws {
    let event = try await answer(
      "HTTP/1.1 401 X\r\nWWW-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n")
    #expect(event.response?.status == 401)
  }

  @Test("of a long body the beginning is kept, and the connection used again")
  func truncated() async throws {
    let upstream = try RawUpstream { connection in
      while connection.readRequest() != nil {
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 30000\r\n\r\n")
        connection.send([UInt8](repeating: 0x61, count: 30000))
      }
    }
    let target = try UpstreamTarget.test(upstream.url, responseBodyBytesMax: 100)
    let attempts = try Attempts()
    for _ in 1...3 {
      let response = try #require(try await attempts.run(request(target)).response)
      #expect(response.body == [UInt8](repeating: 0x61, count: 100))
      #expect(response.isTruncated)
    }
    #expect(upstream.acceptCount == 1)
  }

  @Test("a body without an end is cut off, and the answer still counts")
  func endlessBody() async throws {
    let upstream = try RawUpstream { connection in
      _ = connection.readRequest()
      connection.send("HTTP/1.1 200 OK\r\n\r\n")
      while connection.send([UInt8](repeating: 0x61, count: 10000)) {}
    }
    var limits = ForwarderLimits()
    limits.responseDrainBytesMax = 50_000
    let target = try UpstreamTarget.test(upstream.url, responseBodyBytesMax: 10)
    let event = try await Attempts(limits: limits).run(request(target))
    #expect(event.response?.status == 200)
    #expect(event.response?.body.count == 10)
    #expect(event.response?.isTruncated == true)
  }

  @Test("an answer that comes before the body was sent is the answer")
  func earlyAnswer() async throws {
    let event = try await early { $0.waitForEnd() }
    #expect(event.response?.status == 413)
    #expect(event.response?.body == Array("no".utf8))
  }

  @Test("so it is where the upstream then closes, unless its reset overtakes the answer")
  func earlyAnswerAndReset() async throws {
    // Closing with the body unread resets the connection, which a server should not do, since the
    // answer may be lost with it (RFC 9112 section 9.6). Then the attempt is to be made again.
    let event = try await early { $0.close() }
    #expect(event.response?.status == 413 || event.failure == .cut)
  }

  private func early(
    _ afterwards: @escaping @Sendable (RawConnection) -> Void
  ) async throws -> AttemptEvent {
    let upstream = try RawUpstream { connection in
      _ = connection.readHead()
      connection.send("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
      afterwards(connection)
    }
    let body = EnvelopeBody.inline([UInt8](repeating: 1, count: 8_000_000))
    return try await Attempts().run(request(.test(upstream.url), "POST", body: body))
  }

  private func answer(
    _ text: String, method: String = "GET", body: EnvelopeBody = .inline([]), keepOpen: Bool = false
  ) async throws -> AttemptEvent {
    try await answer(Array(text.utf8), method: method, body: body, keepOpen: keepOpen)
  }

  private func answer(
    _ bytes: [UInt8], method: String = "GET", body: EnvelopeBody = .inline([]),
    keepOpen: Bool = false
  ) async throws -> AttemptEvent {
    let upstream = try RawUpstream { connection in
      _ = connection.readRequest()
      connection.send(bytes)
      if keepOpen { connection.waitForEnd() }
    }
    return try await Attempts().run(request(.test(upstream.url), method, body: body))
  }
}
