import Forwarder
import Glibc
import RelayCore
import Testing

@Suite("Upstreams that speak HTTP/2", .timeLimit(.minutes(5)))
struct HTTP2Tests {
  private let tls: RawTLS

  init() throws { tls = try RawTLS(.tls13, speaksHTTP2: true) }

  private func target(
    _ upstream: RawUpstream, attemptTimeoutMs: Int? = 20_000, idleTimeoutMs: Int? = nil,
    mayRepeat: Bool = true, offersHTTP2: Bool = true
  ) throws -> UpstreamTarget {
    try .test(
      upstream.secureURL, attemptTimeoutMs: attemptTimeoutMs, idleTimeoutMs: idleTimeoutMs,
      mayRepeat: mayRepeat, offersHTTP2: offersHTTP2,
      certificates: .file(path: tls.folder.certificate))
  }

  // MARK: - A connection that the upstream ends

  /// Takes one request a connection over HTTP/2, and tells the next that it was not looked at; over
  /// HTTP/1.1 it takes all.
  private func busyUpstream(_ versions: Log<String>) throws -> RawUpstream {
    try RawUpstream(tls: tls) { connection in
      guard connection.speaksHTTP2 else {
        while connection.readRequest() != nil {
          versions.add("HTTP/1.1")
          connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        return
      }
      guard let conversation = HTTP2Conversation(connection),
        let first = conversation.nextRequest()
      else { return }
      versions.add("HTTP/2")
      conversation.answer(first)
      guard conversation.nextRequest() != nil else { return }
      conversation.goAway(last: first)
      connection.waitForEnd()
    }
  }

  @Test(
    "where a request must not be sent twice HTTP/1.1 is spoken, and an ended connection harms none")
  func unrepeated() async throws {
    let versions = Log<String>()
    let upstream = try busyUpstream(versions)
    let target = try target(upstream, mayRepeat: false)
    let attempts = try Attempts()
    for _ in 1...3 {
      let event = try await attempts.run(request(target, "POST", body: .inline([1])))
      #expect(event.response?.status == 200, "\(event)")
    }
    #expect(versions.all == ["HTTP/1.1", "HTTP/1.1", "HTTP/1.1"])
  }

  @Test("such a request does not go on a kept connection that speaks HTTP/2 either")
  func unrepeatedBesideAnother() async throws {
    let versions = Log<String>()
    let upstream = try busyUpstream(versions)
    let attempts = try Attempts()
    for mayRepeat in [true, false] {
      let event = try await attempts.run(request(target(upstream, mayRepeat: mayRepeat)))
      #expect(event.response?.status == 200, "\(event)")
    }
    #expect(versions.all == ["HTTP/2", "HTTP/1.1"])
  }

  @Test("an upstream that is configured without it is spoken to by HTTP/1.1")
  func switchedOff() async throws {
    let versions = Log<String>()
    let upstream = try busyUpstream(versions)
    let attempts = try Attempts()
    let event = try await attempts.run(request(target(upstream, offersHTTP2: false)))
    #expect(event.response?.status == 200 && versions.all == ["HTTP/1.1"], "\(event)")
  }

  // MARK: - A connection on which nothing comes any more

  @Test(
    "a connection on which nothing came until time ran out is used no more",
    arguments: [(300, nil), (nil, 300)] as [(Int?, Int?)])
  func deadConnection(attemptTimeoutMs: Int?, idleTimeoutMs: Int?) async throws {
    let connections = Log<Int>()
    let upstream = try RawUpstream(tls: tls) { connection in
      connections.add(1)
      let isFirst = connections.all.count == 1
      guard let conversation = HTTP2Conversation(connection), conversation.answerNext() else {
        return
      }
      if isFirst { return connection.waitForEnd() }
      while conversation.answerNext() {}
    }
    let patient = try target(upstream)
    let impatient = try target(
      upstream, attemptTimeoutMs: attemptTimeoutMs, idleTimeoutMs: idleTimeoutMs)
    let attempts = try Attempts()
    #expect(try await attempts.run(request(patient)).response?.status == 200)
    #expect(try await attempts.run(request(impatient)).failure == .timeout)
    #expect(upstream.acceptCount == 1)
    let event = try await attempts.run(request(patient))
    #expect(event.response?.status == 200, "\(event)")
    #expect(upstream.acceptCount == 2)
  }

  @Test("one on which anything came meanwhile is kept, though a request on it had no answer")
  func livingConnection() async throws {
    let upstream = try RawUpstream(tls: tls) { connection in
      guard let conversation = HTTP2Conversation(connection), conversation.answerNext(),
        conversation.nextRequest() != nil
      else { return }
      repeat {
        conversation.ping()
        guard let frame = conversation.readFrame() else { return }
        if frame.type == HTTP2Conversation.FrameType.resetStream { break }
      } while true
      while conversation.answerNext() {}
    }
    let patient = try target(upstream)
    let attempts = try Attempts()
    #expect(try await attempts.run(request(patient)).response?.status == 200)
    let impatient = try target(upstream, attemptTimeoutMs: 300)
    #expect(try await attempts.run(request(impatient)).failure == .timeout)
    #expect(try await attempts.run(request(patient)).response?.status == 200)
    #expect(upstream.acceptCount == 1)
  }

  @Test("an upstream that is configured anew gets connections of its own")
  func retired() async throws {
    let upstream = try RawUpstream(tls: tls) { connection in
      guard let conversation = HTTP2Conversation(connection) else { return }
      while conversation.answerNext() {}
    }
    let (old, new) = (try target(upstream), try target(upstream))
    let attempts = try Attempts([old])
    #expect(try await attempts.run(request(old)).response?.status == 200)
    attempts.forwarder.configure(targets: [new], retired: [old])
    #expect(try await attempts.run(request(new)).response?.status == 200)
    #expect(try await attempts.run(request(new)).response?.status == 200)
    #expect(upstream.acceptCount == 2)
  }

  // MARK: - Answers that break off

  /// How an answer ends before it is whole.
  enum Ending: CaseIterable {
    case closed
    case connectionError
    case goAway
    case streamReset
  }

  @Test(
    "an answer that breaks off is none, and leaves it open whether the request was taken",
    arguments: Ending.allCases, [[], [1]] as [[UInt8]])
  func cutAnswer(ending: Ending, body: [UInt8]) async throws {
    let upstream = try RawUpstream(tls: tls) { connection in
      guard let conversation = HTTP2Conversation(connection),
        let stream = conversation.nextRequest()
      else { return }
      conversation.answerInPart(stream)
      switch ending {
      case .closed: return
      // One byte too many (RFC 9113 section 6.9): the client has to end the connection.
      case .connectionError:
        conversation.send(HTTP2Conversation.FrameType.windowUpdate, [0, 0, 0, 1, 0])
      case .goAway: return conversation.goAway(last: stream)
      // INTERNAL_ERROR.
      case .streamReset:
        conversation.send(HTTP2Conversation.FrameType.resetStream, stream: stream, [0, 0, 0, 2])
      }
      connection.waitForEnd()
    }
    let ends = try await Attempts().run([
      request(target(upstream), "POST", body: .inline(body))
    ])
    let report = try #require(ends.reports.first)
    #expect(report.event.failure != nil && report.isInDoubt, "\(report.event)")
  }

  @Test(
    "nor is it one if the connection is reset, so that what the answer asks for cannot be sent",
    arguments: [[], [1]] as [[UInt8]])
  func resetAnswer(body: [UInt8]) async throws {
    let (arrived, isHeld, hasReset) = (Gate(), Gate(), Gate())
    let upstream = try RawUpstream(tls: tls) { connection in
      guard let conversation = HTTP2Conversation(connection),
        let stream = conversation.nextRequest()
      else { return }
      arrived.open()
      isHeld.wait()
      conversation.answerInPart(stream)
      conversation.ping()
      connection.waitUntilArrived()
      connection.reset()
      hasReset.open()
    }
    let attempts = try Attempts()
    attempts.forwarder.submit([request(try target(upstream), "POST", body: .inline(body))])
    await arrived.isOpen()
    // Nothing is read before the connection has been reset.
    attempts.forwarder.perform {
      isHeld.open()
      hasReset.wait()
    }
    let report = try #require(try await attempts.ends(of: 1).reports.first)
    #expect(report.event.failure != nil && report.isInDoubt, "\(report.event)")
  }

  // MARK: - Uploads without a window

  @Test("an upload that the upstream holds up costs hardly any processor time")
  func heldUpload() async throws {
    let arrived = Gate()
    let upstream = try RawUpstream(tls: tls) { connection in
      guard let conversation = HTTP2Conversation(connection, isClosed: true),
        conversation.nextHead() != nil
      else { return }
      arrived.open()
      while conversation.readFrame() != nil {}
    }
    let silent = try RawUpstream { $0.waitForEnd() }
    let attempts = try Attempts()
    let body = [UInt8](repeating: 1, count: 200_000)
    attempts.forwarder.submit([
      request(try target(upstream), "POST", body: .inline(body), serial: 1)
    ])
    await arrived.isOpen()
    let before = await processorTimeMs(attempts)
    // Ends when its time is over: until then the upload is held.
    let other = try UpstreamTarget.test(silent.url, attemptTimeoutMs: 1000)
    #expect(try await attempts.run(request(other, serial: 2)).failure == .timeout)
    #expect(await processorTimeMs(attempts) - before < 200)
    attempts.forwarder.cancelAll()
    #expect(try await attempts.ends(of: 1).reports.first?.event.isBrokenOff == true)
  }

  /// How much of the processor's time the forwarder's thread has had, in milliseconds.
  private func processorTimeMs(_ attempts: Attempts) async -> Int {
    await withCheckedContinuation { continuation in
      attempts.forwarder.perform {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        continuation.resume(returning: time.tv_sec * 1000 + time.tv_nsec / 1_000_000)
      }
    }
  }
}

@Suite("What a request that took too long says of its connection")
struct BeginningTests {
  /// The attempt began at 0 ms.
  private func silenceMs(begunMs: Int64, endedMs: Int64, idleTimeoutMs: Int? = nil) -> Int64? {
    let start = MonotonicTime(nanoseconds: 0)
    return RequestStart(localPort: 1, at: start.adding(milliseconds: begunMs))
      .silenceThatProvesDeathMs(
        attemptBegan: start, idleTimeoutMs: idleTimeoutMs,
        at: start.adding(milliseconds: endedMs))
  }

  @Test("that it is dead, if nothing has come since the request was begun")
  func attemptTimeout() {
    #expect(silenceMs(begunMs: 0, endedMs: 1000) == 1000)
    #expect(silenceMs(begunMs: 400, endedMs: 1000) == 600)
  }

  @Test("nothing, if it had waited for the connection most of its time")
  func lateBeginning() {
    #expect(silenceMs(begunMs: 990, endedMs: 1000) == nil)
  }

  @Test("that it is dead, if nothing has come for the idle timeout")
  func idleTimeout() {
    #expect(silenceMs(begunMs: 0, endedMs: 5000, idleTimeoutMs: 300) == 300)
    #expect(silenceMs(begunMs: 900, endedMs: 1000, idleTimeoutMs: 300) == nil)
  }
}
