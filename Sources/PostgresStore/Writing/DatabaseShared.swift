#if PostgreSQL
import EventLoop
import RelayCore
import Synchronization

/// What the store's threads share.
final class DatabaseShared: Sendable {
  let clock: @Sendable () -> WallTime
  let bodies = BodyWork()
  /// Between what is committed and what was told.
  let gate = CommitGate()
  let limits = DatabaseLimits()
  let inbox = Monitor(DatabaseInbox())
  let patience = StartPatience()
  /// Whether a database that cannot be reached is waited for no longer.
  private let givingUp = Monitor(false)
  let figures: Mutex<StoreFigures>
  let readTrouble = Mutex(ReadTrouble())
  let walks = Mutex(StoreWalks())
  private let rules: Mutex<DatabaseRules>

  init(clock: @escaping @Sendable () -> WallTime, _ rules: DatabaseRules, _ figures: StoreFigures) {
    self.clock = clock
    self.rules = Mutex(rules)
    self.figures = Mutex(figures)
  }

  /// Notes that the database could not be asked.
  func noteReadFailure(_ error: StoreError, _ lease: Lease) {
    let isAway = figures.withLock { $0.trouble != nil } || lease.trouble != nil
    readTrouble.withLock { $0.note(error, at: Lease.now(), isAway: isAway) }
  }

  /// Goes by other rules from now on.
  func update(to rules: DatabaseRules) { self.rules.withLock { $0 = rules } }

  /// Waits no longer for a database that cannot be reached.
  func giveUpWaiting() { givingUp.updateWakingAll { $0 = true } }

  /// Whether that was said.
  var hasGivenUp: Bool { givingUp.access { $0 } }

  /// Waits for so long, or until it is waited no longer.
  ///
  /// - Returns: Whether to go on.
  func pause(milliseconds: UInt32) -> Bool {
    let deadline = MonotonicClock.now().adding(milliseconds: Int64(milliseconds))
    return givingUp.wait(until: deadline) { $0 ? true : nil } == nil
  }

  /// Asks the database; while the relay starts, again and again where it meets trouble that may
  /// pass.
  func asking<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value {
    try patience.perform(body) { pause(milliseconds: limits.reconnectMs.upperBound / 2) }
  }

  /// The most names that may be known.
  var nameLimits: NameLimits { rules.withLock { $0.names } }

  /// The most acts that the audit log keeps.
  var auditEntriesMax: Int { rules.withLock { $0.auditEntriesMax } }

  /// The rough limit on the bytes of kept events.
  var eventLogBytesMax: Int64 { rules.withLock { $0.eventLogBytesMax } }

  /// How receipts are made; nil if none are.
  var receiptRules: ReceiptRules? { rules.withLock { $0.receipts } }

  /// Whether one of this name starts paused.
  func startsPaused(_ name: PauseName) -> Bool {
    rules.withLock { $0.startPauses.includes(name) }
  }
}
#endif
