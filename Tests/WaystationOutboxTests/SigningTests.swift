import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

@Suite("Items that the device signs", .timeLimit(.minutes(5)))
struct SigningTests {
  @Test("each item comes with a statement that follows on the one before it")
  func chain() async throws {
    let stand = try await SigningStand.open()
    let ids = try await stand.enqueue(1...5)
    try await stand.untilDelivered(ids)
    #expect(try stand.signedNumbers() == 5)
    let third = try stand.statement("/3")
    #expect(third.sequence == 3 && third.former?.sequence == 2)
    #expect(third.voids.isEmpty && !third.isAnew)
    #expect(try stand.statement("/1").former == nil)
    try stand.expectOneStatementEach()
    await stand.outbox.close()
  }

  @Test("lanes without numbers, and those that are said not to be, go unsigned")
  func others() async throws {
    let stand = try await SigningStand.open { settings in
      settings.lanes["latest"] = LaneSettings()
      settings.lanes["latest"]?.order = .latest
      settings.lanes["free"] = LaneSettings()
      settings.lanes["free"]?.order = .none(parallel: 1)
      settings.lanes["plain"] = LaneSettings()
      settings.lanes["plain"]?.signed = false
    }
    var ids: [Item.ID] = []
    for lane: Lane in ["latest", "free", "plain", "signed"] {
      ids += try await stand.enqueue(1...1, lane: lane)
    }
    try await stand.untilDelivered(ids)
    #expect(
      stand.relay.delivered.filter { $0.signature != nil }.map(\.lane) == ["signed"])
    await stand.outbox.close()
  }

  @Test("a signer needs a verifier and a relay, and says so")
  func opening() async throws {
    let noVerifier = await #expect(throws: OutboxError.self) {
      _ = try await Stand { $0.signer = TestSigner() }
    }
    guard case .invalid(let words)? = noVerifier else { throw Unexpected() }
    #expect(words.contains("Settings.verifier"))
    let noRelay = await #expect(throws: OutboxError.self) {
      _ = try await Stand { settings in
        settings.signer = TestSigner()
        settings.verifier = TestReceiptVerifier()
        settings.destination = .direct(base: "http://upstream")
      }
    }
    guard case .invalid(let others)? = noRelay else { throw Unexpected() }
    #expect(others.contains("relay"))
  }

  struct Unexpected: Error {}

  @Test("the app cannot write the field itself")
  func field() async throws {
    let stand = try await SigningStand.open()
    await #expect(throws: EnqueueError.self) {
      try await stand.outbox.enqueue(
        Request("POST", "/", headers: [("item-signature", "mine")]))
    }
    await stand.outbox.close()
  }

  @Test(
    "a lane that was signed waits where its signer is missing, and others go",
    arguments: [true, false])
  func missing(verifies: Bool) async throws {
    let stand = try await SigningStand.open()
    try await stand.untilDelivered(try await stand.enqueue(1...1))
    stand.relay.cut()
    let signed = try await stand.enqueue(2...2)
    try await stand.untilSigned(1)
    await stand.outbox.close()
    stand.relay.mend()
    let plain = try await stand.reopened { settings in
      settings.signer = nil
      if !verifies { settings.verifier = nil }
    }
    let events = plain.outbox.events()
    try await plain.untilDelivered(signed)
    let ids = try await plain.enqueue(3...4)
    let failure = await events.first { event -> SignerFailure? in
      if case .signerFailing(let failure) = event { failure } else { nil }
    }
    #expect(failure?.reason.contains("LaneSettings.signed = false") == true)
    try await plain.untilDelivered(try await plain.enqueue(1...2, lane: "others"))
    let passedOver = await plain.outbox.run(within: .seconds(60)).skipped
    #expect(passedOver.map(\.1) == [.unsigned, .unsigned])
    #expect(plain.relay.requests.filter { $0.lane == "default" }.count == 2)
    let next = try await plain.reopened { settings in
      settings.signer = stand.signer
      settings.verifier = TestReceiptVerifier()
    }
    try await next.untilDelivered(ids)
    #expect(try next.signedNumbers() == 4)
    #expect(try !next.statement("/3").isAnew)
    await next.outbox.close()
  }

  @Test("a signer that is locked holds its own lanes back, and nothing goes unsigned")
  func locked() async throws {
    let stand = try await SigningStand.open { settings in
      settings.lanes["plain"] = LaneSettings()
      settings.lanes["plain"]?.signed = false
    }
    let events = stand.outbox.events()
    stand.signer.lock()
    let ids = try await stand.enqueue(1...3)
    let failure = await events.first { event -> SignerFailure? in
      if case .signerFailing(let failure) = event { failure } else { nil }
    }
    #expect(failure?.reason == "the keychain is locked")
    #expect(await stand.outbox.status()?.signerFailure != nil)
    let others = try await stand.enqueue(1...2, lane: "plain")
    try await stand.untilDelivered(others)
    #expect(stand.relay.delivered.allSatisfy { $0.lane == "plain" })
    let item = try #require(await stand.outbox.item(ids[0]))
    guard case .waiting = item.state else { throw Unexpected() }
    stand.signer.unlock()
    try await stand.untilDelivered(ids)
    #expect(try stand.signedNumbers() == 3)
    #expect(await stand.outbox.status()?.signerFailure == nil)
    await stand.outbox.close()
  }

  @Test("waking asks a signer at once that has failed, and a run says what was not signed")
  func woken() async throws {
    let stand = try await SigningStand.open {
      $0.sending.backoff = .seconds(1000) ... .seconds(2000)
    }
    stand.signer.lock()
    let ids = try await stand.enqueue(1...2)
    let report = await stand.outbox.run()
    #expect(report.skipped.map(\.0) == ids)
    #expect(report.skipped.allSatisfy { $0.1 == .unsigned })
    stand.signer.unlock()
    await stand.outbox.wake()
    try await stand.untilDelivered(ids)
    await stand.outbox.close()
  }

  @Test("what is no signature of a JWS is not sent")
  func form() async throws {
    let stand = try await SigningStand.open { $0.signer = ShortSigner() }
    let events = stand.outbox.events()
    try await stand.enqueue(1...1)
    let failure = await events.first { event -> SignerFailure? in
      if case .signerFailing(let failure) = event { failure } else { nil }
    }
    #expect(failure?.reason.contains("64") == true)
    #expect(stand.relay.requests.isEmpty)
    await stand.outbox.close()
  }

  @Test("a large body that is uploaded carries the field, in its place in the lane")
  func upload() async throws {
    let stand = try await SigningStand.open { $0.sending.uploadBytes = 100 }
    var ids = try await stand.enqueue(1...2)
    ids.append(
      try await stand.outbox.enqueue(
        Request("POST", "/large", .bytes(.zeros(70_000), type: "x/y"))))
    ids += try await stand.enqueue(3...4)
    try await stand.untilDelivered(ids)
    #expect(try stand.signedNumbers() == 5)
    #expect(try stand.statement("/large").sequence == 3)
    await stand.outbox.close()
  }

  @Test("an evidence lane is signed as well")
  func evidence() async throws {
    let stand = try await SigningStand.open {
      $0.lanes[.default, default: LaneSettings()].evidence = true
    }
    stand.relay.makesReceipts = true
    stand.relay.evidenceLanes = ["default"]
    let ids = try await stand.enqueue(1...3)
    try await stand.untilDelivered(ids)
    #expect(try stand.signedNumbers() == 3)
    let evidence = try #require(await stand.outbox.evidence(ids[1]))
    #expect(try stand.statement("/2").digest == evidence.digest)
    await stand.outbox.close()
  }
}

/// Makes signatures that are too short.
private struct ShortSigner: HeadSigner {
  var keyID: KeyID { "short" }
  var algorithm: SignatureAlgorithm { .p256 }
  func sign(_ message: [UInt8]) async throws -> [UInt8] { [1, 2, 3] }
}
