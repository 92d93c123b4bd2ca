import struct RelayCore.StoreError
import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

/// An outbox whose lanes keep their bodies until a receipt was verified, and a relay that makes
/// receipts and whose upstream is away.
struct CustodyStand {
  let stand: Stand
  let events: Events
  var outbox: Outbox { stand.outbox }
  var relay: ScriptedRelay { stand.relay }

  static func open(
    custody: Custody = .receipt, makesReceipts: Bool = true,
    _ change: (inout Settings) -> Void = { _ in }
  ) async throws -> CustodyStand {
    let stand = try await Stand { settings in
      settings.verifier = TestReceiptVerifier()
      settings.lanes[.default] = .kept(custody)
      settings.sending.checkInEvery = .milliseconds(5)
      change(&settings)
    }
    stand.relay.makesReceipts = makesReceipts
    stand.relay.isUpstreamAway = true
    return CustodyStand(stand: stand, events: stand.outbox.events())
  }

  private init(stand: Stand, events: Events) {
    self.stand = stand
    self.events = events
  }

  /// The same after the app was started anew.
  func reopened(_ change: (inout Settings) -> Void = { _ in }) async throws -> CustodyStand {
    let next = try await stand.reopened(change)
    return CustodyStand(stand: next, events: next.outbox.events())
  }

  /// Has the first items go in one post, too: else the very first goes by itself.
  func sendTogether() async throws {
    _ = try await outbox.store.run(changes: false) { core, _ throws(StoreError) in
      core.state.confirmedLanes.insert(core.lane(named: "default").number)
    }
  }

  /// Enqueues items together, so that they go in one post.
  @discardableResult
  func enqueue(_ numbers: ClosedRange<Int>) async throws -> [Item.ID] {
    try await outbox.enqueue(numbers.map { (Self.request($0), Options()) })
  }

  static func request(_ number: Int) -> Request {
    Request("POST", "/\(number)", .json(#"{"number": \#(number), "padding": "0123456789"}"#))
  }

  /// The first receipt that speaks of a number; there must be no fault before it.
  func receipt(of number: UInt64) async throws -> Receipt {
    let receipt = await events.first { event -> Receipt? in
      if case .custodyBroken(let lane, let fault) = event { Issue.record("\(lane): \(fault)") }
      return if case .receipt(let receipt) = event, receipt.last >= number { receipt } else { nil }
    }
    return try #require(receipt)
  }

  /// The first fault.
  func fault() async throws -> CustodyFault {
    let fault = await events.first { event -> CustodyFault? in
      if case .custodyBroken(.default, let fault) = event { fault } else { nil }
    }
    return try #require(fault)
  }

  /// The items whose bodies the device still has.
  func bodies() async throws -> [Item.ID] {
    let kept = try await outbox.store.run(changes: false) { core, _ throws(StoreError) in
      var kept: [Item.ID] = []
      for item in try core.file.items(after: 0, countMax: 1000)
      where try core.file.content(of: item.id) != nil {
        kept.append(Item.ID(raw: item.id))
      }
      return kept
    }
    return kept
  }

  /// Waits until the relay has all items.
  func untilAccepted() async {
    while await outbox.items().contains(where: { !$0.isAtRelay }) { await Task.yield() }
  }

  /// Waits until so many requests more were answered.
  func untilAsked(_ count: Int = 3) async {
    let before = relay.requestCount
    while relay.requestCount < before + count { await Task.yield() }
  }
}

extension LaneSettings {
  /// A lane of a custody.
  static func kept(_ custody: Custody) -> LaneSettings {
    var lane = LaneSettings()
    lane.custody = custody
    return lane
  }
}
