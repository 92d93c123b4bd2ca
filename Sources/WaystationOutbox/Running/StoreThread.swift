import Dispatch
import RelayCore
import Synchronization

/// Runs the core on a thread of its own, and puts what comes together into one transaction.
///
/// Each job sees the core as the jobs before it left it. Nobody is answered, and nothing is sent
/// that rests on the transaction, before it is on the disk. If the disk fails, all jobs of the
/// transaction fail, and the core is as it was before.
// Sound: `core` is only touched by the one serial queue.
final class StoreThread: @unchecked Sendable {
  /// A job, and what is done with its result once the transaction is over.
  private struct Job {
    /// Runs on the core; returns what is called once the transaction is on the disk.
    let run: (OutboxCore) throws(StoreError) -> () -> Void
    /// Called in place of that if it is not.
    let fail: (StoreError) -> Void
    /// Whether something may have to be sent afterwards.
    let changes: Bool
  }

  private struct Inbox {
    var jobs: [Job] = []
    var isScheduled = false
    var isClosed = false
  }

  private let queue = DispatchQueue(label: "waystation.outbox")
  // Sound: jobs are made by any task, and run and released by the one serial queue.
  private let inbox = Mutex<UncheckedBox<Inbox>>(UncheckedBox(Inbox()))
  private var core: OutboxCore?
  private let now: @Sendable (Int64) -> Moment
  private let perform: @Sendable ([Effect]) -> Void
  private let damaged: @Sendable (StoreError) -> Void
  private let failing: @Sendable (StoreError) -> Void
  /// Whether the disk has not taken the last transaction.
  private var isFailing = false

  /// The most jobs of one transaction.
  private static let jobsMax = 1024

  init(
    _ core: sending OutboxCore, now: @escaping @Sendable (Int64) -> Moment,
    perform: @escaping @Sendable ([Effect]) -> Void,
    damaged: @escaping @Sendable (StoreError) -> Void,
    failing: @escaping @Sendable (StoreError) -> Void
  ) {
    core.early = perform
    self.core = core
    self.now = now
    self.perform = perform
    self.damaged = damaged
    self.failing = failing
  }

  /// Does something with the core, and returns once it is on the disk.
  ///
  /// - Parameter changes: Whether it may have changed what goes next.
  func run<Value: Sendable>(
    changes: Bool = true,
    _ work: @escaping @Sendable (OutboxCore, Moment) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    let result: Result<Value, StoreError> = await withUnsafeContinuation { continuation in
      let job = Job(
        run: { [now] core throws(StoreError) in
          let value = try work(core, now(core.state.boot))
          return { continuation.resume(returning: .success(value)) }
        }, fail: { continuation.resume(returning: .failure($0)) }, changes: changes)
      if !push(job) { continuation.resume(returning: .failure(.outboxClosed)) }
    }
    return try result.get()
  }

  /// Ends the thread's work: the database is closed when this returns.
  func close() async {
    inbox.withLock { $0.value.isClosed = true }
    await withUnsafeContinuation { continuation in
      queue.async {
        self.drain()
        self.rest()
        self.core = nil
        continuation.resume()
      }
    }
  }

  private func push(_ job: Job) -> Bool {
    let (isTaken, mustSchedule) = inbox.withLock { inbox in
      guard !inbox.value.isClosed else { return (false, false) }
      inbox.value.jobs.append(job)
      defer { inbox.value.isScheduled = true }
      return (true, !inbox.value.isScheduled)
    }
    if mustSchedule { queue.async { self.drain() } }
    return isTaken
  }

  // MARK: - On the thread

  private func drain() {
    while true {
      let jobs = inbox.withLock { inbox in
        let taken = Array(inbox.value.jobs.prefix(Self.jobsMax))
        inbox.value.jobs.removeFirst(taken.count)
        if taken.isEmpty { inbox.value.isScheduled = false }
        return UncheckedBox(taken)
      }
      guard !jobs.value.isEmpty else { return }
      transact(jobs.value)
    }
  }

  /// Leaves the database as a crash would not.
  ///
  /// The app was perhaps being asked about an item: this is no death of it.
  private func rest() {
    guard let core, core.state.preparing != nil || core.hasPromise else { return }
    do throws(StoreError) {
      try core.begin()
      if core.state.preparing != nil { try core.endPreparing() }
      try core.endPromise()
      _ = try core.commit()
    } catch {
      core.rollBack()
    }
  }

  private func transact(_ jobs: [Job]) {
    guard let core else {
      for job in jobs { job.fail(.outboxClosed) }
      return
    }
    do throws(StoreError) {
      try core.begin()
      var completions: [() -> Void] = []
      for job in jobs { completions.append(try job.run(core)) }
      if jobs.contains(where: \.changes) { try core.pump(at: now(core.state.boot)) }
      let effects = try core.commit()
      isFailing = false
      for completion in completions { completion() }
      perform(effects)
    } catch {
      core.rollBack()
      if error.kind == .corrupt {
        damaged(error)
      } else if !isFailing {
        isFailing = true
        failing(error)
      }
      for job in jobs { job.fail(error) }
    }
  }
}

/// Carries a value that is not `Sendable` between the threads that use it one after the other.
// Sound: the inbox above hands each job from the task that made it to the one serial queue, and no
// job is touched by both at a time.
struct UncheckedBox<Value>: @unchecked Sendable {
  var value: Value
  init(_ value: Value) { self.value = value }
}

extension StoreError {
  /// The outbox was closed.
  static let outboxClosed = StoreError(
    kind: .closed, operation: "use", subject: "the outbox", detail: "it has been closed.")
}
