#if PostgreSQL
import EventLoop
import RelayCore
import Synchronization

/// What the store's threads share.
final class DatabaseShared: Sendable {
  let clock: @Sendable () -> WallTime
  let startPauses: StartPauses
  let nameLimits: NameLimits
  let auditEntriesMax: Int
  let eventLogBytesMax: Int64
  let bodies = BodyWork()
  let limits = DatabaseLimits()
  let inbox = Monitor(DatabaseInbox())
  let figures: Mutex<StoreFigures>
  let walks = Mutex(StoreWalks())

  init(
    clock: @escaping @Sendable () -> WallTime, startPauses: StartPauses, nameLimits: NameLimits,
    auditEntriesMax: Int, eventLogBytesMax: Int64, _ figures: StoreFigures
  ) {
    self.clock = clock
    self.startPauses = startPauses
    self.nameLimits = nameLimits
    self.auditEntriesMax = auditEntriesMax
    self.eventLogBytesMax = eventLogBytesMax
    self.figures = Mutex(figures)
  }
}
#endif
