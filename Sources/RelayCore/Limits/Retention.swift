/// The times by which ended envelopes must have ended to be deleted now, and their keys forgotten.
package struct RetentionCutoffs: Sendable {
  /// For delivered ones.
  package var delivered: WallTime
  /// For failed, expired and cancelled ones.
  package var failed: WallTime
  /// For the keys of all of them, once they are deleted; no key outlives its envelope where this is
  /// not before the others.
  package var keys: WallTime

  /// Sets all; unless it is said otherwise, keys are forgotten with their envelopes.
  package init(
    delivered: WallTime, failed: WallTime,
    keys: WallTime = WallTime(millisecondsSinceEpoch: .max)
  ) {
    self.delivered = delivered
    self.failed = failed
    self.keys = keys
  }
}

/// The result of one step of retention.
package struct RetentionPage: Sendable {
  /// The number of envelopes deleted.
  package var deletedCount: Int
  /// The number of keys forgotten that had been remembered longer than their envelopes.
  package var forgottenKeyCount = 0
  /// Whether the walk came to the end.
  package var isRoundDone: Bool

  /// Puts a page together.
  package init(deletedCount: Int, isRoundDone: Bool) {
    self.deletedCount = deletedCount
    self.isRoundDone = isRoundDone
  }
}
