import Forwarder
import Glibc
import RelayCore
import Synchronization
import Testing

@Suite("Whether the upstream may have taken it", .timeLimit(.minutes(5)))
struct DoubtTests {
  private let large = [UInt8](repeating: 1, count: 8 << 20)

  /// Runs one attempt to its end.
  private func report(
    _ target: UpstreamTarget, _ method: String = "POST", body: [UInt8] = [1]
  ) async throws -> AttemptReport {
    let ends = try await Attempts().run([request(target, method, body: .inline(body))])
    return try #require(ends.reports.first)
  }

  @Test(
    "it may, if the request was written and time ran out",
    arguments: [[], [1, 2, 3]] as [[UInt8]])
  func timeout(body: [UInt8]) async throws {
    let upstream = try RawUpstream { $0.waitForEnd() }
    let report = try await report(.test(upstream.url, attemptTimeoutMs: 150), body: body)
    #expect(report.event.failure == .timeout && report.isInDoubt)
  }

  @Test("it may, if the connection ended instead of an answer", arguments: [true, false])
  func cut(isReset: Bool) async throws {
    let upstream = try RawUpstream { connection in
      _ = connection.readRequest()
      if isReset { connection.reset() }
    }
    #expect(try await report(.test(upstream.url)).isInDoubt)
  }

