import EventLoop
import Glibc
import RelayCore
import SQLite
import Synchronization

/// A transaction that stands in the log, to be told of once that is on the disk.
struct WrittenTransaction: Sendable {
  /// Its effects, for those who wait.
  let receipt: Receipt
  /// Its effects, for the observer.
  let commit: Commit
  /// The number of changes in it.
  let changeCount: Int
  /// Whether somebody relies on what was written.
  let isReliedOn: Bool
  /// What was reserved for it and, in the end, not changed.
  let reservations: Reservations
  /// The last row of the log of events.
  let lastEventRow: Int64
  /// The start of the commit.
  let begin: MonotonicTime
}

/// The syncs of the log, which acknowledgements wait for.
///
/// SQLite commits with `synchronous=NORMAL`, which leaves the sync of the log to others: a
/// checkpoint syncs the log before it copies anything from it
/// (<https://www.sqlite.org/pragma.html#pragma_synchronous>). `docs/decisions/0055` says why.
final class LogSync: Sendable {
  private let queue = Monitor(SyncQueue<WrittenTransaction>())
  private let log = Mutex<OpenLog?>(nil)
  private let mark = Mutex<AcknowledgedMark?>(nil)

  /// The log, opened beside SQLite.
  ///
  /// It holds no locks there, so that closing it loses none.
  private final class OpenLog: Sendable {
    let file: FileDescriptor
    let path: String

    init(_ path: String) throws(StoreError) {
      file = try FileDescriptor.open(path, O_RDONLY)
      self.path = path
    }

    /// The two salts of its header (<https://www.sqlite.org/fileformat.html#walformat>).
    var generation: UInt64? {
      var salts: UInt64 = 0
      let size = MemoryLayout<UInt64>.size
      return pread(file.number, &salts, size, 16) == size ? salts : nil
    }

    func sync() throws(StoreError) {
      while fdatasync(file.number) != 0 {
        guard errno == EINTR else {
          throw StoreError(errno: errno, operation: "sync", subject: path)
        }
      }
    }
  }

  /// Opens the log, which is there already; called once, before the first commit.
  func open(log path: String) throws(StoreError) {
    let opened = try OpenLog(path)
    log.withLock { $0 = opened }
  }

  /// Has it noted how far the log of events goes that is on the disk.
  func note(in mark: AcknowledgedMark?) { self.mark.withLock { $0 = mark } }

  // MARK: - For the writer's thread

  /// Waits until another commit may be made.
  func awaitRoom() {
    let _: Void? = queue.wait { queue in
      queue.openCount < StoreTuning.unsyncedCommitsMax ? () : nil
    }
  }

  /// Waits until every commit has been told of.
  func awaitTold() {
    let _: Void? = queue.wait { queue in queue.openCount == 0 ? () : nil }
  }

  /// Announces that a commit is about to be made.
  func begin() { queue.access { $0.begin() } }

  /// Takes that back, since nothing was committed.
  func withdraw() {
    for resume in queue.access({ $0.withdraw() }) { resume() }
  }

  /// Has a commit synced and told of: now, or on the thread of ``run(telling:)`` while the writer
  /// goes on.
  func handOver(
    _ transaction: WrittenTransaction, hasMoreToDo: Bool, telling: Telling
  ) {
    // To wake the other thread for nothing takes longer than a small commit.
    let isOwn = queue.access { queue in
      queue.handOver(
        transaction, changeCount: transaction.changeCount, hasMoreToDo: hasMoreToDo)
    }
    guard isOwn else { return queue.wakeAll() }
    complete([transaction], isOwn: true, telling)
  }

  /// What tells the log from one that was started over: another number each time.
  ///
  /// Nil if it cannot be read.
  var logGeneration: UInt64? { log.withLock { $0 }?.generation }

  // MARK: - For the others

  /// How to tell of a transaction, and what to do where a sync fails.
  struct Telling {
    /// Tells everybody of a transaction that is on the disk.
    let tell: (WrittenTransaction) -> Void
    /// Ends the process: nobody knows any more what is on the disk.
    let giveUp: (StoreError) -> Never
  }

  /// Syncs and tells until the queue is closed and empty.
  func run(_ telling: Telling) {
    while true {
      let taken: [WrittenTransaction]?? = queue.wait { queue in
        if let taken = queue.take() { return .some(taken) }
        return queue.isClosing && queue.isIdle ? .some(nil) : nil
      }
      guard let taken = taken ?? nil else { return }
      complete(taken, isOwn: false, telling)
    }
  }

  /// Calls `resume` once everything that can be read now has been told of: what a power cut could
  /// still take back is shown to nobody.
  func whenTold(_ resume: @escaping @Sendable () -> Void) {
    let isTold = queue.access { $0.wait(resume) }
    if isTold { resume() }
  }

  /// Ends ``run(_:)`` once everything has been told of.
  func close() { queue.updateWakingAll { $0.isClosing = true } }

  /// - Parameter isOwn: Whether the writer itself does it.
  private func complete(
    _ transactions: [WrittenTransaction], isOwn: Bool, _ telling: Telling
  ) {
    let begin = MonotonicClock.now()
    do throws(StoreError) {
      try log.withLock { $0 }?.sync()
    } catch {
      telling.giveUp(error)
    }
    let syncMicroseconds = (MonotonicClock.now().nanoseconds - begin.nanoseconds) / 1000
    // Before anybody is told: what they are told of has to be missed.
    if let last = transactions.last { mark.withLock { $0 }?.note(events: last.lastEventRow) }
    for transaction in transactions { telling.tell(transaction) }
    let (ready, isAwaited) = queue.access { queue in
      // Only the writer waits for an end, and the other thread for the last one.
      (queue.finish(after: syncMicroseconds), !isOwn || queue.isClosing)
    }
    if isAwaited { queue.wakeAll() }
    for resume in ready { resume() }
  }
}
