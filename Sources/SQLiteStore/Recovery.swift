import RelayCore

/// What the writer does about writes that fail: how long it waits, and what it tells.
struct Recovery {
  /// How long to wait before the kept transitions are tried again.
  private(set) var pauseMs: Int64 = 0
  /// Not before this time.
  private(set) var retryAt: MonotonicTime?
  private var failure: String?
  private var refusedCount = 0
  private var refusedEpoch: Int64 = 0

  /// Whether transitions are kept back for now.
  func isPausing(at now: MonotonicTime) -> Bool {
    guard let retryAt else { return false }
    return now < retryAt
  }

  /// Whether the last try to write transitions failed.
  var isTroubled: Bool { retryAt != nil }

  /// A transaction with transitions failed.
  mutating func noteTransitionsFailed(_ error: StoreError, at now: MonotonicTime) {
    pauseMs = min(max(pauseMs * 2, StoreTuning.retryPauseMsMin), StoreTuning.retryPauseMsMax)
    retryAt = now.adding(milliseconds: pauseMs)
    failure = error.description
  }

  /// A transaction without transitions failed.
  mutating func noteFailed(_ error: StoreError) { failure = error.description }

  /// A transaction succeeded.
  mutating func noteCommitted(withTransitions: Bool) {
    if withTransitions {
      retryAt = nil
      pauseMs = 0
    }
    if retryAt == nil { failure = nil }
  }

  /// An outcome came under another epoch than the store's own.
  mutating func noteRefused(epoch: Int64) {
    refusedCount += 1
    refusedEpoch = epoch
  }

  /// In words, what is wrong; nil if nothing is.
  ///
  /// Refused outcomes are told until the store is closed: whoever sent them believes in a lease
  /// that it does not hold.
  var trouble: String? {
    if let failure { return failure }
    guard refusedCount > 0 else { return nil }
    return "\(refusedCount) outcomes were refused: they came under lease epoch \(refusedEpoch), "
      + "and this store's is \(Writer.epoch)"
  }
}
