#if PostgreSQL
import EventLoop
import Postgres
import RelayCore
import Synchronization

/// A store in a PostgreSQL database.
///
/// It carries out the plans of `RelayCore/Planning`, as every store does: facts are gathered by one
/// round trip, and what the plans say is written by another one, in one transaction
/// (`docs/decisions/0058-a-store-on-postgresql.md`). One thread writes; reads have connections of
/// their own.
package final class PostgresStore: SharedStore {
  /// What may be set.
  package struct Options: Sendable {
    /// Where the time comes from.
    package var clock: @Sendable () -> WallTime
    /// The rules that can be changed while the store is open.
    package var rules = DatabaseRules()
    /// How safe what is committed is to be.
    package var durability = StoreDurability.local
    /// The host and port at which other relays reach this one; nil if they do not.
    package var relayAddress: String?
    /// The release, for the operators of other relays.
    package var version = ""
    /// The times by which relays take the store from each other: the same ones for all of them.
    package var lease = LeaseLimits()
    var identity: RelayIdentity { RelayIdentity(address: relayAddress, version: version) }

    /// Sets the clock.
    package init(clock: @escaping @Sendable () -> WallTime) { self.clock = clock }
  }

  let shared: DatabaseShared
  let reads = DatabaseJobs()
  /// The number of this use of the store.
  let process: Int64
  let lease: Lease
  let durability: StoreDurability
  private let epoch: Int64
  private let closing = Monitor(Closing())
  private let beginning = Monitor(Beginning.awaited)
  private let succession = Succession()

  /// Whether somebody listens to the commits.
  private enum Beginning: Sendable {
    case awaited
    case listening(any StoreObserver)
    /// The store was closed before.
    case never

    /// The listener; the outer nil while it is awaited.
    var observer: (any StoreObserver)?? {
      switch self {
      case .awaited: nil
      case .listening(let observer): .some(observer)
      case .never: .some(nil)
      }
    }
  }

  private struct Closing: Sendable {
    var isDone = false
    var waiters: [@Sendable () -> Void] = []
  }

  /// Opens the store at once, and takes it from whoever had it; see ``open(at:_:waiting:)``.
  ///
  /// - Throws: ``StoreError`` if the database cannot be reached or used.
  package convenience init(
    at address: PostgresAddress, _ options: Options
  ) throws(StoreError) {
    let servers = ServerChoice(address)
    let seat = try Seat.taken(at: servers, options.identity, DatabaseLimits())
    try self.init(seat, at: servers, options)
  }

  /// Begins with a seat that has just been taken.
  ///
  /// - Parameters:
  ///   - tell: Is told what keeps it from reading what it needs, each time that it tries.
  ///   - isOver: Waits for so many milliseconds; whether to try no more after that.
  /// - Throws: ``StoreError/Kind/leaseLost`` if another relay has taken the store meanwhile.
  init(
    _ seat: Seat, at servers: ServerChoice, _ options: Options,
    tell: (StoreError) -> Void = { _ in },
    isOver: (_ milliseconds: Int64) -> Bool = { _ in true }
  ) throws(StoreError) {
    epoch = seat.epoch
    process = seat.process
    durability = options.durability
    var limits = DatabaseLimits()
    limits.lease = options.lease
    let lease = Lease(takenAt: seat.takenAt, limits)
    self.lease = lease
    // It beats from the beginning: counting may take longer than a lease.
    let keeper = LeaseKeeper(of: seat, options.identity, lease, at: servers)
    let beating = try Self.spawn("store-lease") { keeper.run() }
    do throws(StoreError) {
      let begun = try StoreStart.read(
        at: servers, takenUnder: epoch, lease, options.durability, tell: tell, isOver: isOver)
      shared = DatabaseShared(clock: options.clock, options.rules, begun.figures)
      try startThreads(at: servers, Handover(seat), begun, keeper, beating)
    } catch {
      lease.end()
      beating.join()
      // The next one need not wait until this one is dead.
      if error.kind != .leaseLost { seat.leave() }
      throw error
    }
  }

  /// Goes by other rules from the next transaction on.
  ///
  /// Whether somebody starts paused is asked when the name becomes known, and never again.
  package func update(to rules: DatabaseRules) { shared.update(to: rules) }

  // Without close() nobody waits; the threads still finish what they have, and end.
  deinit { Self.stop(shared, beginning) }

  private static func stop(_ shared: DatabaseShared, _ beginning: Monitor<Beginning>) {
    beginning.updateWakingAll { if case .awaited = $0 { $0 = .never } }
    shared.inbox.update { $0.isClosing = true }
  }

  /// Starts to take calls, and tells `observer` of every commit from then on.
  ///
  /// - Precondition: called once, before any other call.
  package func start(observer: any StoreObserver) {
    beginning.updateWakingAll { $0 = .listening(observer) }
  }

  private func startThreads(
    at servers: ServerChoice, _ seat: Handover<Seat>, _ begun: StoreStart,
    _ keeper: LeaseKeeper, _ beating: Thread
  ) throws(StoreError) {
    let (shared, closing, reads, beginning) = (shared, closing, reads, beginning)
    let (lease, succession) = (lease, succession)
    let watch = DurabilityWatch(durability, shared, reads.queue)
    var readers: [Thread] = []
    func spawnReader(_ name: String, of jobs: DatabaseJobs) throws(StoreError) {
      readers.append(
        try Self.spawn(name) {
          let reader = DatabaseReader(at: servers, shared.limits) { shared.hasGivenUp }
          while let job = jobs.queue.next() {
            reader.outage = nil
            job(reader)
            if let error = reader.outage { shared.noteReadFailure(error, lease) }
          }
        })
    }
    for index in 0..<shared.limits.readerCount {
      try spawnReader("store-read-\(index)", of: reads)
    }
    let bodies = shared.bodies
    try spawnReader("store-bodies", of: bodies.jobs)
    if begun.hasPendingBodies { bodies.sweep() }
    let joined = readers
    _ = try Self.spawn("store-write") {
      let seat = seat.take()
      if let observer = beginning.wait(\.observer) ?? nil {
        keeper.tell(observer)
        keeper.afterBeat { watch.lookIfDue(isAnew: $0) }
        DatabaseWriter(seat, begun, shared, observer).run()
      }
      lease.end()
      beating.join()
      // Nothing is attempted any more: the next one need not wait until this one is dead.
      seat.leave()
      reads.queue.close()
      bodies.jobs.queue.close()
      for reader in joined { reader.join() }
      let waiters = closing.update { closing in
        closing.isDone = true
        defer { closing.waiters = [] }
        return closing.waiters
      }
      for waiter in waiters { waiter() }
      if lease.isLeaving { succession.look(by: seat, lease.limits.lease) }
    }
  }

  static func spawn(
    _ name: String, _ body: @escaping @Sendable () -> Void
  ) throws(StoreError) -> Thread {
    do throws(SystemError) {
      return try Thread.spawn(name: name, body)
    } catch {
      throw StoreError(
        kind: .other, operation: "start the thread", subject: name, detail: error.description)
    }
  }

  /// Finishes the work that was handed over, and closes.
  ///
  /// Later calls throw ``StoreError/Kind/closed``.
  package func close() async {
    Self.stop(shared, beginning)
    await withCheckedContinuation { continuation in
      let isDone = closing.update { closing in
        if !closing.isDone { closing.waiters.append { continuation.resume() } }
        return closing.isDone
      }
      if isDone { continuation.resume() }
    }
  }

  /// See ``EnvelopeStore``.
  package func giveUpWaiting() -> String? {
    shared.giveUpWaiting()
    return shared.figures.withLock { $0.trouble } ?? lease.trouble
  }

  /// See ``SharedStore``.
  package func bearTrouble(_ tell: (@Sendable (StoreError) -> Void)?) {
    shared.patience.bear(for: shared.limits.lease.refusalMs, tell)
  }

  /// See ``SharedStore``.
  package func announceHandover() -> Int64 {
    lease.announceEnd()
    return lease.limits.lease.noticeMs
  }

  /// See ``SharedStore``.
  package func successor() async -> Successor? { await succession.wait() }

  /// See ``EnvelopeStore``.
  package var mayAttempt: Bool { lease.isGood }

  /// The shards that this relay delivers for: all, until somebody else takes them.
  package func leases() -> [ShardLease] {
    (0..<Shard.count).map { ShardLease(shard: $0, epoch: epoch) }
  }
}
#endif
