import RelayCore
import Synchronization

/// What the store's threads share.
final class StoreShared: Sendable {
  /// What ``SQLiteStore/statistics()`` tells.
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

  /// How many bytes of events are kept, roughly at the most.
  let eventLogBytesMax: Int64

  /// How many acts the audit log keeps at the most.
  let auditEntriesMax: Int

  /// Who starts paused.
  let startPauses: StartPauses

  /// What the start has found.
  let start: StartFindings

  init(
    bodies: BodyFiles, room: DiskRoom, eventLogBytesMax: Int64, auditEntriesMax: Int,
    startPauses: StartPauses, start: StartFindings = StartFindings()
  ) {
    self.start = start
    self.startPauses = startPauses
    self.bodies = bodies
    self.room = room
    self.eventLogBytesMax = eventLogBytesMax
    self.auditEntriesMax = auditEntriesMax
  }
}
