/// The times by which ended envelopes must have ended to be deleted now.
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

/// The result of one step of retention.
package struct RetentionPage: Sendable {
  /// The number of envelopes deleted.
  package var deletedCount: Int
  /// Whether the walk came to the end.
  package var isRoundDone: Bool

  /// Puts a page together.
  package init(deletedCount: Int, isRoundDone: Bool) {
    self.deletedCount = deletedCount
    self.isRoundDone = isRoundDone
  }
}
