import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

@Suite("Keys that the relay knows from another folder", .timeLimit(.minutes(5)))
struct KnownKeyTests {
  /// What an app hands over again, under which keys, from an empty folder.
  ///
  /// The numbers are those of the requests before, of which there were five.
  @Test(
    "end in an evidence lane with the row of the number that the relay has them under",
    arguments: [[1, 2, 3, 4, 5], [4], [5, 1], [3, 9, 2, 8]], [false, true])
  func evidence(numbers: [Int], isAway: Bool) async throws {
    let first = try await CustodyStand.open(custody: .accepted) { settings in
      settings.lanes[.default]?.evidence = true
    }
    first.relay.evidenceLanes = ["default"]
    first.relay.isUpstreamAway = isAway
    let before = try await first.outbox.enqueue((1...5).map(Self.entry))
    if isAway {
      await first.untilAccepted()
    } else {
      for id in before { #expect(try await first.stand.ending(of: id).word == "delivered") }
    }
    let next = try await first.reopened { $0.folder += "-anew" }
    let ids = try await next.outbox.enqueue(numbers.map(Self.entry))
    if isAway {
      await next.untilAccepted()
      next.relay.isUpstreamAway = false
    }
    for (id, number) in zip(ids, numbers) {
      #expect(try await next.stand.ending(of: id).word == "delivered")
      let evidence = try #require(await next.outbox.evidence(id))
      #expect(evidence.ending?.state == .delivered)
      #expect(number > 5 || evidence.sequence == UInt64(number))
    }
    #expect(next.relay.delivered.count == 5 + numbers.count { $0 > 5 })
    await next.outbox.close()
    for await event in next.events {
      // The relay has signed for what the other folder has sent: that is told once, as of a copy.
      if case .custodyBroken(_, let fault) = event, !fault.isOfHead { Issue.record("\(fault)") }
    }
  }

  private static func entry(_ number: Int) -> (Request, Options) {
    (CustodyStand.request(number), Options(key: "sale-\(number)"))
  }
}

extension CustodyFault {
  /// Whether it is of the chain.
  fileprivate var isOfHead: Bool {
    if case .headDiffers = self { true } else { false }
  }
}
