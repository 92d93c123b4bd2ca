import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

import struct RelayCore.StoreError

@Suite(
  "Signed numbers that others have used, or that the device has forgotten", .timeLimit(.minutes(5)))
struct SignedNumbersTests {
  @Test(
    "a number that somebody else has used is given up, and the next one begins anew",
    arguments: [1, 2])
  func conflict(others: UInt64) async throws {
    let stand = try await SigningStand.open { $0.startPaused = true }
    try await stand.stand.anotherPosts(1...Int(others))
    let ids = try await stand.enqueue(1...3)
    let events = stand.outbox.events()
    try await stand.outbox.resume()
    let lane = await events.first { event -> Lane? in
      if case .rejoined(let lane) = event { lane } else { nil }
    }
    #expect(lane == .default)
    try await stand.untilDelivered(ids)
    let first = try stand.statement("/1")
    #expect(first.isAnew && first.sequence > others && first.voids == [1...1])
    // The other's have no signature, and came before.
    #expect(
      try stand.verdict().get()
        == .init(signed: 3, before: Int(others), anew: 1, first: others + 1, last: others + 3))
    try stand.expectOneStatementEach()
    await stand.outbox.close()
  }

  @Test("a device that was restored says that it does not know what it has signed")
  func restored() async throws {
    let stand = try await SigningStand.open()
    try await stand.untilDelivered(try await stand.enqueue(1...2))
    await stand.outbox.close()
    let folder = "\(stand.stand.folder.path)/outbox"
    let path = OutboxFile.path(in: folder)
    _ = try Platform.copy(path, toNew: "\(folder)/backup")
    let later = try await stand.reopened()
    try await later.untilDelivered(try await later.enqueue(3...4))
    await later.outbox.close()
    try Platform.move("\(folder)/backup", to: path)
    Platform.remove("\(folder)/device/incarnation")
    let next = try await later.reopened()
    try await next.untilDelivered(try await next.enqueue(5...6))
    let fifth = try next.statement("/5")
    #expect(fifth.isAnew && fifth.sequence == 5 && fifth.former?.sequence == 2)
    #expect(try !next.statement("/6").isAnew)
    #expect(try next.verdict().get().signed == 6)
    try next.expectOneStatementEach()
    await next.outbox.close()
  }

  @Test(
    "what had come in its former life, and is signed once more, is no number that was left out",
    arguments: [1 << 20, 1])
  func restoredWithKnown(uploadBytes: Int64) async throws {
    let stand = try await SigningStand.open { $0.sending.uploadBytes = uploadBytes }
    try await stand.untilDelivered(try await stand.enqueue(1...2))
    await stand.outbox.close()
    let paused = try await stand.reopened { $0.startPaused = true }
    let waiting = try await paused.enqueue(3...5)
    await paused.outbox.close()
    let folder = "\(stand.stand.folder.path)/outbox"
    let path = OutboxFile.path(in: folder)
    _ = try Platform.copy(path, toNew: "\(folder)/backup")
    let later = try await stand.reopened()
    try await later.outbox.resume()
    try await later.untilDelivered(waiting)
    try await later.untilDelivered(try await later.enqueue(6...7))
    await later.outbox.close()
    try Platform.move("\(folder)/backup", to: path)
    Platform.remove("\(folder)/device/incarnation")
    let next = try await later.reopened()
    try await next.outbox.resume()
    try await next.untilDelivered(waiting + (try await next.enqueue(8...9)))
    #expect(next.stand.paths == (1...9).map { "/\($0)" })
    #expect(try next.statement("/8").isAnew)
    #expect(try next.verdict().get().signed == 9)
    try next.expectOneStatementEach()
    await next.outbox.close()
  }

  @Test("a database that was salvaged says so as well", arguments: [false, true])
  func salvaged(_ isListDamaged: Bool) async throws {
    let stand = try await SigningStand.open()
    try await stand.untilDelivered(try await stand.enqueue(1...2))
    stand.relay.cut()
    let waiting = try await stand.enqueue(3...4)
    try await stand.untilSigned(1)
    await stand.outbox.close()
    let folder = "\(stand.stand.folder.path)/outbox"
    try Platform.write([], toNew: OutboxFile.mark(in: folder))
    if isListDamaged {
      // The list of tables lies on the first page: without it the rows are read by themselves.
      try Damage.flip(OutboxFile.path(in: folder), at: 105, bits: 0xFF)
    }
    stand.relay.mend()
    let next = try await stand.reopened()
    try await next.untilDelivered(waiting)
    try await next.untilDelivered(try await next.enqueue(5...5))
    #expect(try next.verdict().get().signed == 5)
    #expect(try next.statement("/4").isAnew || next.statement("/5").isAnew)
    try next.expectOneStatementEach()
    await next.outbox.close()
  }

  @Test("another key goes on with the lane, and what was signed before goes as it was")
  func anotherKey() async throws {
    let stand = try await SigningStand.open()
    stand.relay.cut()
    let ids = try await stand.enqueue(1...1)
    try await stand.untilSigned(1)
    await stand.outbox.close()
    stand.relay.mend()
    let other = TestSigner(2)
    let next = try await stand.reopened { $0.signer = other }
    try await next.untilDelivered(ids + (try await next.enqueue(2...3)))
    #expect(try next.verdict("default", [other]).get().signed == 3)
    #expect(try next.statement("/2").former?.sequence == 1)
    #expect(other.signed.count == 2)
    await next.outbox.close()
  }

  @Test("a lane that goes unsigned for a while begins anew, and what is signed goes as it is")
  func unsigned() async throws {
    let stand = try await SigningStand.open()
    try await stand.untilDelivered(try await stand.enqueue(1...1))
    stand.relay.cut()
    var ids = try await stand.enqueue(2...2)
    try await stand.untilSigned(1)
    await stand.outbox.close()
    stand.relay.mend()
    let plain = try await stand.reopened { settings in
      settings.signer = nil
      settings.lanes[.default] = LaneSettings()
      settings.lanes[.default]?.signed = false
    }
    ids += try await plain.enqueue(3...3)
    try await plain.untilDelivered(ids)
    #expect(plain.relay.requests.map { $0.signature != nil } == [true, true, false])
    let next = try await plain.reopened { settings in
      settings.signer = stand.signer
      settings.lanes[.default]?.signed = true
    }
    try await next.untilDelivered(try await next.enqueue(4...4))
    let statement = try next.statement("/4")
    #expect(statement.isAnew && statement.former?.sequence == 2)
    await next.outbox.close()
  }

  @Test("items that had their numbers before the lane was signed are signed all the same")
  func numbered() async throws {
    let stand = try await SigningStand.open { settings in
      settings.signer = nil
      settings.startPaused = true
    }
    let ids = try await stand.enqueue(1...2)
    // Given out, as by a post of which nothing has arrived.
    try await stand.outbox.store.run(changes: false) { core, now throws(StoreError) in
      for id in ids { if let item = try core.file.item(id.raw) { _ = try core.seal(item) } }
    }
    let next = try await stand.reopened { settings in
      settings.signer = stand.signer
      settings.startPaused = false
    }
    try await next.outbox.resume()
    try await next.untilDelivered(ids)
    #expect(try next.signedNumbers() == 2)
    await next.outbox.close()
  }

  @Test("one that had come before the lane was signed is known by its key, and stays unsigned")
  func cameUnsigned() async throws {
    let stand = try await SigningStand.open { $0.signer = nil }
    stand.relay.loseAnswers()
    let ids = try await stand.enqueue(1...1)
    while stand.relay.requests.isEmpty { await Task.yield() }
    await stand.outbox.close()
    stand.relay.mend()
    let next = try await stand.reopened { $0.signer = stand.signer }
    try await next.untilDelivered(ids)
    try await next.untilDelivered(try await next.enqueue(2...2))
    #expect(next.stand.paths == ["/1", "/2"])
    guard case .failure(let fault) = next.verdict() else { throw SigningTests.Unexpected() }
    #expect(fault.number == 1 && fault.reason == .unsigned)
    #expect(try next.verdict(from: 2).get().signed == 1)
    await next.outbox.close()
  }

  @Test("a relay that was put back gets the same statements once more")
  func relayRestored() async throws {
    let stand = try await SigningStand.open { $0.lanes[.default] = .kept(.delivered) }
    stand.relay.isUpstreamAway = true
    let backup = stand.relay.backup()
    let ids = try await stand.enqueue(1...4)
    await stand.untilAtRelay(ids[3])
    stand.relay.restore(backup)
    stand.relay.isUpstreamAway = false
    try await stand.untilDelivered(ids)
    #expect(try stand.signedNumbers() == 4)
    try stand.expectOneStatementEach()
    await stand.outbox.close()
  }
}

extension DeviceAudit.Counts {
  fileprivate init(signed: Int, before: Int, anew: Int, first: UInt64, last: UInt64) {
    self.init()
    (self.signed, self.before, self.anew, self.first, self.last) =
      (signed, before, anew, first, last)
  }
}
