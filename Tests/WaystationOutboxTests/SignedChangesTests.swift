import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

import struct RelayCore.StoreError

@Suite("Changes of what the device has signed", .timeLimit(.minutes(5)))
struct SignedChangesTests {
  /// Items that are signed, and that nobody has.
  private static func signedOffline(
    _ count: Int
  ) async throws -> (stand: SigningStand, ids: [Item.ID]) {
    let stand = try await SigningStand.open()
    stand.relay.cut()
    try await stand.sendTogether()
    let ids = try await stand.enqueue(1...count)
    try await stand.untilSigned(count)
    try await stand.outbox.pause()
    while await stand.outbox.items().contains(where: { !$0.isWaiting }) { await Task.yield() }
    return (stand, ids)
  }

  private static func goOn(_ stand: SigningStand) async throws {
    stand.relay.mend()
    try await stand.outbox.resume()
  }

  @Test("one that is taken back before it has left is told as given up by a later one")
  func cancelled() async throws {
    let (stand, ids) = try await Self.signedOffline(4)
    try await stand.outbox.cancel(ids[1])
    try await Self.goOn(stand)
    try await stand.untilDelivered([ids[0], ids[2], ids[3]])
    guard case .failure(let fault) = stand.verdict() else { throw SigningTests.Unexpected() }
    #expect(fault.number == 2 && fault.reason == .missing, "no statement tells of it yet")
    let next = try await stand.enqueue(5...5)
    try await stand.untilDelivered(next)
    #expect(try stand.signedNumbers() == 4)
    #expect(try stand.statement("/5").voids == [2...2])
    try stand.expectOneStatementEach()
    await stand.outbox.close()
  }

  @Test("what the statement of one told that is changed is told once more")
  func toldAgain() async throws {
    let (stand, ids) = try await Self.signedOffline(3)
    try await stand.outbox.cancel(ids[1])
    let fourth = try await stand.enqueue(4...4)
    try await stand.outbox.store.run { core, now throws(StoreError) in
      if let item = try core.file.item(fourth[0].raw) { try core.askSigner(for: [item], at: now) }
    }
    try await stand.untilSigned(3)
    try await stand.outbox.edit(fourth[0], Change(request: Request("POST", "/changed")))
    try await Self.goOn(stand)
    try await stand.untilDelivered([ids[0], ids[2], fourth[0]])
    #expect(try stand.signedNumbers() == 3)
    let statement = try stand.statement("/changed")
    #expect(statement.voids == [2...2, 4...4] && statement.former?.sequence == 3)
    try stand.expectOneStatementEach()
    await stand.outbox.close()
  }

  @Test("the last one that is taken back is passed by, and what it told is told once more")
  func lastCancelled() async throws {
    let (stand, ids) = try await Self.signedOffline(3)
    try await stand.outbox.cancel(ids[1])
    try await stand.outbox.store.run { core, now throws(StoreError) in
      core.state.isPaused = true
    }
    let fourth = try await stand.enqueue(4...4)
    try await stand.outbox.store.run { core, now throws(StoreError) in
      if let item = try core.file.item(fourth[0].raw) { try core.askSigner(for: [item], at: now) }
    }
    try await stand.untilSigned(3)
    try await stand.outbox.cancel(fourth[0])
    try await stand.outbox.cancel(ids[2])
    let fifth = try await stand.enqueue(5...5)
    try await Self.goOn(stand)
    try await stand.untilDelivered([ids[0], fifth[0]])
    #expect(try stand.signedNumbers() == 2)
    let statement = try stand.statement("/5")
    #expect(statement.voids == [2...4] && statement.former?.sequence == 1)
    try stand.expectOneStatementEach()
    await stand.outbox.close()
  }

  @Test("one that is changed before it has left gets another number, as do those behind it")
  func edited() async throws {
    let (stand, ids) = try await Self.signedOffline(3)
    try await stand.outbox.edit(ids[1], Change(request: Request("POST", "/changed", .json("{}"))))
    try await Self.goOn(stand)
    try await stand.untilDelivered(ids)
    #expect(stand.stand.paths == ["/1", "/changed", "/3"])
    #expect(try stand.signedNumbers() == 3)
    let statement = try stand.statement("/changed")
    #expect(statement.sequence == 4 && statement.voids == [2...3])
    try stand.expectOneStatementEach()
    await stand.outbox.close()
  }

  @Test("holding one and letting it go changes nothing of what was signed")
  func held() async throws {
    let (stand, ids) = try await Self.signedOffline(2)
    try await stand.outbox.edit(ids[1], Change(hold: true))
    try await Self.goOn(stand)
    try await stand.untilDelivered([ids[0]])
    try await stand.outbox.release(ids[1])
    try await stand.untilDelivered(ids)
    #expect(try stand.signedNumbers() == 2)
    #expect(try stand.statement("/2").sequence == 2)
    await stand.outbox.close()
  }

