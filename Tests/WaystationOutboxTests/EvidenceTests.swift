import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

import enum RelayCore.Base64URL

@Suite("Ends that the relay has to sign", .timeLimit(.minutes(5)))
struct EvidenceTests {
  /// A lane of evidence, and a relay that keeps a ledger of it.
  private static func open(
    keepsLedgers: Bool = true, _ change: (inout Settings) -> Void = { _ in }
  ) async throws -> CustodyStand {
    let stand = try await CustodyStand.open(custody: .accepted) { settings in
      settings.lanes[.default]?.evidence = true
      change(&settings)
    }
    if keepsLedgers { stand.relay.evidenceLanes = ["default"] }
    return stand
  }

  private static func openWatched(
    _ change: (inout Settings) -> Void = { _ in }
  ) async throws -> (CustodyStand, Watched) {
    let watched = Watched()
    let stand = try await open { settings in
      watched.transport = settings.transport
      settings.transport = watched
      change(&settings)
    }
    return (stand, watched)
  }

  @Test("an item is over once its row of the ledger is verified, and its body stays until then")
  func proven() async throws {
    let stand = try await Self.open()
    let ids = try await stand.enqueue(1...3)
    _ = try await stand.receipt(of: 3)
    #expect(try await stand.bodies() == ids)
    stand.relay.isUpstreamAway = false
    #expect(try await stand.stand.ending(of: ids[2]).word == "delivered")
    let evidence = try #require(await stand.outbox.evidence(ids[1]))
    let ending = try #require(evidence.ending)
    #expect(evidence.sequence == 2 && evidence.lane == .default)
    #expect(ending.state == .delivered && ending.status == 200)
    #expect(evidence.receipts.first.map { $0.begin <= 2 && $0.last >= 2 } == true)
    #expect(ending.page.contains(Base64URL.encode(evidence.digest)))
    #expect(try await stand.bodies().isEmpty)
    #expect(await stand.outbox.status()?.lanes[.default]?.custodyFault == nil)
    await stand.outbox.close()
  }

  @Test("what is signed of an item does not go with a restart, nor the upstream's answer")
  func kept() async throws {
    let stand = try await Self.open()
    stand.relay.take("/1", body: "taken")
    stand.relay.isUpstreamAway = false
    let ids = try await stand.enqueue(1...1)
    #expect(try await stand.stand.ending(of: ids[0]).response?.body == Array("taken".utf8))
    let evidence = await stand.outbox.evidence(ids[0])
    let next = try await stand.reopened()
    #expect(await next.outbox.evidence(ids[0]) == evidence)
    #expect(await next.outbox.ledger(.default).count == 1)
    await next.outbox.close()
  }

  @Test("an end that is not signed yet is asked for again after a restart")
  func restarted() async throws {
    let stand = try await Self.open(keepsLedgers: false)
    stand.relay.take("/1", body: "taken")
    stand.relay.isUpstreamAway = false
    let ids = try await stand.enqueue(1...2)
    #expect(try await stand.fault() == .noLedger)
    #expect(try await stand.bodies() == ids)
    #expect(await stand.outbox.item(ids[0])?.isAtRelay == true)
    stand.relay.evidenceLanes = ["default"]
    let next = try await stand.reopened()
    #expect(try await next.stand.ending(of: ids[0]).response?.body == Array("taken".utf8))
    #expect(try await next.stand.ending(of: ids[1]).word == "delivered")
    #expect(await next.outbox.status()?.lanes[.default]?.custodyFault == nil)
    await next.outbox.close()
  }

  @Test("waking asks at once for what was not signed")
  func woken() async throws {
    let stand = try await Self.open(keepsLedgers: false)
    stand.relay.isUpstreamAway = false
    let ids = try await stand.enqueue(1...1)
    #expect(try await stand.fault() == .noLedger)
    #expect(await stand.outbox.status()?.lanes[.default]?.custodyFault == .noLedger)
    stand.relay.evidenceLanes = ["default"]
    await stand.outbox.wake()
    #expect(try await stand.stand.ending(of: ids[0]).word == "delivered")
    await stand.outbox.close()
  }

