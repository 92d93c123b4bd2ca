import Forwarder
import Glibc
import RelayCore
import Testing

@Suite("Attempts without an answer", .timeLimit(.minutes(5)))
struct FailureTests {
  @Test("a name that does not resolve")
  func nameResolution() async throws {
    // A label of more than 63 bytes: the resolver refuses it without asking anybody.
    let host = String(repeating: "a", count: 64) + ".invalid"
    let event = try await Attempts().run(request(.test("http://\(host)")))
    #expect(event.failure == .nameResolution)
    #expect(event.detail == "the name of \(host) could not be resolved")
  }

  @Test("a port on which nobody listens")
  func refused() async throws {
    let port = try reservedPort()
    let event = try await Attempts().run(request(.test("http://127.0.0.1:\(port)")))
    #expect(event.failure == .connect)
    #expect(event.detail == "no connection to 127.0.0.1:\(port) could be made: connection refused")
  }

  @Test("a connection that is not taken in time")
  func connectTimeout() async throws {
    // A full backlog: the kernel drops whoever knocks.
    let (listener, port) = try RawUpstream.listen(backlog: 0)
    defer { close(listener) }
    let target = try UpstreamTarget.test("http://127.0.0.1:\(port)", connectTimeoutMs: 200)
    let attempts = try Attempts()
    // The first ones still fit into the backlog, and wait for an answer.
    attempts.forwarder.submit((1...6).map { request(target, serial: $0) })
    let report = try #require(try await attempts.ends(of: 1).reports.first)
    #expect(report.event.failure == .timeout)
    #expect(report.durationMs >= 190 && report.durationMs < 5000)
  }

  @Test("an answer that does not come in time")
  func timeout() async throws {
    let upstream = try RawUpstream { $0.waitForEnd() }
    let target = try UpstreamTarget.test(upstream.url, attemptTimeoutMs: 150)
    let ends = try await Attempts().run([request(target, "POST", body: .inline([1]))])
    let report = try #require(ends.reports.first)
    #expect(report.event.failure == .timeout)
    #expect(report.durationMs >= 140 && report.durationMs < 5000)
  }

  @Test("an answer that stops half-way does not hold the attempt up for longer than its time")
  func halfAnswer() async throws {
    let upstream = try RawUpstream { connection in
      _ = connection.readRequest()
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
      connection.send("x")
      connection.waitForEnd()
    }
    let target = try UpstreamTarget.test(upstream.url, attemptTimeoutMs: 150)
    #expect(try await Attempts().run(request(target)).failure == .timeout)
  }

  @Test(
    "a connection that ends in the middle",
    arguments: [
      "", "HTTP/1.1 200 O", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    ], [true, false])
  func cut(text: String, isReset: Bool) async throws {
    let upstream = try RawUpstream { connection in
      _ = connection.readRequest()
      connection.send(text)
      if isReset { connection.reset() }
    }
    let event = try await Attempts().run(request(.test(upstream.url), "POST", body: .inline([1])))
    #expect(
      event.failure == .cut || (text == "HTTP/1.1 200 O" && event.failure == .malformedResponse))
    #expect(event.detail.contains("127.0.0.1:\(upstream.port)"))
  }

  @Test(
    "an answer that is no HTTP",
    arguments: [
      "SSH-2.0-OpenSSH_9.2\r\n", "hello\r\n\r\n", "HTTP/1.1 999 X\r\n\r\n",
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "HTTP/1.1 OK\r\n\r\n",
    ])
  func malformed(text: String) async throws {
    let upstream = try RawUpstream { connection in
      _ = connection.readRequest()
      connection.send(text)
    }
    let event = try await Attempts().run(request(.test(upstream.url)))
    #expect(event.failure == .malformedResponse)
  }

  @Test("a header without an end", arguments: ["X: yyyyyyyyyyyyyyy\r\n", "y"])
  func endlessHeader(piece: String) async throws {
    let upstream = try RawUpstream { connection in
      _ = connection.readRequest()
      connection.send("HTTP/1.1 200 OK\r\nX: ")
      while connection.send(String(repeating: piece, count: 500)) {}
    }
    let event = try await Attempts().run(request(.test(upstream.url)))
    #expect(event.failure == .malformedResponse || event.failure == .local)
  }

  @Test("interim answers without an end")
  func endlessInterim() async throws {
    let upstream = try RawUpstream { connection in
      _ = connection.readRequest()
      while connection.send("HTTP/1.1 102 Processing\r\n\r\n") {}
    }
    #expect(try await Attempts().run(request(.test(upstream.url))).failure == .malformedResponse)
  }

  @Test("what is said of a failure holds no credential, no query and no header")
  func noSecrets() async throws {
    var fixed = HeaderBlock()
    fixed.append(name: "Authorization", value: "Bearer hunter2")
    let upstream = try RawUpstream { _ = $0.readRequest() }
    for url in [upstream.url, "http://127.0.0.1:\(try reservedPort())"] {
      let event = try await Attempts().run(
        request(.test(url, headers: fixed), "GET", "/p?token=hunter2", headers: [("X", "hunter2")]))
      #expect(event.failure != nil)
      #expect(!event.detail.contains("hunter2"))
    }
  }

  @Test("a proxy that the environment names is not used")
  func noProxyFromEnvironment() async throws {
    await #expect(processExitsWith: .success) {
      for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "https_proxy"] {
        setenv(name, "http://127.0.0.1:9", 1)
      }
      let (upstream, seen) = try recorder()
      let event = try await Attempts().run(request(.test(upstream.url)))
      exit(event.response?.status == 200 && seen.all.count == 1 ? 0 : 1)
    }
  }
}
