import Forwarder
import RelayCore
import Synchronization
import Testing

@Suite("Bodies that are no files on this machine", .timeLimit(.minutes(5)))
struct RemoteBodyTests {
  /// A store elsewhere, which hands out the parts of one body once the test lets it.
  private final class Elsewhere: Sendable {
    private struct Gate {
      /// How many parts may go; nil for all.
      var passes: Int?
      var held: [@Sendable () -> Void] = []
    }

    let bytes: [UInt8]
    /// The offsets that were asked for.
    let asked = Log<Int64>()
    private let askings: AsyncStream<Void>
    private let noteAsking: AsyncStream<Void>.Continuation
    private let gate: Mutex<Gate>

    /// - Parameter isHeld: Whether each part waits for ``letGo(_:)``.
    init(count: Int, isHeld: Bool = false) {
      bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
      gate = Mutex(Gate(passes: isHeld ? 0 : nil))
      (askings, noteAsking) = AsyncStream.makeStream(of: Void.self)
    }

    var body: EnvelopeBody {
      .file(StoredBodyFile(path: "/nowhere/at/all", byteCount: Int64(bytes.count)))
    }

    /// How the forwarder reads it.
    var reading: BodyReading {
      { [self] _, offset, countMax, take in
        asked.add(offset)
        let part = Array(bytes[Int(offset)..<min(bytes.count, Int(offset) + countMax)])
        gate.withLock { $0.held.append { take(.success(part)) } }
        noteAsking.yield()
        handOut()
      }
    }

    /// Hands out so many parts that are held, or asked for later.
    func letGo(_ count: Int) {
      gate.withLock { $0.passes = ($0.passes ?? 0) + count }
      handOut()
    }

    private func handOut() {
      let going = gate.withLock { gate in
        let count = min(gate.passes ?? .max, gate.held.count)
        gate.passes = gate.passes.map { $0 - count }
        defer { gate.held.removeFirst(count) }
        return Array(gate.held.prefix(count))
      }
      for part in going { part() }
    }

    /// Waits until a part is asked for that was not waited for.
    func isAsked() async {
      for await _ in askings { return }
    }
  }

  private static let piece = Int(BodyWindow.pieceBytes)

  /// An upstream whose requests are signed.
  private func signingTarget(_ upstream: RawUpstream) throws -> UpstreamTarget {
    let key = try #require(WebhookSigning.key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
    return try UpstreamTarget(
      name: "default", url: UpstreamURL(upstream.url), attemptTimeoutMs: 20_000,
      signing: WebhookSigning(key))
  }

  @Test(
    "they are read while they are sent, piece by piece, and arrive as they are",
    arguments: [1, piece, 2 * piece + 1, 3_000_000])
  func whole(count: Int) async throws {
    let elsewhere = Elsewhere(count: count)
    let (upstream, seen) = try recorder()
    let event = try await Attempts(bodies: elsewhere.reading).run(
      try request(.test(upstream.url), "POST", body: elsewhere.body))
    #expect(event.response?.status == 200, "\(event)")
    #expect(try #require(seen.all.first).body == elsewhere.bytes)
    #expect(elsewhere.asked.all == stride(from: 0, to: Int64(count), by: Self.piece).map { $0 })
  }

  @Test("an attempt waits for the next piece of its own, and no other one waits with it")
  func waiting() async throws {
    let elsewhere = Elsewhere(count: 3 * Self.piece, isHeld: true)
    let (upstream, seen) = try recorder()
    let attempts = try Attempts(bodies: elsewhere.reading)
    let target = try UpstreamTarget.test(upstream.url)
    attempts.forwarder.submit([request(target, "POST", body: elsewhere.body, serial: 1)])
    await elsewhere.isAsked()
    for serial in Serial(2)...4 {
      let event = try await attempts.run(
        request(target, "POST", body: .inline([1]), serial: serial))
      #expect(event.response?.status == 200)
    }
    elsewhere.letGo(1)
    await elsewhere.isAsked()
    #expect(seen.all.count == 3)
    elsewhere.letGo(2)
    let event = try #require(try await attempts.ends(of: 1).reports.first).event
    #expect(event.response?.status == 200)
    #expect(seen.all.last?.body == elsewhere.bytes)
  }

