import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

@Suite("A relay that signs for something else than it was given", .timeLimit(.minutes(5)))
struct LyingRelayTests {
  @Test("is caught each time, and no body is let go of", arguments: RelayLie.allCases)
  func caught(_ lie: RelayLie) async throws {
    let stand = try await CustodyStand.open()
    try await stand.enqueue(1...2)
    _ = try await stand.receipt(of: 2)
    stand.relay.lie = lie
    // Another history of a commit shows once the device has asked for that commit again. Behind the
    // next one it would not be told any more.
    let early = lie == .forked ? try await stand.fault() : nil
    let ids = try await stand.enqueue(3...6)
    let fault = if let early { early } else { try await stand.fault() }
    #expect(lie.isCaught(by: fault), "\(fault)")
    await stand.untilAccepted()
    await stand.untilAsked()
    #expect(try await stand.bodies() == ids)
    #expect(await stand.outbox.status()?.lanes[.default]?.custodyFault != nil)
    stand.relay.lie = nil
    stand.relay.isUpstreamAway = false
    #expect(try await stand.stand.ending(of: ids[3]).word == "delivered")
    await stand.outbox.close()
  }

  @Test(
    "is caught with its first receipt",
    arguments: [RelayLie.dropped, .passedBy, .swapped, .changed])
  func first(_ lie: RelayLie) async throws {
    let stand = try await CustodyStand.open()
    stand.relay.lie = lie
    try await stand.sendTogether()
    let ids = try await stand.enqueue(1...3)
    #expect(lie.isCaught(by: try await stand.fault()))
    await stand.untilAccepted()
    #expect(try await stand.bodies() == ids)
    await stand.outbox.close()
  }

  @Test("that mends its ways is believed again, of what comes from then on")
  func mended() async throws {
    let stand = try await CustodyStand.open()
    stand.relay.lie = .changed
    let ids = try await stand.enqueue(1...1)
    _ = try await stand.fault()
    await stand.untilAccepted()
    stand.relay.lie = nil
    try await stand.enqueue(2...4)
    let receipt = try await stand.receipt(of: 4)
    #expect(receipt.checkedFrom == 2)
    #expect(try await stand.bodies() == ids)
    // The one that told of something else is kept: it proves that.
    #expect(await stand.outbox.receipts(.default).map(\.last) == [4, 1])
    await stand.outbox.close()
  }

  @Test("pushes no receipt out that is all that is left of a body")
  func kept() async throws {
    let stand = try await CustodyStand.open()
    let ids = try await stand.enqueue(1...2)
    _ = try await stand.receipt(of: 2)
    stand.relay.lie = .changed
    let more = Int(CoreLimits.receiptsPerLaneMax) + 2
    for number in 3..<3 + more {
      try await stand.enqueue(number...number)
      _ = try await stand.fault()
    }
    #expect(try await stand.bodies().contains(ids[0]) == false)
    let kept = await stand.outbox.receipts(.default).filter { $0.checkedFrom <= $0.last }
    #expect(kept.map(\.last) == [2])
    // What has ended needs none any more.
    stand.relay.isUpstreamAway = false
    #expect(try await stand.stand.ending(of: ids[1]).word == "delivered")
    try await stand.enqueue(3 + more...3 + more)
    _ = try await stand.fault()
    let last = await stand.outbox.receipts(.default)
    #expect(last.count == Int(CoreLimits.receiptsPerLaneMax))
    #expect(last.allSatisfy { $0.checkedFrom > $0.last })
    await stand.outbox.close()
  }

  @Test("that showed no receipt but a forged one is given later bodies only")
  func forgedOnce() async throws {
    let stand = try await CustodyStand.open()
    stand.relay.lie = .badSignature
    let ids = try await stand.enqueue(1...3)
    #expect(try await stand.fault() == .badSignature)
    await stand.untilAccepted()
    stand.relay.lie = nil
    try await stand.enqueue(4...6)
    let receipt = try await stand.receipt(of: 6)
    #expect(receipt.checkedFrom == 1)
    #expect(try await stand.bodies() == ids)
    await stand.outbox.close()
  }

  @Test("and came back from an older backup is behind its own receipt")
  func behind() async throws {
    let stand = try await CustodyStand.open()
    try await stand.enqueue(1...2)
    _ = try await stand.receipt(of: 2)
    let backup = stand.relay.backup()
    try await stand.enqueue(3...5)
    _ = try await stand.receipt(of: 5)
    stand.relay.restore(backup)
    #expect(try await stand.fault() == .relayBehind(receipted: 5, relay: 2))
    #expect(await stand.outbox.receipts(.default).map(\.last) == [2, 5])
    await stand.outbox.close()
  }

  @Test("and came back without the lane has begun anew")
  func begunAnew() async throws {
    let stand = try await CustodyStand.open()
    let backup = stand.relay.backup()
    try await stand.enqueue(1...2)
    _ = try await stand.receipt(of: 2)
    stand.relay.restore(backup)
    stand.relay.makesReceipts = true
    stand.relay.isUpstreamAway = true
    let ids = try await stand.enqueue(3...3)
    #expect(try await stand.fault() == .begunAnew(receipted: 2, begin: 3))
    await stand.untilAccepted()
    #expect(try await stand.bodies() == ids)
    await stand.outbox.close()
  }

  // MARK: - Keys

  @Test("its first keys are trusted, and the keys that they have signed")
  func rotated() async throws {
    let stand = try await CustodyStand.open()
    try await stand.enqueue(1...1)
    _ = try await stand.receipt(of: 1)
    stand.relay.rotateKeys()
    stand.relay.rotateKeys()
    try await stand.enqueue(2...2)
    _ = try await stand.receipt(of: 2)
    #expect(await stand.outbox.status()?.lanes[.default]?.custodyFault == nil)
    await stand.outbox.close()
  }

  @Test("another relay's keys are not trusted, after a start of the app as well")
  func otherKeys() async throws {
    let stand = try await CustodyStand.open()
    try await stand.enqueue(1...1)
    _ = try await stand.receipt(of: 1)
    let next = try await stand.reopened()
    stand.relay.rotateKeys(forgets: true)
    let id = try await next.enqueue(2...2)
    let key = try #require(stand.relay.keys.first)
    #expect(try await next.fault() == .unknownKey(key))
    await next.untilAccepted()
    #expect(try await next.bodies() == id)
    await next.outbox.close()
  }

  @Test("only pinned keys are trusted, where keys are pinned", arguments: [true, false])
  func pinned(_ isRight: Bool) async throws {
    let right = KeyID(TestKey(1).id)
    let stand = try await CustodyStand.open { settings in
      settings.destination = .relay(
        base: "http://relay", client: "device", pins: [isRight ? right : "another"])
    }
    try await stand.enqueue(1...1)
    if isRight {
      #expect(try await stand.receipt(of: 1).last == 1)
    } else {
      #expect(try await stand.fault() == .unknownKey(right))
    }
    await stand.outbox.close()
  }
}

extension RelayLie {
  /// Whether it is this that a device sees.
  fileprivate func isCaught(by fault: CustodyFault) -> Bool {
    switch (self, fault) {
    case (.passedBy, .headDiffers), (.dropped, .headDiffers), (.swapped, .headDiffers),
      (.changed, .headDiffers):
      true
    case (.unknownKey, .unknownKey), (.badSignature, .badSignature), (.badPath, .badPath): true
    case (.forked, .forked): true
    default: false
    }
  }
}
