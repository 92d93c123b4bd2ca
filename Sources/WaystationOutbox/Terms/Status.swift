/// An outbox at a glance.
public struct Status: Sendable {
  /// The number of items that are not over.
  public let waiting: Int
  /// The bytes that they take of the limits.
  public let bytes: Int64
  /// When the oldest of them was enqueued.
  public let oldest: Instant?
  /// The connection as far as it is known.
  public let link: Link
  /// The lanes that have been used.
  public let lanes: [Lane: LaneStatus]
  /// The number of items that are blocked or quarantined.
  public let needsAttention: Int
  /// When the next try is due; nil if nothing waits for one.
  public let nextAttempt: Instant?
  /// Whether the whole outbox is paused.
  public let isPaused: Bool
  /// Why ``Settings/signer`` does not sign, be it that there is none; nil if nothing is wrong.
  public let signerFailure: SignerFailure?
}

/// A lane at a glance.
public struct LaneStatus: Sendable, Equatable {
  /// The number of its items that are not over.
  public let waiting: Int
  /// The highest number that was given to an item of the lane; 0 for none.
  public let head: UInt64
  /// The last number that the relay has signed for, as far as this device could verify it; 0 for
  /// none.
  ///
  /// It is also 0 while the latest receipt is one that was gone on from without being compared with
  /// what was sent, as after ``Event/rejoined(_:)`` or a ``CustodyFault``. The next receipt that
  /// reaches further and holds brings it back.
  public let receipted: UInt64
  /// What is wrong with the lane's latest receipts; nil if nothing is, or nothing has come since
  /// the outbox was opened.
  public let custodyFault: CustodyFault?
  /// Whether the relay makes receipts; nil if it has not answered since the outbox was opened.
  ///
  /// Where it makes none, a lane with ``Custody/receipt`` keeps each body until it is known how the
  /// item has ended.
  public let makesReceipts: Bool?
  /// The item that the lane stands behind; nil if it does not stand.
  public let blockedBy: Item.ID?
  /// Whether the lane is paused on this device.
  public let isPaused: Bool
}