  @Test("over HTTP/2 as well")
  func multiplexed() async throws {
    let elsewhere = Elsewhere(count: 60_000, isHeld: true)
    let tls = try RawTLS(.tls13, speaksHTTP2: true)
    let upstream = try RawUpstream(tls: tls) { connection in
      guard let conversation = HTTP2Conversation(connection) else { return }
      while let stream = conversation.nextRequest() { conversation.answer(stream) }
    }
    let target = try UpstreamTarget.test(
      upstream.secureURL, offersHTTP2: true, certificates: .file(path: tls.folder.certificate))
    let attempts = try Attempts(bodies: elsewhere.reading)
    attempts.forwarder.submit([request(target, "POST", body: elsewhere.body)])
    await elsewhere.isAsked()
    let other = try await attempts.run(request(target, "POST", body: .inline([1]), serial: 2))
    #expect(other.response?.status == 200)
    elsewhere.letGo(1)
    let event = try #require(try await attempts.ends(of: 1).reports.first).event
    #expect(event.response?.status == 200)
  }

  @Test("they are signed before they are sent, and others are signed meanwhile")
  func signed() async throws {
    let elsewhere = Elsewhere(count: Self.piece + 1, isHeld: true)
    let (upstream, seen) = try recorder()
    let target = try signingTarget(upstream)
    let signing = try #require(target.signing)
    let attempts = try Attempts(bodies: elsewhere.reading)
    attempts.forwarder.submit([request(target, "POST", body: elsewhere.body)])
    await elsewhere.isAsked()
    let small = request(target, "POST", body: .inline([1]), serial: 2)
    #expect(try await attempts.run(small).response?.status == 200)
    // To be signed, and to be sent: each needs both pieces.
    elsewhere.letGo(4)
    let event = try #require(try await attempts.ends(of: 1).reports.first).event
    #expect(event.response?.status == 200, "\(event)")
    let sent = try #require(seen.all.last)
    #expect(sent.body == elsewhere.bytes)
    let timestamp = try #require(sent.values("webhook-timestamp").first.flatMap { Int64($0) })
    let signature = signing.signature(
      of: elsewhere.bytes, id: "\(exampleID)", timestamp: timestamp)
    #expect(sent.values("webhook-signature") == [String(decoding: signature, as: UTF8.self)])
  }

  @Test("one that cannot be read ends its attempt, and says why", arguments: [false, true])
  func unreadable(isSigned: Bool) async throws {
    let (upstream, seen) = try recorder()
    let attempts = try Attempts { _, _, _, take in
      let error = StoreError(
        kind: .other, operation: "read", subject: "a body", detail: "nobody is there")
      take(.failure(error))
    }
    let target = isSigned ? try signingTarget(upstream) : try .test(upstream.url)
    let event = try await attempts.run(
      request(target, "POST", body: Elsewhere(count: 100).body))
    #expect(event.failure == .local && event.detail.contains("nobody is there"), "\(event)")
    #expect(seen.all.isEmpty)
  }

  @Test("one that has become shorter ends its attempt")
  func shorter() async throws {
    let (upstream, _) = try recorder()
    let attempts = try Attempts { _, _, _, take in take(.success([1])) }
    let event = try await attempts.run(
      try request(.test(upstream.url), "POST", body: Elsewhere(count: 100).body))
    #expect(event.failure == .local && event.detail.contains("missing"), "\(event)")
  }

  @Test("an attempt that waits for a piece can be called off, and begun again")
  func calledOff() async throws {
    let elsewhere = Elsewhere(count: 2 * Self.piece, isHeld: true)
    let (upstream, seen) = try recorder()
    let attempts = try Attempts(bodies: elsewhere.reading)
    let target = try UpstreamTarget.test(upstream.url)
    attempts.forwarder.submit([request(target, "POST", body: elsewhere.body)])
    await elsewhere.isAsked()
    attempts.forwarder.cancel([1])
    let end = try #require(try await attempts.ends(of: 1).reports.first).event
    #expect(end.isBrokenOff)
    attempts.forwarder.submit([request(target, "POST", body: elsewhere.body)])
    await elsewhere.isAsked()
    // The one of the first attempt comes late.
    elsewhere.letGo(3)
    let event = try #require(try await attempts.ends(of: 1).reports.first).event
    #expect(event.response?.status == 200, "\(event)")
    #expect(seen.all.last?.body == elsewhere.bytes)
  }
}
