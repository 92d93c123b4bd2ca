import EventLoop
import RelayCore
import SQLitePages
import Synchronization

/// The state that the store's threads share.
final class StoreShared: Sendable {
  /// The figures of ``SQLiteStore/statistics()`` and ``SQLiteStore/files()``.
  struct Figures {
    var ledger = Ledger()
    var trouble: String?
    var lackOfRoom: StoreError?
    /// The bytes that are in the log and not yet in the database.
    var logBytes: Int64 = 0
    var commitCount: Int64 = 0
    var commits = CommitFigures()
    var damage = StoreDamage()
    var receipts = ReceiptTally()
  }

  /// The requests that wait for the writer.
  let inbox = Monitor(WriterInbox())
  /// The syncs of the log.
  let sync = LogSync()
  /// As of the last commit.
  let figures = Mutex(Figures())
  /// The observer of commits; set once.
  let observer = Mutex<(any StoreObserver)?>(nil)
  /// Asks for passes over the log.
  let checkpoints = WorkQueue<Void>()
  /// The bodies that are too large for the database.
  let bodies: BodyFiles

  /// The limits on the disk's use by new envelopes.
  let room: DiskRoom

  /// The places of the files that the store has open.
  let places = StorePlaces()

  /// The database's file, as often as it was opened beside SQLite.
  ///
  /// Kept until every connection is closed: to close any descriptor of a file lets go of all locks
  /// that the process has on it (fcntl(2)), and SQLite's own keep other processes from taking the
  /// log away when they close the database.
  let openedBeside = Mutex<[ReadOnlyFile]>([])

  private let rules: Mutex<StoreRules>

  /// The findings of the start.
  let start: StartFindings

  init(
    bodies: BodyFiles, room: DiskRoom, rules: StoreRules,
    start: StartFindings = StartFindings()
  ) {
    self.start = start
    self.rules = Mutex(rules)
    self.bodies = bodies
    self.room = room
  }

  /// Goes by other rules from now on.
  func update(to rules: StoreRules) {
    self.rules.withLock { $0 = rules }
    room.setLimits(rules.disk)
  }

  /// The rough limit on the bytes of kept events.
  var eventLogBytesMax: Int64 { rules.withLock { $0.eventLogBytesMax } }

  /// The most acts that the audit log keeps.
  var auditEntriesMax: Int { rules.withLock { $0.auditEntriesMax } }

  /// The most names that may be known.
  var nameLimits: NameLimits { rules.withLock { $0.names } }

  /// How receipts are made; nil if none are.
  var receiptRules: ReceiptRules? { rules.withLock { $0.receipts } }

  /// Whether one of this name starts paused.
  func startsPaused(_ name: PauseName) -> Bool {
    rules.withLock { $0.startPauses.includes(name) }
  }
}

// What follows once a transaction is on the disk: on the writer's thread, or on the one that syncs.
extension StoreShared {
  /// See ``LogSync/run(_:)``.
  var telling: LogSync.Telling {
    LogSync.Telling(tell: { self.tell($0) }, giveUp: { self.giveUp($0) })
  }

  /// Tells the observer, and everybody who waits.
  private func tell(_ transaction: WrittenTransaction) {
    let refusal = transaction.isReliedOn ? displacementBehindCommit() : nil
    let receipt = transaction.receipt
    bodies.delete(receipt.deletedFiles)
    note(transaction)
    let observer = observer.withLock { $0 }
    if let observer, !transaction.commit.isEmpty {
      observer.committed(transaction.commit) { receipt.answer($0, refusal: refusal) }
    } else {
      precondition(transaction.commit.changes.isEmpty, Writer.unstarted)
      receipt.answer(CommitPositions(), refusal: refusal)
    }
    receipt.finish(refusal: refusal)
    if !transaction.reservations.isEmpty { observer?.released(transaction.reservations) }
  }

  /// Looks, before anybody is told of a commit, whether the files that it went into are still in
  /// their places.
  ///
  /// - Returns: The answer instead of that it is stored; nil if it is.
  private func displacementBehindCommit() -> StoreError? {
    guard let error = places.displacement(at: MonotonicClock.now()) else { return nil }
    inbox.update { $0.isRoomInDoubt = true }
    return error
  }

  private func note(_ transaction: WrittenTransaction) {
    let durationUs = (MonotonicClock.now().nanoseconds - transaction.begin.nanoseconds) / 1000
    figures.withLock { figures in
      figures.commitCount += 1
      figures.commits.note(durationUs: durationUs, changeCount: transaction.changeCount)
    }
  }

  /// Ends the process.
  ///
  /// What was committed since the last sync may be on the disk or not: the kernel does not say, and
  /// does not try again (fsync(2), `EIO`). Later commits build upon it. A start finds out what is
  /// there.
  private func giveUp(_ error: StoreError) -> Never {
    guard let observer = observer.withLock({ $0 }) else { preconditionFailure("\(error)") }
    observer.syncFailed(error)
  }
}

/// The settings of a store that can be changed while it is open.
package struct StoreRules: Sendable, Equatable {
  /// The limits on the disk.
  package var disk = DiskLimits()
  /// The bytes of events that are kept; the log may be larger by a sixteenth before its oldest rows
  /// are deleted.
  package var eventLogBytesMax: Int64
  /// The number of acts that the audit log keeps, at least 1; older ones are deleted.
  package var auditEntriesMax = 100_000
  /// The upstreams, clients and lanes that start paused.
  package var startPauses = StartPauses()
  /// The limits on known names.
  package var names = NameLimits()

  /// How receipts are made; nil if none are.
  package var receipts: ReceiptRules?

  /// Sets no limits but the disk's and the store's own, and no start pauses.
  package init() { eventLogBytesMax = StoreTuning.eventLogBytesMax }
}
