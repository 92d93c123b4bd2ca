/// Up to when an ended envelope must have ended to be deleted now.
package struct RetentionCutoffs: Sendable {
  /// For delivered ones.
  package var delivered: WallTime
  /// For failed, expired and cancelled ones.
  package var failed: WallTime

  /// Sets both.
  package init(delivered: WallTime, failed: WallTime) {
    self.delivered = delivered
    self.failed = failed
  }
}

/// One step of retention.
package struct RetentionPage: Sendable {
  /// How many envelopes were deleted.
  package var deletedCount: Int
  /// Whether the walk came to the end.
  package var isRoundDone: Bool

  /// Puts a page together.
  package init(deletedCount: Int, isRoundDone: Bool) {
    self.deletedCount = deletedCount
    self.isRoundDone = isRoundDone
  }
}
