import Forwarder
import Foundation
import RelayCore
import Testing

@Suite("Signed requests", .timeLimit(.minutes(5)))
struct SigningTests {
  /// A key of the specification's own examples.
  private static let key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
  private static let newKey =
    "whsec_" + Data((0..<32).map { UInt8($0) }).base64EncodedString()

  @Test("the signature of the specification's example")
  func vector() throws {
    let key = try #require(WebhookSigning.key(Self.key))
    let signature = WebhookSigning(key).signature(
      of: Array(#"{"test": 2432232314}"#.utf8), id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
      timestamp: 1_614_265_330)
    #expect(
      String(decoding: signature, as: UTF8.self)
        == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
  }

  @Test(
    "a key is 24 to 64 bytes in base64",
    arguments: [
      ("whsec_", false), ("whsec_!", false), (key, true), (bareKey, true), (secret(23), false),
      (secret(64), true), (secret(65), false), ("whpk_\(bareKey)", false),
    ] as [(String, Bool)])
  func keys(text: String, isKey: Bool) {
    #expect((WebhookSigning.key(text) != nil) == isKey)
  }

  /// The key without what says that it is one.
  private static let bareKey = String(key.dropFirst(6))

  /// A key of so many zero bytes.
  private static func secret(_ count: Int) -> String {
    "whsec_\(Data(count: count).base64EncodedString())"
  }

  @Test(
    "what is signed is what is sent, in memory or from a file, with one key or two",
    arguments: [0, 1, 1000, 700_000], [false, true])
  func whole(count: Int, isFile: Bool) async throws {
    let (upstream, seen) = try recorder()
    let target = try target(upstream, [Self.key, Self.newKey])
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
    let file = try TemporaryFile(bytes)
    let body: EnvelopeBody = isFile ? .file(file.stored) : .inline(bytes)
    let event = try await Attempts().run(request(target, "POST", body: body))
    #expect(event.response?.status == 200)
    let sent = try #require(seen.all.first)
    #expect(sent.body == bytes)
    #expect(sent.values("webhook-id") == ["\(exampleID)"])
    let timestamp = try #require(sent.values("webhook-timestamp").first.flatMap { Int64($0) })
    #expect(abs(Double(timestamp) - Date().timeIntervalSince1970) < 60)
    let expected = try [Self.key, Self.newKey].map { key in
      let signature = WebhookSigning(try #require(WebhookSigning.key(key))).signature(
        of: sent.body, id: "\(exampleID)", timestamp: timestamp)
      return String(decoding: signature, as: UTF8.self)
    }
    #expect(sent.values("webhook-signature") == [expected.joined(separator: " ")])
  }

  @Test("no field of the sender's can stand in for the relay's signature")
  func ownFields() async throws {
    let (upstream, seen) = try recorder()
    let forged = [
      ("webhook-id", "1"), ("Webhook-Signature", "v1,x"), ("WEBHOOK-TIMESTAMP", "1"),
      ("webhook_signature", "v1,y"), ("Webhook_Id", "2"), ("webhook-other", "3"),
    ]
    _ = try await Attempts().run(
      request(try target(upstream, [Self.key]), "POST", headers: forged + [("X-Stays", "1")]))
    let sent = try #require(seen.all.first)
    #expect(sent.values("x-stays") == ["1"])
    #expect(sent.values("webhook-id") == ["\(exampleID)"])
    #expect(sent.text.lowercased().components(separatedBy: "webhook").count == 4)
  }

  @Test("an upstream that signs nothing gets the sender's webhook fields as they are")
  func unsigned() async throws {
    let (upstream, seen) = try recorder()
    _ = try await Attempts().run(
      request(.test(upstream.url), headers: [("webhook-id", "1"), ("webhook-signature", "v1,x")]))
    #expect(seen.all.first?.values("webhook-signature") == ["v1,x"])
  }

  @Test("the id is the envelope's at every attempt; a newer content and a question have their own")
  func ids() async throws {
    let (upstream, seen) = try recorder()
    let target = try target(upstream, [Self.key])
    var attempt = request(target, "POST", body: .inline([1]))
    let attempts = try Attempts()
    for number in 3...4 as ClosedRange<Int32> {
      attempt.attempt = number
      _ = try await attempts.run(attempt)
    }
    attempt.idempotencyKey = "\(exampleID).2"
    _ = try await attempts.run(attempt)
    attempt.isVerification = true
    _ = try await attempts.run(attempt)
    #expect(
      seen.all.flatMap { $0.values("webhook-id") } == [
        "\(exampleID)", "\(exampleID)", "\(exampleID)_2", "verify_\(exampleID)",
      ])
  }

  @Test("while a large body is gone through, others are sent, and it can be called off")
  func largeBody() async throws {
    let (upstream, seen) = try recorder()
    let target = try target(upstream, [Self.key])
    // Mostly a hole, which takes seconds to go through and no room.
    let file = try TemporaryFile([], byteCount: 1 << 34)
    let attempts = try Attempts()
    attempts.forwarder.submit([
      request(target, "PUT", "/large", body: .file(file.stored), serial: 1),
      request(target, "GET", "/small", serial: 2),
    ])
    let first = try await attempts.ends(of: 1)
    #expect(first.reports.map(\.serial) == [2])
    attempts.forwarder.cancel([1])
    let second = try await attempts.ends(of: 1)
    #expect(second.withdrawn == [1] || second.reports.map(\.event.failure) == [.brokenOff])
    #expect(seen.all.map(\.line) == ["GET /small HTTP/1.1"])
  }

  @Test("a file that shrinks while it is gone through is trouble of the relay's own")
  func shrunk() async throws {
    let (upstream, seen) = try recorder()
    let file = try TemporaryFile([1, 2, 3])
    let gone = StoredBodyFile(path: file.stored.path, byteCount: 4)
    let event = try await Attempts().run(
      request(try target(upstream, [Self.key]), "PUT", body: .file(gone)))
    #expect(event.failure == .local)
    #expect(seen.all.isEmpty)
  }

  private func target(_ upstream: RawUpstream, _ keys: [String]) throws -> UpstreamTarget {
    let keys = try keys.map { try #require(WebhookSigning.key($0)) }
    return try UpstreamTarget(
      name: "default", url: UpstreamURL(upstream.url), attemptTimeoutMs: 20_000,
      signing: WebhookSigning(keys[0], keys.count > 1 ? keys[1] : nil))
  }
}