  @Test("the relay's copy is not changed: its request would not be what was signed")
  func atRelay() async throws {
    let stand = try await SigningStand.open()
    stand.relay.isUpstreamAway = true
    let ids = try await stand.enqueue(1...2)
    await stand.untilAtRelay(ids[1])
    await #expect(throws: ChangeError.self) {
      try await stand.outbox.edit(ids[0], Change(request: Request("POST", "/other")))
    }
    try await stand.outbox.cancel(ids[0])
    stand.relay.isUpstreamAway = false
    let next = try await stand.enqueue(3...3)
    try await stand.untilDelivered([ids[1], next[0]])
    #expect(try stand.signedNumbers() == 2)
    #expect(try stand.statement("/3").voids == [1...1])
    await stand.outbox.close()
  }

  @Test("what the upstream has refused goes once more as it is, and is not changed")
  func refusedByUpstream() async throws {
    let stand = try await SigningStand.open()
    stand.relay.refuse("/1")
    let ids = try await stand.enqueue(1...2)
    #expect(try await stand.stand.ending(of: ids[0]).word == "refused")
    do {
      try await stand.outbox.resolve(ids[0], .retry(Change(request: Request("POST", "/good"))))
      Issue.record("it was changed")
    } catch {
      guard case .signed(1) = error else { throw error }
    }
    stand.relay.take("/1")
    try await stand.outbox.resolve(ids[0], .retry())
    try await stand.untilDelivered(ids)
    #expect(try stand.signedNumbers() == 2)
    await stand.outbox.close()
  }

  @Test(
    "what the relay has refused is changed under another number while nothing behind it has left")
  func refusedByRelay() async throws {
    let stand = try await SigningStand.open()
    let ids = try await stand.enqueue(1...1)
    try await stand.untilDelivered(ids)
    let bad = try await stand.outbox.enqueue(Request("POST", "/invalid"))
    #expect(try await stand.stand.ending(of: bad).word == "refused")
    let behind = try await stand.enqueue(3...3)
    try await stand.outbox.resolve(bad, .retry(Change(request: Request("POST", "/good"))))
    try await stand.untilDelivered([bad, behind[0]])
    #expect(stand.stand.paths == ["/1", "/good", "/3"])
    #expect(try stand.signedNumbers() == 3)
    #expect(try stand.statement("/good").voids == [2...2])
    try stand.expectOneStatementEach()
    await stand.outbox.close()
  }

  @Test("it is not changed once something behind it has left, and can be discarded")
  func refusedBefore() async throws {
    let (stand, ids) = try await Self.refused(onRefusal: .block)
    #expect(try await stand.stand.ending(of: ids[1]).word == "refused")
    await stand.untilAtRelay(ids[2])
    do {
      try await stand.outbox.resolve(ids[1], .retry(Change(request: Request("POST", "/good"))))
      Issue.record("it was changed")
    } catch {
      guard case .signed(2) = error else { throw error }
    }
    try await stand.outbox.resolve(ids[1], .discard(reason: "wrong"))
    try await Self.expectVoid(stand, ids)
  }

  @Test("in a lane that skips it the refused one is told as given up")
  func skipped() async throws {
    let (stand, ids) = try await Self.refused(onRefusal: .skip)
    #expect(try await stand.stand.ending(of: ids[1]).word == "refused")
    try await Self.expectVoid(stand, ids)
  }

  private static func refused(
    onRefusal: OnRefusal
  ) async throws -> (stand: SigningStand, ids: [Item.ID]) {
    let stand = try await SigningStand.open {
      $0.lanes[.default, default: LaneSettings()].onRefusal = onRefusal
    }
    try await stand.outbox.pause()
    try await stand.sendTogether()
    let ids = try await stand.outbox.enqueue([
      (Request("POST", "/1"), Options()), (Request("POST", "/invalid"), Options()),
      (Request("POST", "/3"), Options()),
    ])
    try await stand.outbox.resume()
    return (stand, ids)
  }

  private static func expectVoid(_ stand: SigningStand, _ ids: [Item.ID]) async throws {
    let next = try await stand.enqueue(4...4)
    try await stand.untilDelivered([ids[0], ids[2], next[0]])
    #expect(try stand.signedNumbers() == 3)
    #expect(try stand.statement("/4").voids == [2...2])
    try stand.expectOneStatementEach()
    await stand.outbox.close()
  }
}

extension Item {
  /// Whether it waits for its turn.
  fileprivate var isWaiting: Bool { if case .waiting = state { true } else { false } }
}