  @Test(
    "a ledger that lies is caught, and ends nothing that it lies about",
    arguments: LedgerLie.allCases)
  func lies(_ lie: LedgerLie) async throws {
    let stand = try await Self.open()
    stand.relay.ledgerLie = lie
    let ids = try await stand.enqueue(1...4)
    _ = try await stand.receipt(of: 4)
    stand.relay.isUpstreamAway = false
    let fault = try await stand.fault()
    #expect(lie.isCaught(by: fault), "\(fault)")
    await stand.untilAsked()
    #expect(try await stand.bodies().contains(ids[1]))
    #expect(await stand.outbox.status()?.lanes[.default]?.custodyFault == fault)
    stand.relay.ledgerLie = nil
    await stand.outbox.wake()
    for id in ids { #expect(try await stand.stand.ending(of: id).word == "delivered") }
    #expect(try await stand.bodies().isEmpty)
    await stand.outbox.close()
  }

  @Test("a row that lies keeps no other item from its end")
  func others() async throws {
    let stand = try await Self.open()
    stand.relay.ledgerLie = .changed
    let ids = try await stand.enqueue(1...4)
    stand.relay.isUpstreamAway = false
    #expect(try await stand.fault() == .ledgerDiffers(2))
    #expect(try await stand.stand.ending(of: ids[2]).word == "delivered")
    let later = try await stand.enqueue(5...5)
    #expect(try await stand.stand.ending(of: later[0]).word == "delivered")
    #expect(try await stand.bodies() == [ids[1], ids[3]])
    let evidence = try #require(await stand.outbox.evidence(ids[1]))
    // The page is there to show it.
    #expect(evidence.ending?.page.contains(Base64URL.encode(evidence.digest)) == false)
    await stand.outbox.close()
  }

  @Test("a relay that signs with one new key after the other is believed")
  func rotated() async throws {
    let (stand, rotation) = try await Self.openWatched()
    let ids = try await stand.enqueue(1...1)
    _ = try await stand.receipt(of: 1)
    rotation.afterKeys { [relay = stand.relay] in relay.rotateKeys() }
    stand.relay.rotateKeys()
    stand.relay.isUpstreamAway = false
    let next = await stand.events.first { event -> String? in
      switch event {
      case .custodyBroken(_, let fault): "\(fault)"
      case .ended(ids[0], let outcome): outcome.word
      default: nil
      }
    }
    #expect(next == "delivered")
    #expect(stand.relay.keys.count == 3)
    await stand.outbox.close()
  }

  @Test("what is to be signed is asked for again after a failure, though nothing else is asked for")
  func failed() async throws {
    let (stand, watched) = try await Self.openWatched { settings in
      settings.sending.checkInEvery = nil
      settings.sending.backoff = .milliseconds(5) ... .milliseconds(20)
    }
    watched.failNextLedger()
    stand.relay.isUpstreamAway = false
    let ids = try await stand.enqueue(1...1)
    let outcome = await stand.events.first { event -> String? in
      if case .ended(ids[0], let outcome) = event { outcome.word } else { nil }
    }
    #expect(outcome == "delivered" && watched.ledgerCount == 2)
    await stand.outbox.close()
  }

  @Test("a lane that kept no evidence for long does not fetch the ledger of that time")
  func gap() async throws {
    let (stand, watched) = try await Self.openWatched()
    stand.relay.isUpstreamAway = false
    let first = try await stand.enqueue(1...1)
    #expect(try await stand.stand.ending(of: first[0]).word == "delivered")
    let without = try await stand.reopened { $0.lanes[.default]?.evidence = false }
    let many = try await without.enqueue(2...1300)
    #expect(try await without.stand.ending(of: many[1298]).word == "delivered")
    let next = try await without.reopened { $0.lanes[.default]?.evidence = true }
    let before = watched.ledgerCount
    let last = try await next.enqueue(1301...1301)
    #expect(try await next.stand.ending(of: last[0]).word == "delivered")
    #expect(watched.ledgerCount == before + 1)
    #expect(await next.outbox.evidence(last[0])?.ending?.state == .delivered)
    await next.outbox.close()
  }

  @Test("what has ended and is not signed yet is neither cleared nor taken back")
  func cleared() async throws {
    let (stand, watched) = try await Self.openWatched {
      $0.sending.backoff = .seconds(300) ... .seconds(300)
    }
    watched.failNextLedger()
    stand.relay.isUpstreamAway = false
    let id = try await stand.enqueue(1...1)[0]
    _ = await stand.events.first { if case .unreachable = $0 { true } else { nil } }
    #expect(try await stand.outbox.clear() == 0)
    await #expect(throws: ChangeError.self) { try await stand.outbox.cancel(id) }
    await stand.outbox.wake()
    #expect(try await stand.stand.ending(of: id).word == "delivered")
    #expect(await stand.outbox.evidence(id)?.ending?.state == .delivered)
    await stand.outbox.close()
  }

  @Test("the same page is not kept again each time that it is asked for")
  func pages() async throws {
    let stand = try await Self.open()
    stand.relay.ledgerLie = .changed
    let ids = try await stand.enqueue(1...2)
    stand.relay.isUpstreamAway = false
    #expect(try await stand.fault() == .ledgerDiffers(2))
    #expect(try await stand.stand.ending(of: ids[0]).word == "delivered")
    let before = await stand.outbox.ledger(.default).count
    for _ in 0..<5 {
      await stand.outbox.wake()
      await stand.untilAsked()
    }
    #expect(await stand.outbox.ledger(.default).count == before)
    await stand.outbox.close()
  }

  @Test("what the relay itself refuses waits for somebody, since nobody has signed for that")
  func refusedByRelay() async throws {
    let stand = try await Self.open { $0.lanes[.default]?.onRefusal = .skip }
    let id = try await stand.outbox.enqueue(Request("POST", "/invalid"))
    #expect(try await stand.stand.ending(of: id).word == "refused")
    #expect(await stand.outbox.items(.needsAttention).map(\.id) == [id])
    await stand.outbox.close()
  }

  @Test("what was taken back while a number before it was missing is signed for once that has come")
  func parked() async throws {
    let stand = try await Self.open()
    try await stand.sendTogether()
    let ids = try await stand.outbox.enqueue([
      (Request("POST", "/invalid"), Options()), (CustodyStand.request(2), Options()),
      (CustodyStand.request(3), Options()),
    ])
    while await stand.outbox.item(ids[2])?.isAtRelay != true { await Task.yield() }
    try await stand.outbox.cancel(ids[1])
    await stand.untilAsked()
    #expect(await stand.outbox.item(ids[1])?.isAtRelay == true)
    stand.relay.isUpstreamAway = false
    try await stand.outbox.resolve(ids[0], .retry(Change(request: CustodyStand.request(1))))
    #expect(try await stand.stand.ending(of: ids[1]).word == "cancelled")
    #expect(await stand.outbox.evidence(ids[1])?.ending?.state == .cancelled)
    #expect(try await stand.stand.ending(of: ids[2]).word == "delivered")
    #expect(await stand.outbox.status()?.lanes[.default]?.custodyFault == nil)
    await stand.outbox.close()
  }

  @Test("an item whose number a restored device does not know is proven under the relay's")
  func restoredDevice() async throws {
    let first = try await Self.open { $0.startPaused = true }
    let ids = try await first.enqueue(1...1)
    await first.outbox.close()
    let folder = "\(first.stand.folder.path)/outbox"
    let path = OutboxFile.path(in: folder)
    _ = try Platform.copy(path, toNew: "\(folder)/backup")
    let second = try await first.reopened()
    second.relay.isUpstreamAway = false
    try await second.outbox.resume()
    #expect(try await second.stand.ending(of: ids[0]).word == "delivered")
    await second.outbox.close()
    try Platform.move("\(folder)/backup", to: path)
    Platform.remove("\(folder)/device/incarnation")
    let third = try await second.reopened()
    try await third.outbox.resume()
    #expect(try await third.stand.ending(of: ids[0]).word == "delivered")
    let evidence = try #require(await third.outbox.evidence(ids[0]))
    #expect(evidence.sequence == 1 && evidence.ending?.state == .delivered)
    #expect(third.relay.delivered.count == 1)
    await third.outbox.close()
  }

  @Test("what was refused ends with the upstream's words, once that is signed")
  func refused() async throws {
    let stand = try await Self.open { $0.lanes[.default]?.onRefusal = .skip }
    stand.relay.refuse("/2", status: 422, body: "no")
    stand.relay.isUpstreamAway = false
    let ids = try await stand.enqueue(1...3)
    let outcome = try await stand.stand.ending(of: ids[1])
    #expect(outcome.word == "refused")
    let evidence = try #require(await stand.outbox.evidence(ids[1]))
    #expect(evidence.ending?.state == .failed && evidence.ending?.status == 422)
    #expect(try await stand.stand.ending(of: ids[2]).word == "delivered")
    await stand.outbox.close()
  }

  @Test("an item whose end is not signed can be given up, and ends as it was told")
  func givenUp() async throws {
    let stand = try await Self.open(keepsLedgers: false)
    stand.relay.isUpstreamAway = false
    let ids = try await stand.enqueue(1...2)
    #expect(try await stand.fault() == .noLedger)
    try await stand.outbox.cancel(ids[0])
    #expect(try await stand.stand.ending(of: ids[0]).word == "delivered")
    #expect(try await stand.bodies() == [ids[1]])
    #expect(await stand.outbox.evidence(ids[0]) == nil)
    await stand.outbox.close()
  }

  @Test("a lane that keeps evidence no more ends what waited for a signature")
  func released() async throws {
    let stand = try await Self.open(keepsLedgers: false)
    stand.relay.isUpstreamAway = false
    let ids = try await stand.enqueue(1...2)
    #expect(try await stand.fault() == .noLedger)
    let next = try await stand.reopened { $0.lanes[.default]?.evidence = false }
    for id in ids { #expect(try await next.stand.ending(of: id).word == "delivered") }
    #expect(try await next.bodies().isEmpty)
    await next.outbox.close()
  }

  @Test("a relay that was put back to a backup is given what it has not signed for")
  func putBack() async throws {
    let stand = try await Self.open()
    try await stand.enqueue(1...1)
    _ = try await stand.receipt(of: 1)
    let backup = stand.relay.backup()
    let ids = try await stand.enqueue(2...3)
    _ = try await stand.receipt(of: 3)
    stand.relay.restore(backup)
    stand.relay.isUpstreamAway = false
    for id in ids { #expect(try await stand.stand.ending(of: id).word == "delivered") }
    #expect(await stand.outbox.evidence(ids[1])?.ending?.state == .delivered)
    await stand.outbox.close()
  }

  @Test("what was salvaged of a damaged database waits for its signatures, and keeps those it has")
  func salvaged() async throws {
    let stand = try await Self.open()
    stand.relay.isUpstreamAway = false
    let first = try await stand.enqueue(1...1)
    #expect(try await stand.stand.ending(of: first[0]).word == "delivered")
    let evidence = await stand.outbox.evidence(first[0])
    stand.relay.evidenceLanes = []
    let second = try await stand.enqueue(2...2)
    #expect(try await stand.fault() == .noLedger)
    await stand.outbox.close()
    try Platform.write([], toNew: OutboxFile.mark(in: "\(stand.stand.folder.path)/outbox"))
    let next = try await stand.reopened()
    #expect(await next.outbox.evidence(first[0])?.ending == evidence?.ending)
    stand.relay.evidenceLanes = ["default"]
    await next.outbox.wake()
    #expect(try await next.stand.ending(of: second[0]).word == "delivered")
    await next.outbox.close()
  }

  @Test("pages go with the endings that they speak of")
  func forgotten() async throws {
    let stand = try await Self.open { $0.limits.endings = 2 }
    stand.relay.isUpstreamAway = false
    for number in 1...5 {
      let ids = try await stand.enqueue(number...number)
      #expect(try await stand.stand.ending(of: ids[0]).word == "delivered")
    }
    #expect(await stand.outbox.ledger(.default).count == 2)
    await stand.outbox.close()
  }

  @Test("evidence without a verifier, or without strict order, is refused")
  func impossible() async throws {
    await #expect(throws: OutboxError.self) {
      _ = try await Self.open { $0.verifier = nil }
    }
    await #expect(throws: OutboxError.self) {
      _ = try await Self.open { $0.lanes[.default]?.order = .latest }
    }
  }
}

extension Outcome {
  /// The upstream's answer; nil if there is none.
  fileprivate var response: Response? {
    if case .delivered(let response) = self { response } else { nil }
  }
}

extension LedgerLie {
  /// Whether a fault tells of it.
  fileprivate func isCaught(by fault: CustodyFault) -> Bool {
    switch (self, fault) {
    case (.leftOut, .notInLedger(2)), (.changed, .ledgerDiffers(2)), (.otherRows, .badPath),
      (.badSignature, .badSignature), (.unknownKey, .unknownKey), (.otherLane, .unreadable):
      true
    default: false
    }
  }
}
