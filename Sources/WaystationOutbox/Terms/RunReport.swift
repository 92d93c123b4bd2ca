/// What came of a run.
public struct RunReport: Sendable {
  /// The items that the upstream has taken.
  public let delivered: [Item.ID]
  /// The items that were refused during the run, have expired, or have ended as unknown.
  ///
  /// One that was refused before is skipped, with ``SkipReason/laneBlocked``.
  public let failed: [(Item.ID, Outcome)]
  /// The items that did not go, with the reason.
  public let skipped: [(Item.ID, SkipReason)]
  /// The items of which nothing is known yet: the time was over.
  ///
  /// They go on by themselves.
  public let pending: [Item.ID]

  /// Whether it says all: false if the outbox was closed or the disk failed meanwhile, or more
  /// items were meant than one run takes (10,000).
  public let isComplete: Bool

  /// A report.
  public init(
    delivered: [Item.ID], failed: [(Item.ID, Outcome)], skipped: [(Item.ID, SkipReason)],
    pending: [Item.ID], isComplete: Bool = true
  ) {
    self.isComplete = isComplete
    self.delivered = delivered
    self.failed = failed
    self.skipped = skipped
    self.pending = pending
  }

  /// The first item that failed, and how.
  public var firstFailure: (Item.ID, Outcome)? { failed.first }

  /// Whether everything that was meant has been delivered.
  public var isAllDelivered: Bool {
    isComplete && failed.isEmpty && skipped.isEmpty && pending.isEmpty
  }

  /// Of a run of which nothing is known.
  static let nothing = RunReport(
    delivered: [], failed: [], skipped: [], pending: [], isComplete: false)
}

/// Why an item does not go.
public enum SkipReason: Sendable, Hashable {
  /// It is held.
  case held
  /// The app says that it is not ready.
  case notReady
  /// It was refused before, or stands behind such an item.
  case laneBlocked
  /// It waits behind this item of its lane, which does not go.
  case behind(Item.ID)
  /// Nobody has answered, somebody has asked for a pause, or the credentials are refused.
  case unreachable
  /// The outbox, or what the item belongs to, is paused.
  case paused
  /// It was taken back meanwhile.
  case cancelled
  /// It had ended before.
  case ended
  /// Its time has not come.
  case notBefore
  /// It has to be signed, and the signer does not sign.
  case unsigned
  /// No handler is registered for commands of this tag.
  case noHandler(Tag)
}
