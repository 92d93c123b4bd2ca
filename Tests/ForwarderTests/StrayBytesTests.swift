import Forwarder
import RelayCore
import Testing

@Suite("Bytes that nobody asked for", .timeLimit(.minutes(5)))
struct StrayBytesTests {
  private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
  private static let chunked =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"

  /// Runs one attempt, lets the upstream say more, and runs another, which has to get its own
  /// answer on a connection of its own.
  private func expectOwnAnswer(
    _ stray: StrayUpstream, _ target: UpstreamTarget, method: String = "POST",
    body: EnvelopeBody = .inline([1]), isVerification: Bool = false
  ) async throws {
    let attempts = try Attempts()
    let first = try await attempts.run(request(target, "GET", "/1"))
    #expect((first.response?.status ?? 0) / 100 == 2, "\(first)")
    await stray.sayMore()
    var second = request(target, method, "/2", body: body)
    second.isVerification = isVerification
    let report = try #require(try await attempts.run([second]).reports.first)
    #expect(report.event.response?.status == 201, "\(report.event)")
    #expect(report.event.response?.body == Array("mine".utf8))
    #expect(stray.requestsOnFirst.count == 1)
    #expect(stray.upstream.acceptCount == 2)
  }

  @Test(
    "what comes a moment behind an answer is nobody's: the next request gets its own",
    arguments: [
      (ok, StrayUpstream.evil), ("HTTP/1.1 204 No Content\r\n\r\n", "evil"), (ok, "ay"),
      ("HTTP/1.1 204 No Content\r\n\r\n", StrayUpstream.evil), (chunked, StrayUpstream.evil),
      (chunked, "\r\n"), (ok, "\n"),
    ])
  func behindTheAnswer(first: String, later: String) async throws {
    let stray = try StrayUpstream(first: [first]) { $0.send(later) }
    try await expectOwnAnswer(stray, .test(stray.upstream.url))
  }

  @Test("one that must not be sent twice gets its own answer as well, since nothing was written")
  func unrepeated() async throws {
    let stray = try StrayUpstream(first: [Self.ok]) { $0.send(StrayUpstream.evil) }
    try await expectOwnAnswer(stray, .test(stray.upstream.url, mayRepeat: false))
  }

  @Test("a question whether an envelope has arrived gets its own answer")
  func verification() async throws {
    let stray = try StrayUpstream(first: [Self.ok]) { $0.send(StrayUpstream.evil) }
    try await expectOwnAnswer(
      stray, .test(stray.upstream.url, mayRepeat: false), method: "GET", body: .inline([]),
      isVerification: true)
  }

  @Test("a body from a file goes out whole on the connection that takes the place of the first")
  func fileBody() async throws {
    let stray = try StrayUpstream(first: [Self.ok]) { $0.send(StrayUpstream.evil) }
    let file = try TemporaryFile([UInt8](repeating: 7, count: 300_000))
    try await expectOwnAnswer(stray, .test(stray.upstream.url), body: .file(file.stored))
  }

  @Test("only the one attempt has a new connection: the next goes on that one again")
  func onlyOnce() async throws {
    let stray = try StrayUpstream(first: [Self.ok]) { $0.send(StrayUpstream.evil) }
    let target = try UpstreamTarget.test(stray.upstream.url)
    let attempts = try Attempts()
    _ = try await attempts.run(request(target, "GET", "/1"))
    await stray.sayMore()
    for serial in 2...4 {
      let event = try await attempts.run(request(target, serial: Serial(serial)))
      #expect(event.response?.status == 201)
    }
    #expect(stray.upstream.acceptCount == 2)
  }

  @Test("where several kept connections have brought something, none of them is used")
  func several() async throws {
    let stray = try StrayUpstream(3, first: [Self.ok]) { $0.send(StrayUpstream.evil) }
    let target = try UpstreamTarget.test(stray.upstream.url)
    let attempts = try Attempts([target])
    let first = try await attempts.run((1...3).map { request(target, serial: Serial($0)) })
    #expect(first.reports.allSatisfy { $0.event.response?.status == 200 })
    await stray.sayMore()
    for serial in 4...9 {
      let event = try await attempts.run(request(target, serial: Serial(serial)))
      #expect(event.response?.body == Array("mine".utf8))
    }
    #expect(stray.requestsOnFirst.count == 3)
  }

  @Test("a connection whose other half has ended is not used again", arguments: [true, false])
  func ended(mayRepeat: Bool) async throws {
    let stray = try StrayUpstream(first: [Self.ok]) { $0.endOutput() }
    try await expectOwnAnswer(stray, .test(stray.upstream.url, mayRepeat: mayRepeat))
  }

