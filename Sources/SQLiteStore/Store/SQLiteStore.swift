import EventLoop
import RelayCore
import SQLite
import Synchronization

/// The embedded store: one SQLite database in WAL mode, one thread that writes, a few that read.
///
/// `docs/decisions/0002-schema.md` says what lies where, and what that costs.
package final class SQLiteStore: EmbeddedStore {
  /// The options of opening a store, beside its folder.
  package struct Options: Sendable {
    /// The relay's clock.
    package var clock: @Sendable () -> WallTime
    /// The size of a page, for a store that is made anew: a power of two from 512 to 65,536.
    package var pageBytes: Int
    /// The rules that can be changed while the store is open.
    package var rules = StoreRules()
    /// Whether a damaged store is moved aside, and a new one begun; else it is refused.
    package var setsAsideDamaged = false

    /// The real clock and the page size that measured best.
    package init(
      clock: @escaping @Sendable () -> WallTime = { WallClock.now() }, pageBytes: Int? = nil,
      disk: DiskLimits = DiskLimits(), eventLogBytesMax: Int64? = nil,
      startPauses: StartPauses = StartPauses()
    ) {
      self.clock = clock
      self.pageBytes = pageBytes ?? StoreTuning.pageBytes
      rules.disk = disk
      rules.startPauses = startPauses
      if let eventLogBytesMax { rules.eventLogBytesMax = eventLogBytesMax }
    }
  }

  typealias ReadJob = @Sendable (Reader) -> Void

  let shared: StoreShared
  /// For the dispatcher alone, so that a slow listing never delays a delivery.
  let lineReads = WorkQueue<ReadJob>()
  /// For everybody else.
  let reads = WorkQueue<ReadJob>()
  let expiryWalk = Mutex(ExpiryWalk())
  let nameWalk = Mutex(NameWalk())
  let database: String
  let closing = Monitor(Closing())
  /// Whether a rescue is under way.
  let isRescuing = Atomic(false)

  /// The progress of the search for passed deadlines.
  struct ExpiryWalk {
    var cursor: Serial = 0
    var nextDeadline: WallTime?
  }

  /// The callers that wait for the store to be closed.
  struct Closing: Sendable {
    var isDone = false
    var waiters: [@Sendable () -> Void] = []
  }

  /// Goes by other rules from the next transaction on.
  ///
  /// Whether somebody starts paused is asked when the name becomes known, and never again.
  package func update(to rules: StoreRules) { shared.update(to: rules) }

  init(shared: StoreShared, database: String) {
    self.shared = shared
    self.database = database
  }

  // Without close() nobody waits; the threads still finish what they have, and end.
  deinit { shared.inbox.update { $0.isClosing = true } }

  // MARK: - Threads

  func startThreads(writer: Writer, data: consuming DataFolder) throws(StoreError) {
    var helpers: [Thread] = []
    for index in 0...StoreTuning.readerCount {
      let queue = index == 0 ? lineReads : reads
      let reader = Handover(
        try Reader(database: data.database, bodies: shared.bodies))
      helpers.append(
        try Self.spawn("store-read-\(index)") {
          let reader = reader.take()
          while let job = queue.next() { job(reader) }
        })
    }
    helpers.append(
      try Self.spawn("store-bodies") { [jobs = shared.bodies.jobs] in
        while let job = jobs.next() { job() }
      })
    helpers.append(try spawnCheckpoints(database: data.database))
    try shared.sync.open(log: data.database + "-wal")
    helpers.append(
      try Self.spawn("store-sync") { [shared] in shared.sync.run(shared.telling) })
    try spawnWriter(writer, data: data, helpers: helpers)
  }

  private func spawnCheckpoints(database: String) throws(StoreError) -> Thread {
    let connection = try Connection(path: database, access: .readWrite)
    try DatabaseFile.configure(connection, cacheKiB: 256)
    let handover = Handover(connection)
    return try Self.spawn("store-log") { [shared] in
      let connection = handover.take()
      while shared.checkpoints.next() != nil {
        // One pass, and no more: whether another one may begin is the writer's to say.
        let result = connection.checkpoint()
        shared.inbox.update { $0.pagesPassed = Int64(result.pages) }
      }
    }
  }

  private func spawnWriter(
    _ writer: Writer, data: consuming DataFolder, helpers: [Thread]
  ) throws(StoreError) {
    let writer = Handover<Writer>(writer)
    let folder = Handover(data)
    _ = try Self.spawn("store-write") { [shared, closing, lineReads, reads] in
      let folder = folder.take()
      Self.work(writer.take()) {
        Self.close(lineReads, reads, shared)
        for helper in helpers { helper.join() }
      }
      Self.release(folder)
      let waiters = closing.update { closing in
        closing.isDone = true
        defer { closing.waiters = [] }
        return closing.waiters
      }
      for waiter in waiters { waiter() }
    }
  }

  /// Runs the writer, and closes its connection after every other one, so that nothing is left of
  /// the log.
  private static func work(_ writer: consuming Writer, stopOthers: () -> Void) {
    writer.run()
    stopOthers()
    writer.connection.checkpoint(.truncate)
    // SQLite would delete the log by its name, under which there may be another store's by now.
    if writer.shared.places.displacement() != nil { writer.connection.keepLog() }
  }

  func closeQueues() { Self.close(lineReads, reads, shared) }

  private static func close(
    _ lineReads: WorkQueue<ReadJob>, _ reads: WorkQueue<ReadJob>, _ shared: StoreShared
  ) {
    lineReads.close()
    reads.close()
    shared.sync.close()
    shared.checkpoints.close()
    shared.bodies.jobs.close()
  }

  // The folder's lock goes with its last owner.
  private static func release(_ folder: consuming DataFolder) {}

  private static func spawn(
    _ name: String, _ body: @escaping @Sendable () -> Void
  ) throws(StoreError) -> Thread {
    do throws(SystemError) {
      return try Thread.spawn(name: name, body)
    } catch {
      throw StoreError(errno: error.code, operation: "start the thread", subject: name)
    }
  }
}