  @Test(
    "it may, if the answer broke off or was none",
    arguments: ["HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "SMTP ready\r\n\r\n"])
  func halfAnswer(text: String) async throws {
    let upstream = try RawUpstream { connection in
      _ = connection.readRequest()
      connection.send(text)
    }
    #expect(try await report(.test(upstream.url)).isInDoubt)
  }

  @Test("it cannot, if part of the body never left")
  func unwritten() async throws {
    let gate = Gate()
    defer { gate.open() }
    let upstream = try RawUpstream { connection in
      connection.shrinkReceiveBuffer()
      _ = connection.readHead()
      gate.wait()
    }
    let report = try await report(.test(upstream.url, attemptTimeoutMs: 300), body: large)
    #expect(report.event.failure == .timeout && !report.isInDoubt)
  }

  @Test("it cannot, if another relay may have the envelope by the time it would be written")
  func lapsed() async throws {
    let mayWrite = Atomic(true)
    let requests = Atomic(0)
    let upstream = try RawUpstream { connection in
      while connection.readHead() != nil {
        requests.add(1, ordering: .relaxed)
        connection.send("HTTP/1.1 204 No Content\r\n\r\n")
      }
    }
    let attempts = try Attempts(mayWrite: { mayWrite.load(ordering: .relaxed) })
    // One that would need a connection, one that would have a kept one, and one that may again.
    for isAllowed in [false, true, false, true] {
      mayWrite.store(isAllowed, ordering: .relaxed)
      let ends = try await attempts.run([request(.test(upstream.url), "GET")])
      let report = try #require(ends.reports.first)
      #expect(report.event.response?.status == (isAllowed ? 204 : nil))
      #expect(isAllowed || (report.event.failure == .brokenOff && !report.isInDoubt))
    }
    #expect(requests.load(ordering: .relaxed) == 2)
  }

  @Test("it cannot, if the connection was cut in the middle of the body")
  func cutInBody() async throws {
    let upstream = try RawUpstream { connection in
      connection.shrinkReceiveBuffer()
      _ = connection.readHead()
      connection.reset()
    }
    let report = try await report(.test(upstream.url), body: large)
    #expect(report.event.failure == .cut && !report.isInDoubt)
  }

  @Test("it cannot, if there never was a connection")
  func noConnection() async throws {
    let port = try reservedPort()
    let report = try await report(.test("http://127.0.0.1:\(port)"))
    #expect(report.event.failure == .connect && !report.isInDoubt)
  }

  @Test("an answer leaves no doubt", arguments: [200, 404, 503])
  func answered(status: Int) async throws {
    let upstream = try RawUpstream { connection in
      _ = connection.readRequest()
      connection.send("HTTP/1.1 \(status) Status\r\nContent-Length: 0\r\n\r\n")
    }
    let report = try await report(.test(upstream.url))
    #expect(report.event.response?.status == status && !report.isInDoubt)
  }

  @Test("an attempt that is broken off tells whether it had been written")
  func brokenOff() async throws {
    let arrived = Gate()
    let upstream = try RawUpstream { connection in
      _ = connection.readRequest()
      arrived.open()
      connection.waitForEnd()
    }
    let attempts = try Attempts()
    attempts.forwarder.submit([
      request(try .test(upstream.url), "POST", body: .inline([1]), serial: 1)
    ])
    await arrived.isOpen()
    attempts.forwarder.cancelAll()
    let report = try #require(try await attempts.ends(of: 1).reports.first)
    #expect(report.event.isBrokenOff && report.isInDoubt)
  }

  /// Answers one request on the first connection, then takes one more and closes.
  private func forgetfulUpstream(_ seen: Log<String>) throws -> RawUpstream {
    try RawUpstream { connection in
      while let request = connection.readRequest() {
        seen.add(request.line)
        guard request.line.contains("first") else { return }
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      }
    }
  }

  @Test("a request on a kept connection that ends is not sent again where that must not be")
  func notRepeated() async throws {
    let seen = Log<String>()
    let upstream = try forgetfulUpstream(seen)
    let target = try UpstreamTarget.test(upstream.url, mayRepeat: false)
    let attempts = try Attempts()
    for method in ["POST", "DELETE", "GET"] {
      _ = try await attempts.run(request(target, "POST", "/first", body: .inline([1])))
      let ends = try await attempts.run([request(target, method, "/second")])
      let report = try #require(ends.reports.first)
      #expect(report.event.failure == .cut && report.isInDoubt)
    }
    #expect(seen.all.filter { $0.contains("second") }.count == 3)
  }

  @Test("where it may be sent again, it is, and stays in doubt if that fails as well")
  func repeated() async throws {
    let seen = Log<String>()
    let upstream = try forgetfulUpstream(seen)
    let target = try UpstreamTarget.test(upstream.url)
    let attempts = try Attempts()
    _ = try await attempts.run(request(target, "POST", "/first", body: .inline([1])))
    let ends = try await attempts.run([request(target, "POST", "/second", body: .inline([1]))])
    let report = try #require(ends.reports.first)
    #expect(report.isInDoubt)
    #expect(seen.all.filter { $0.contains("second") }.count == 2)
  }

  @Test("it may, if a kept connection died, and the second time the body was cut in the middle")
  func repeatedInPart() async throws {
    let upstream = try RawUpstream { connection in
      guard let head = connection.readHead() else { return }
      guard head.line.contains("first") else {
        // Of the second time hardly anything is taken.
        connection.shrinkReceiveBuffer()
        return connection.reset()
      }
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      // All of the next request arrives, and no answer goes out.
      _ = connection.readRequest()
    }
    let attempts = try Attempts()
    let target = try UpstreamTarget.test(upstream.url)
    _ = try await attempts.run(request(target, "GET", "/first"))
    let ends = try await attempts.run([request(target, "POST", body: .inline(large))])
    let report = try #require(ends.reports.first)
    #expect(report.event.failure == .cut && report.isInDoubt, "\(report.event)")
    #expect(upstream.acceptCount == 2)
  }
}

@Suite("Silence", .timeLimit(.minutes(5)))
struct SilenceTests {
  @Test("an upstream that falls silent is given up, though the attempt might take longer")
  func silent() async throws {
    let upstream = try RawUpstream { connection in
      _ = connection.readRequest()
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
      connection.waitForEnd()
    }
    let target = try UpstreamTarget.test(upstream.url, attemptTimeoutMs: nil, idleTimeoutMs: 200)
    let ends = try await Attempts().run([request(target, "POST", body: .inline([1]))])
    let report = try #require(ends.reports.first)
    #expect(report.event.failure == .timeout && report.isInDoubt)
    #expect(report.event.detail.contains("no byte moved for 200 ms"))
    #expect(report.durationMs >= 200 && report.durationMs < 10_000)
  }

  @Test("an answer that keeps trickling in may take as long as it likes")
  func trickle() async throws {
    let upstream = try RawUpstream { connection in
      _ = connection.readRequest()
      connection.send("HTTP/1.1 200 OK\r\n")
      for number in 0..<5 { connection.trickle("X-\(number): 1\r\n") }
      connection.send("Content-Length: 5\r\n\r\n")
      for _ in 0..<5 { connection.trickle("x") }
    }
    let target = try UpstreamTarget.test(upstream.url, attemptTimeoutMs: nil, idleTimeoutMs: 400)
    let report = try #require(try await Attempts().run([request(target)]).reports.first)
    #expect(report.event.response?.body.count == 5)
    #expect(report.durationMs > 400)
  }

  @Test("bytes that only leave the socket's buffer count as life")
  func drainingBuffer() async throws {
    let upstream = try RawUpstream { connection in
      connection.shrinkReceiveBuffer()
      guard let head = connection.readHead() else { return }
      let length = head.values("content-length").first.flatMap { Int($0) } ?? 0
      connection.readSlowly(length)
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    }
    let target = try UpstreamTarget.test(upstream.url, attemptTimeoutMs: nil, idleTimeoutMs: 600)
    let body = [UInt8](repeating: 1, count: 1 << 20)
    let ends = try await Attempts().run([request(target, "POST", body: .inline(body))])
    let report = try #require(ends.reports.first)
    #expect(report.event.response?.status == 200, "\(report.event.detail)")
    #expect(report.durationMs > 1200)
  }

  @Test("making a connection has a limit of its own")
  func connecting() async throws {
    let (listener, port) = try RawUpstream.listen(backlog: 0)
    defer { close(listener) }
    let target = try UpstreamTarget.test(
      "http://127.0.0.1:\(port)", connectTimeoutMs: 400, attemptTimeoutMs: nil, idleTimeoutMs: 50)
    let attempts = try Attempts()
    attempts.forwarder.submit((1...6).map { request(target, serial: $0) })
    let reports = try await attempts.ends(of: 6).reports
    let late = try #require(reports.last)
    #expect(late.durationMs >= 390 && !late.isInDoubt)
    #expect(reports.first?.isInDoubt == true)
  }
}