  @Test("through a proxy that fetches the answer itself")
  func proxied() async throws {
    let stray = try StrayUpstream(first: [Self.ok]) { $0.send(StrayUpstream.evil) }
    try await expectOwnAnswer(
      stray, .test("http://api.invalid/base", proxy: stray.upstream.url))
  }

  @Test("over TLS", arguments: RawTLS.Version.allCases)
  func secure(version: RawTLS.Version) async throws {
    let tls = try RawTLS(version)
    let stray = try StrayUpstream(tls: tls, first: [Self.ok]) { $0.send(StrayUpstream.evil) }
    try await expectOwnAnswer(
      stray, .test(stray.upstream.secureURL, certificates: .file(path: tls.folder.certificate)))
  }

  @Test(
    "over TLS in one record with the end of the answer, where the kernel has none of it left",
    arguments: RawTLS.Version.allCases)
  func secureInOneRecord(version: RawTLS.Version) async throws {
    let tls = try RawTLS(version)
    let stray = try StrayUpstream(
      tls: tls,
      first: ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", "ok" + StrayUpstream.evil]
    ) { _ in }
    try await expectOwnAnswer(
      stray, .test(stray.upstream.secureURL, certificates: .file(path: tls.folder.certificate)))
  }

  @Test("through a proxy's tunnel", arguments: RawTLS.Version.allCases)
  func tunnelled(version: RawTLS.Version) async throws {
    let tls = try RawTLS(version)
    let stray = try StrayUpstream(tls: tls, isProxy: true, first: [Self.ok]) {
      $0.send(StrayUpstream.evil)
    }
    try await expectOwnAnswer(
      stray,
      .test(
        "https://127.0.0.1:9", proxy: stray.upstream.url,
        certificates: .file(path: tls.folder.certificate)))
  }

  @Test("what was not written on such a connection leaves no doubt if no other can be made")
  func noDoubt() async throws {
    let stray = try StrayUpstream(first: [Self.ok]) { $0.send(StrayUpstream.evil) }
    let attempts = try Attempts()
    let target = try UpstreamTarget.test(stray.upstream.url)
    _ = try await attempts.run(request(target, "GET", "/1"))
    await stray.sayMore()
    stray.upstream.stopListening()
    let ends = try await attempts.run([request(target, "POST", body: .inline([1]))])
    let report = try #require(ends.reports.first)
    #expect(report.event.failure == .connect && !report.isInDoubt, "\(report.event)")
  }

  // MARK: - What must stay as it is

