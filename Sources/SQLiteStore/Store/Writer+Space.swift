import EventLoop
import RelayCore

// How the database gives pages back to the disk that nothing stands in any more: in small steps
// with a pause between them, while nothing else is to be written. Some are kept for new envelopes.
extension Writer {
  /// Looks, soon, whether there is something to be given back.
  func considerGivingBack() {
    if giveBackAt == nil { giveBackAt = MonotonicClock.now() }
  }

  /// Does one step, if it is time.
  func giveSpaceBack() {
    let now = MonotonicClock.now()
    guard let giveBackAt, now >= giveBackAt else { return }
    self.giveBackAt = nil
    guard !recovery.hasFailed else { return }
    do throws(StoreError) {
      let surplus = try connection.number("PRAGMA freelist_count") - StoreTuning.freePagesKept
      guard surplus > 0 else { return }
      let count = min(surplus, StoreTuning.freePagesReturnedPerStep)
      try begin()
      try connection.execute("PRAGMA incremental_vacuum(\(count))")
      try commit()
      self.giveBackAt = MonotonicClock.now().adding(
        milliseconds: StoreTuning.freePagesReturnedPauseMs)
    } catch {
      // It was not asked for: the next deletion tries again.
      rollBack()
    }
    tendLog(isCheckpointDue: false)
  }
}
