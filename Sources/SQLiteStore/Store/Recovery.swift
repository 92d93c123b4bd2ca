import RelayCore

/// The writer's reaction to failed writes: how long it waits, and what it reports.
struct Recovery {
  /// The wait before the kept transitions are tried again, in milliseconds.
  private(set) var pauseMs: Int64 = 0
  /// Not before this time.
  private(set) var retryAt: MonotonicTime?
  /// The time to look whether the trouble is over, if nobody writes until then; nil if there is
  /// none.
  private(set) var lookAt: MonotonicTime?
  /// The error that keeps new envelopes out, although other rows can be written.
  private(set) var lackOfRoom: StoreError?
  private var failure: String?
  private var refusal: String?
  private var checkpointFailure: String?
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

  /// Whether the log could not be copied into the database.
  var hasCheckpointFailed: Bool { checkpointFailure != nil }

  /// A checkpoint ended.
  mutating func noteCheckpoint(_ error: StoreError?, at now: MonotonicTime) {
    checkpointFailure = error?.description
    if error != nil { lookAt = now.adding(milliseconds: StoreTuning.lookPauseMs) }
  }

  /// There is room all of a sudden: what was kept back need not wait.
  mutating func noteRelief(at now: MonotonicTime) {
    pauseMs = 0
    retryAt = now
  }

  /// The error that the store's files are not in their places, if that keeps new envelopes out.
  var displacement: StoreError? { lackOfRoom?.kind == .displaced ? lackOfRoom : nil }

  /// Whether the last transaction failed.
  var hasFailed: Bool { failure != nil }

  /// Whether it is time to look whether the trouble is over.
  func isLookDue(at now: MonotonicTime) -> Bool {
    guard let lookAt else { return false }
    return now >= lookAt
  }

  /// A transaction without transitions failed.
  mutating func noteFailed(_ error: StoreError, at now: MonotonicTime) {
    failure = error.description
    lookAt = now.adding(milliseconds: StoreTuning.lookPauseMs)
  }

  /// Whether any post is refused, for all that is known.
  var isRefusing: Bool { refusal != nil }

  /// Every post of a transaction was refused by the store's own fault, and so is any other.
  mutating func noteRefusing(_ error: StoreError, at now: MonotonicTime) {
    refusal = error.description
    lookAt = now.adding(milliseconds: StoreTuning.lookPauseMs)
  }

  /// A post was written, or could be.
  mutating func noteAccepting() {
    refusal = nil
    if failure == nil, lackOfRoom == nil, checkpointFailure == nil { lookAt = nil }
  }

  /// Somebody looked whether there is room for new envelopes.
  mutating func noteRoom(lack: StoreError?, at now: MonotonicTime) {
    lackOfRoom = lack
    let isFine = lack == nil && failure == nil && refusal == nil && checkpointFailure == nil
    // Whoever posts again and again does not put the look off.
    lookAt = isFine ? nil : lookAt ?? now.adding(milliseconds: StoreTuning.lookPauseMs)
  }

  /// Somebody looks whether the trouble is over, and does so again after a while if it is not.
  mutating func noteLook(at now: MonotonicTime) {
    lookAt = now.adding(milliseconds: StoreTuning.lookPauseMs)
  }

  /// A transaction succeeded.
  mutating func noteCommitted(withTransitions: Bool) {
    if withTransitions {
      retryAt = nil
      pauseMs = 0
    }
    if retryAt == nil {
      failure = nil
      if refusal == nil, lackOfRoom == nil, checkpointFailure == nil { lookAt = nil }
    }
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
    if let displacement { return displacement.description }
    if let failure { return failure }
    if let refusal { return refusal }
    if let lackOfRoom { return lackOfRoom.description }
    if let checkpointFailure { return checkpointFailure }
    guard refusedCount > 0 else { return nil }
    return "\(refusedCount) outcomes were refused: they came under lease epoch \(refusedEpoch), "
      + "and this store's is \(Writer.epoch)"
  }
}
