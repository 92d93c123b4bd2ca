import Synchronization
import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

import struct RelayCore.StoreError

/// An outbox that signs, and a relay in memory behind which the upstream trusts the signer alone.
struct SigningStand {
  let stand: Stand
  let signer: TestSigner
  var outbox: Outbox { stand.outbox }
  var relay: ScriptedRelay { stand.relay }

  static func open(_ change: (inout Settings) -> Void = { _ in }) async throws -> SigningStand {
    let signer = TestSigner()
    let stand = try await Stand { settings in
      settings.verifier = TestReceiptVerifier()
      settings.signer = signer
      settings.sending.checkInEvery = .milliseconds(5)
      change(&settings)
    }
    return SigningStand(stand: stand, signer: signer)
  }

  /// The same after the app was started anew.
  func reopened(_ change: (inout Settings) -> Void = { _ in }) async throws -> SigningStand {
    SigningStand(stand: try await stand.reopened(change), signer: signer)
  }

  @discardableResult
  func enqueue(_ numbers: ClosedRange<Int>, lane: Lane = .default) async throws -> [Item.ID] {
    try await outbox.enqueue(
      numbers.map { (Request("POST", "/\($0)", .json("[\($0)]")), Options(lane: lane)) })
  }

  /// Has the first items go in one post, too: else the very first goes by itself.
  func sendTogether() async throws {
    _ = try await outbox.store.run(changes: false) { core, _ throws(StoreError) in
      core.state.confirmedLanes.insert(core.lane(named: "default").number)
    }
  }

  /// Waits until so many items are signed, and not with the relay.
  func untilSigned(_ count: Int) async throws {
    while try await signedCount() < count { await Task.yield() }
  }

  private func signedCount() async throws -> Int {
    try await outbox.store.run(changes: false) { core, _ throws(StoreError) in
      try core.file.allSignatures().count { $0.jws != nil }
    }
  }

  /// Waits until all of these are over.
  func untilDelivered(_ ids: [Item.ID]) async throws {
    for id in ids { #expect(try await stand.ending(of: id).word == "delivered") }
  }

  /// Waits until the relay has an item.
  func untilAtRelay(_ id: Item.ID) async {
    while await outbox.item(id)?.isAtRelay != true { await Task.yield() }
  }

  /// What the upstream finds in a lane, by all that it was sent.
  func verdict(
    _ lane: String = "default", _ others: [TestSigner] = [], from: UInt64 = 1,
    _ requests: ([ScriptedRelay.Delivered]) -> [ScriptedRelay.Delivered] = { $0 }
  ) -> Result<DeviceAudit.Counts, DeviceAudit.Fault> {
    var audit = DeviceAudit()
    for request in requests(relay.requests) where request.lane == lane {
      guard let sequence = request.sequence else { continue }
      audit.add(
        sequence, digests: [request.digest],
        SignedUpstream.signed(
          request.signature, lane: lane, sequence: sequence, [signer] + others))
    }
    return audit.verdict(from: from)
  }

  /// How many numbers of a lane hold; there must be no fault.
  func signedNumbers(_ lane: String = "default") throws -> Int { try verdict(lane).get().signed }

  /// The statement of the request to a path.
  func statement(_ path: String) throws -> ItemStatement {
    let field = try #require(relay.requests.first { $0.path == path }?.signature)
    let text = try #require(SignedText(field, type: ItemStatement.type))
    return try #require(ItemStatement(payload: text.payload))
  }

  /// Under each number the signer has signed one thing alone.
  func expectOneStatementEach() throws {
    var seen: [String: [UInt8]] = [:]
    for message in signer.signed {
      let text = ItemStatement.text(message, [0])
      let payload = try #require(SignedText(text, type: ItemStatement.type)).payload
      let statement = try #require(ItemStatement(payload: payload))
      let name = "\(statement.lane) \(statement.sequence)"
      #expect(seen[name] == nil || seen[name] == payload, "\(name)")
      seen[name] = payload
    }
  }
}
