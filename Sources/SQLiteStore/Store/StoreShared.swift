import RelayCore
import Synchronization

/// What the store's threads share.
final class StoreShared: Sendable {
  /// What ``SQLiteStore/statistics()`` and ``SQLiteStore/files()`` tell.
  struct Figures {
    var ledger = Ledger()
    var trouble: String?
    var lackOfRoom: StoreError?
    /// What the log holds and the database does not.
    var logBytes: Int64 = 0
    var commitCount: Int64 = 0
    var commits = CommitFigures()
    var damage = StoreDamage()
  }

  /// What waits for the writer.
  let inbox = Monitor(WriterInbox())
  /// As of the last commit.
  let figures = Mutex(Figures())
  /// Who is told of commits; set once.
  let observer = Mutex<(any StoreObserver)?>(nil)
  /// Asks for checkpoints.
  let checkpoints = WorkQueue<Void>()
  /// Whether a checkpoint is under way or due.
  let isCheckpointing = Atomic(false)
  /// The bodies that are too large for the database.
  let bodies: BodyFiles

  /// How far new envelopes may fill the disk.
  let room: DiskRoom

  /// Where the files are that the store has open.
  let places = StorePlaces()

  /// The database's file, as often as it was opened beside SQLite.
  ///
  /// Kept until every connection is closed: to close any descriptor of a file lets go of all locks
  /// that the process has on it (fcntl(2)), and SQLite's own keep other processes from taking the
  /// log away when they close the database.
  let openedBeside = Mutex<[ReadOnlyFile]>([])

  private let rules: Mutex<StoreRules>

  /// What the start has found.
  let start: StartFindings

  init(
    bodies: BodyFiles, room: DiskRoom, rules: StoreRules, start: StartFindings = StartFindings()
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

  /// How many bytes of events are kept, roughly at the most.
  var eventLogBytesMax: Int64 { rules.withLock { $0.eventLogBytesMax } }

  /// How many acts the audit log keeps at the most.
  var auditEntriesMax: Int { rules.withLock { $0.auditEntriesMax } }

  /// How many names may be known.
  var nameLimits: NameLimits { rules.withLock { $0.names } }

  /// Whether one of this name starts paused.
  func startsPaused(_ name: PauseName) -> Bool {
    rules.withLock { $0.startPauses.includes(name) }
  }
}