  @Test(
    "an upstream that hands out session tickets keeps its connection",
    arguments: RawTLS.Version.allCases)
  func tickets(version: RawTLS.Version) async throws {
    let tls = try RawTLS(version)
    let upstream = try RawUpstream(tls: tls) { connection in
      while connection.readRequest() != nil { connection.send(StrayUpstream.mine) }
    }
    let target = try UpstreamTarget.test(
      upstream.secureURL, certificates: .file(path: tls.folder.certificate))
    let attempts = try Attempts()
    for serial in 1...5 {
      let event = try await attempts.run(request(target, serial: Serial(serial)))
      #expect(event.response?.status == 201, "\(event)")
    }
    #expect(upstream.acceptCount == 1)
    if version == .tls13 { #expect(tls.ticketCount > 0) }
  }

  @Test("a proxy's connections and tunnels are kept", arguments: [true, false])
  func keptThroughProxy(isTunnel: Bool) async throws {
    let tls = try RawTLS(.tls13)
    let proxy = try RawUpstream { connection in
      if isTunnel {
        guard connection.readHead() != nil else { return }
        connection.send("HTTP/1.1 200 Connected\r\n\r\n")
        connection.secure(with: tls)
      }
      while connection.readRequest() != nil { connection.send(StrayUpstream.mine) }
    }
    let target = try UpstreamTarget.test(
      isTunnel ? "https://127.0.0.1:9" : "http://api.invalid", proxy: proxy.url,
      certificates: .file(path: tls.folder.certificate))
    let attempts = try Attempts()
    for serial in 1...5 {
      let event = try await attempts.run(request(target, serial: Serial(serial)))
      #expect(event.response?.status == 201, "\(event)")
    }
    #expect(proxy.acceptCount == 1)
  }

  @Test("frames of HTTP/2 between two requests change nothing: both go on one connection")
  func http2() async throws {
    let tls = try RawTLS(.tls13, speaksHTTP2: true)
    let (answered, arrived) = (Gate(), Gate())
    let upstream = try RawUpstream(tls: tls) { connection in
      guard let conversation = HTTP2Conversation(connection) else { return }
      guard conversation.answerNext() else { return }
      answered.wait()
      conversation.ping()
      connection.waitUntilArrived()
      arrived.open()
      while conversation.answerNext() {}
    }
    let target = try UpstreamTarget.test(
      upstream.secureURL, certificates: .file(path: tls.folder.certificate))
    let attempts = try Attempts()
    #expect(try await attempts.run(request(target)).response?.status == 200)
    answered.open()
    await arrived.isOpen()
    #expect(try await attempts.run(request(target)).response?.status == 200)
    #expect(upstream.acceptCount == 1)
  }

  // MARK: - Without keeping connections

  @Test("where none is to be kept, each request has a connection of its own, and says so")
  func noneKept() async throws {
    let (upstream, seen) = try recorder()
    let target = try UpstreamTarget.test(upstream.url, reusesConnections: false)
    let attempts = try Attempts()
    for serial in 1...3 {
      let event = try await attempts.run(request(target, serial: Serial(serial)))
      #expect(event.response?.status == 200)
    }
    #expect(upstream.acceptCount == 3)
    #expect(seen.all.map { $0.values("connection") } == [["close"], ["close"], ["close"]])
  }

  @Test("where none is to be kept, HTTP/2 has one for each request as well")
  func noneKeptOfHTTP2() async throws {
    let tls = try RawTLS(.tls13, speaksHTTP2: true)
    let upstream = try RawUpstream(tls: tls) { connection in
      guard let conversation = HTTP2Conversation(connection) else { return }
      while conversation.answerNext() {}
    }
    let target = try UpstreamTarget.test(
      upstream.secureURL, reusesConnections: false,
      certificates: .file(path: tls.folder.certificate))
    let attempts = try Attempts()
    let requests = (1...3).map { request(target, serial: Serial($0)) }
    let ends = try await attempts.run(requests)
    #expect(ends.reports.allSatisfy { $0.event.response?.status == 200 })
    #expect(upstream.acceptCount == 3)
  }
}

@Suite("What a connection shows before a request is written on it")
struct ConnectionGlimpseTests {
  private typealias Arrival = ConnectionInspection.Arrival

  private func permit(
    used: Bool?, _ arrival: ConnectionInspection.Arrival, _ security: ConnectionInspection.Security,
    isNew: Bool = false
  ) -> WritePermit {
    ConnectionInspection(
      hasCarriedRequest: used, arrival: arrival, security: security, isNew: isNew
    ).permit
  }

  @Test("a kept one is used again only if nothing at all has come on it")
  func kept() {
    let secure = ConnectionInspection.Security.tls(holdsUnreadBytes: false)
    #expect(permit(used: true, .nothing, .none) == .granted)
    #expect(permit(used: true, .nothing, secure) == .granted)
    for arrival in [Arrival.bytes, .end] {
      #expect(permit(used: true, arrival, .none) == .elsewhere)
      #expect(permit(used: true, arrival, secure) == .elsewhere)
    }
    #expect(permit(used: true, .nothing, .tls(holdsUnreadBytes: true)) == .elsewhere)
    #expect(permit(used: true, .nothing, .opaque) == .elsewhere)
  }

  @Test("on a new one nobody may have spoken, but for the end of a handshake")
  func new() {
    for isNew in [true, false] {
      #expect(permit(used: false, .nothing, .none, isNew: isNew) == .granted)
      #expect(permit(used: false, .bytes, .none, isNew: isNew) == .refused(.peerSpokeFirst))
      #expect(permit(used: false, .end, .none, isNew: isNew) == .refused(.peerEnded))
      for security in [ConnectionInspection.Security.tls(holdsUnreadBytes: true), .opaque] {
        #expect(permit(used: false, .bytes, security, isNew: isNew) == .granted)
      }
    }
  }

  @Test("one that nobody knows is used only where a new one was asked for, so that it is none")
  func unknown() {
    #expect(permit(used: nil, .nothing, .none) == .elsewhere)
    #expect(permit(used: nil, .nothing, .none, isNew: true) == .granted)
    // Another connection with the same local port.
    #expect(permit(used: true, .bytes, .none, isNew: true) == .granted)
  }

  @Test("HTTP/2 says which request an answer is for, whatever has come")
  func http2() {
    for arrival in [Arrival.nothing, .bytes, .end] {
      #expect(permit(used: true, arrival, .http2) == .granted)
      #expect(permit(used: nil, arrival, .http2) == .granted)
    }
  }
}
