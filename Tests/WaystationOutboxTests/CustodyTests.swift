import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

@Suite("Who has a body, by the relay's receipts", .timeLimit(.minutes(5)))
struct CustodyTests {
  @Test("a body goes once a receipt that speaks of it was verified")
  func receipted() async throws {
    let stand = try await CustodyStand.open()
    try await stand.enqueue(1...3)
    let receipt = try await stand.receipt(of: 3)
    #expect(receipt.begin == 1 && receipt.checkedFrom == 1 && receipt.last == 3)
    #expect(try await stand.bodies().isEmpty)
    let status = await stand.outbox.status()?.lanes[.default]
    #expect(status?.receipted == 3 && status?.makesReceipts == true && status?.custodyFault == nil)
    await stand.outbox.close()
  }

  @Test("a receipt is kept, and the chain goes on from it after a start of the app")
  func goesOn() async throws {
    let stand = try await CustodyStand.open()
    try await stand.enqueue(1...3)
    let first = try await stand.receipt(of: 3)
    let next = try await stand.reopened()
    #expect(await next.outbox.receipts(.default) == [first])
    try await next.enqueue(4...5)
    let second = try await next.receipt(of: 5)
    #expect(second.begin == 1 && second.checkedFrom == 1)
    #expect(await next.outbox.receipts(.default) == [second])
    #expect(try await next.bodies().isEmpty)
    await next.outbox.close()
  }

  @Test("where the relay makes no receipts, a body stays until its ending, and the status says so")
  func without() async throws {
    let stand = try await CustodyStand.open(makesReceipts: false)
    let ids = try await stand.enqueue(1...2)
    await stand.untilAccepted()
    await stand.untilAsked()
    #expect(try await stand.bodies() == ids)
    #expect(await stand.outbox.status()?.lanes[.default]?.makesReceipts == false)
    stand.relay.isUpstreamAway = false
    #expect(try await stand.stand.ending(of: ids[1]).word == "delivered")
    await stand.outbox.close()
  }

  @Test("a relay that makes receipts later begins a chain of which all is known")
  func later() async throws {
    let stand = try await CustodyStand.open(makesReceipts: false)
    let early = try await stand.enqueue(1...2)
    await stand.untilAccepted()
    await stand.untilAsked()
    stand.relay.makesReceipts = true
    try await stand.enqueue(3...4)
    let receipt = try await stand.receipt(of: 4)
    #expect(receipt.begin == 3 && receipt.checkedFrom == 3)
    #expect(try await stand.bodies() == early)
    #expect(await stand.outbox.status()?.lanes[.default]?.custodyFault == nil)
    await stand.outbox.close()
  }

  @Test("with custody .delivered receipts are kept, and so are the bodies")
  func delivered() async throws {
    let stand = try await CustodyStand.open(custody: .delivered)
    let ids = try await stand.enqueue(1...2)
    _ = try await stand.receipt(of: 2)
    #expect(try await stand.bodies() == ids)
    await stand.outbox.close()
  }

  @Test("a receipt is verified also where it comes after the end of what it covers")
  func afterTheEnd() async throws {
    let stand = try await CustodyStand.open()
    stand.relay.isUpstreamAway = false
    let ids = try await stand.enqueue(1...2)
    _ = try await stand.receipt(of: 2)
    for id in ids { #expect(try await stand.stand.ending(of: id).word == "delivered") }
    await stand.outbox.close()
  }

  @Test("a number that was given up is no link of the chain")
  func void() async throws {
    let stand = try await CustodyStand.open { $0.lanes[.default]?.onRefusal = .skip }
    try await stand.outbox.enqueue([
      (CustodyStand.request(1), Options()), (Request("POST", "/invalid"), Options()),
      (CustodyStand.request(3), Options()),
    ])
    let receipt = try await stand.receipt(of: 3)
    #expect(receipt.begin == 1 && receipt.last == 3)
    #expect(try await stand.bodies().isEmpty)
    await stand.outbox.close()
  }

  @Test("what was edited because nothing had left the device is covered as it is then")
  func edited() async throws {
    let stand = try await CustodyStand.open {
      $0.sending.backoff = .seconds(300) ... .seconds(300)
    }
    stand.relay.cut()
    let ids = try await stand.enqueue(1...3)
    _ = await stand.events.first { if case .unreachable = $0 { true } else { nil } }
    try await stand.outbox.edit(ids[1], Change(request: CustodyStand.request(20)))
    try await stand.outbox.cancel(ids[0])
    stand.relay.mend()
    await stand.outbox.wake()
    let receipt = try await stand.receipt(of: 3)
    #expect(receipt.begin == 2)
    #expect(try await stand.bodies().isEmpty)
    await stand.outbox.close()
  }

  @Test("an item that gets another number, since the relay waited for it no more, breaks no chain")
  func renumbered() async throws {
    let stand = try await CustodyStand.open()
    stand.relay.refuseOnce("/2")
    try await stand.enqueue(1...3)
    _ = await stand.events.first { if case .limited = $0 { true } else { nil } }
    let receipt = try await stand.receipt(of: 4)
    #expect(receipt.begin == 1 && receipt.checkedFrom == 1)
    #expect(try await stand.bodies().isEmpty)
    #expect(await stand.outbox.receipts(.default).count == 1)
    await stand.outbox.close()
  }

  @Test("a large body that is uploaded by itself is covered like any other")
  func uploads() async throws {
    let stand = try await CustodyStand.open { settings in
      settings.sending.uploadBytes = 1000
      settings.sending.partBytes = 20_000
    }
    let large = [UInt8](repeating: 0x61, count: 50_000)
    try await stand.enqueue(1...1)
    try await stand.outbox.enqueue(Request("PUT", "/large", .bytes(large, type: "x/y")))
    try await stand.outbox.enqueue(
      Request("PUT", "/plain", .bytes(Array("text".utf8), type: "text/plain")))
    try await stand.outbox.enqueue(Request("PUT", "/untyped", headers: [("X-Note", "a")]))
    _ = try await stand.receipt(of: 4)
    #expect(try await stand.bodies().isEmpty)
    #expect(await stand.outbox.status()?.lanes[.default]?.custodyFault == nil)
    await stand.outbox.close()
  }

  @Test("custody .receipt without a verifier is refused when the outbox is opened")
  func noVerifier() async throws {
    await #expect(throws: OutboxError.self) {
      _ = try await Stand { $0.lanes["sales"] = .kept(.receipt) }
    }
  }

  @Test("a lane whose receipts nobody asked for for a while is gone on from, and no fault is told")
  func interrupted() async throws {
    let stand = try await CustodyStand.open()
    try await stand.enqueue(1...2)
    _ = try await stand.receipt(of: 2)
    let without = try await stand.reopened { $0.lanes[.default] = .kept(.accepted) }
    try await without.enqueue(3...3)
    await without.untilAccepted()
    // Else a check-in may bring a receipt of number 3 before there is number 4.
    let next = try await without.reopened { settings in
      settings.lanes[.default] = .kept(.receipt)
      settings.startPaused = true
    }
    let first = try await next.enqueue(4...4)
    try await next.outbox.resume()
    await next.untilAccepted()
    try await next.enqueue(5...5)
    let receipt = try await next.receipt(of: 5)
    #expect(receipt.begin == 1 && receipt.checkedFrom == 5)
    // From the one before on it can be verified.
    #expect(await next.outbox.receipts(.default).map(\.last) == [5, 4, 2])
    #expect(try await next.bodies() == first)
    #expect(await next.outbox.status()?.lanes[.default]?.custodyFault == nil)
    await next.outbox.close()
  }
}
