import CLinux
import Glibc
import RelayCore
import Synchronization

/// One `epoll` loop on a thread of its own, which also runs Swift tasks.
///
/// As a `TaskExecutor` it runs every step of the tasks started on it: a connection's plain `async`
/// code resumes on the thread that saw its socket become ready. An actor runs on the loop by
/// returning ``serialExecutor`` from its `unownedExecutor`. The two are separate objects since a
/// task that runs "isolated to" an executor has to be queued anew at every call of a nonisolated
/// `async` function, while one that merely prefers it goes straight on.
///
/// The loop sleeps without a timeout unless a timer or a socket's deadline is pending: an idle
/// process is never woken.
package final class EventLoop: TaskExecutor, Sendable {
  /// The work that other threads leave for the loop; the lock is held for a few instructions only.
  private struct Inbox: ~Copyable {
    var jobs: [QueuedJob] = []
    var timers = TimerHeap()
    var timerOrder: UInt64 = 0
    /// Whether the loop is in, or about to enter, `epoll_wait` and needs a wake-up to see more.
    var isAsleep = false
    var isStopping = false
    var hasStopped = false
  }

  private let inbox = Mutex(Inbox())
  private let watches: WatchTable
  private let wakeUp: FileDescriptor
  private let thread = Mutex<Thread?>(nil)
  private let threadIdentity = Atomic<UInt>(0)
  private let nowNanoseconds = Atomic<Int64>(0)
  /// A lower bound of the deadlines of all waiting sockets.
  private let earliestDeadline = Atomic<Int64>(Int64.max)
  /// The number of returns from `epoll_wait`; for tests and metrics.
  private let wakeUps = Atomic<Int>(0)
  private let rounds = Mutex(Histogram(.loopMicroseconds))

  /// The executor for actors that live on this loop.
  package let serialExecutor = LoopSerialExecutor()

  /// The shortest time between two checks of socket deadlines, and so the most that they fire late.
  package static let deadlineGranularityMs: Int64 = 10

  /// Starts a loop.
  ///
  /// - Parameter name: The thread's name.
  /// - Throws: ``SystemError`` if the system has no descriptor or thread left.
  package init(name: String) throws(SystemError) {
    watches = try WatchTable()
    wakeUp = FileDescriptor(adopting: try systemCall("eventfd") { waystation_eventfd() })
    try watches.addWakeUp(wakeUp.number)
    updateNow()
    serialExecutor.attach(to: self)
    let thread = try Thread.spawn(name: name) { [self] in run() }
    self.thread.withLock { $0 = thread }
  }

  /// The monotonic time as of the beginning of the current job; costs no system call.
  ///
  /// It is late by at most the time that the job has run so far.
  package var now: MonotonicTime {
    MonotonicTime(nanoseconds: nowNanoseconds.load(ordering: .relaxed))
  }

  /// Whether the caller runs on the loop's own thread.
  package var isCurrentThread: Bool {
    threadIdentity.load(ordering: .relaxed) == UInt(bitPattern: Int(pthread_self()))
  }

  /// The number of returns from `epoll_wait`; it does not change while the loop is idle.
  package var wakeUpCount: Int { wakeUps.load(ordering: .relaxed) }

  /// The durations of the loop's rounds, from one look at the sockets to the next without the
  /// sleep.
  ///
  /// A socket that became ready meanwhile waited up to that long.
  ///
  /// Rounds are counted as they happen, without a timer: an idle loop is not woken for that.
  package var lag: Histogram { rounds.withLock { $0 } }

  /// Ends the loop once it has run every queued job, and waits for its thread.
  ///
  /// The caller first ends everything that runs on the loop. Must not be called from the loop's own
  /// thread.
  package func stop() {
    precondition(!isCurrentThread, "a loop cannot wait for itself")
    inbox.withLock { $0.isStopping = true }
    wake()
    thread.withLock { thread in
      defer { thread = nil }
      return thread
    }?.join()
  }
}

// MARK: - Jobs

/// A job, and whether it comes from an actor on the loop or from a task without isolation.
struct QueuedJob {
  let job: UnownedJob
  let isIsolated: Bool
}

extension EventLoop {
  /// Queues a task's next step; the runtime calls this, from any thread.
  package func enqueue(_ job: consuming ExecutorJob) {
    enqueue(QueuedJob(job: UnownedJob(job), isIsolated: false))
  }

  func enqueue(_ job: QueuedJob) {
    let (needsWake, hasStopped) = inbox.withLock { inbox in
      if inbox.hasStopped { return (false, true) }
      inbox.jobs.append(job)
      defer { inbox.isAsleep = false }
      return (inbox.isAsleep, false)
    }
    if hasStopped { return runAfterStop(job) }
    if needsWake { wake() }
  }

  /// Runs a job that came after ``stop()``: it still has to run, and the loop's thread is gone.
  private func runAfterStop(_ job: QueuedJob) {
    precondition(!job.isIsolated, "an actor outlived the event loop that it runs on")
    globalConcurrentExecutor.enqueue(job.job)
  }

  /// Makes a sleeping loop look at its inbox.
  fileprivate func wake() {
    var one: UInt64 = 1
    // EAGAIN would mean that 2^64 - 2 wake-ups are pending: the loop is awake then anyway.
    _ = Glibc.write(wakeUp.number, &one, 8)
  }
}

// MARK: - Timers

// Sound: the entry's one mutable field is read and written only under the loop's lock.
/// A timer that has been set and can be cancelled.
package struct ScheduledTimer: @unchecked Sendable {
  fileprivate let entry: TimerHeap.Entry
  fileprivate let loop: EventLoop

  /// Cancels the timer, from any thread; false if it has fired already, or is about to.
  @discardableResult
  package func cancel() -> Bool {
    loop.cancel(self)
  }
}

extension EventLoop {
  /// Runs a closure on the loop's thread at or shortly after a point in time.
  ///
  /// - Parameter action: Must not block: everything else on the loop waits for it.
  @discardableResult
  package func schedule(
    at due: MonotonicTime, _ action: @escaping @Sendable () -> Void
  ) -> ScheduledTimer {
    let (timer, needsWake) = inbox.withLock { inbox in
      let entry = TimerHeap.Entry(due: due, order: inbox.timerOrder, action: action)
      inbox.timerOrder += 1
      let isSooner = inbox.timers.earliest.map { due < $0 } ?? true
      inbox.timers.insert(entry)
      let needsWake = inbox.isAsleep && isSooner
      if needsWake { inbox.isAsleep = false }
      return (ScheduledTimer(entry: entry, loop: self), needsWake)
    }
    if needsWake { wake() }
    return timer
  }

  /// Runs a closure on the loop's thread after a delay in milliseconds.
  @discardableResult
  package func schedule(
    afterMs delayMs: Int64, _ action: @escaping @Sendable () -> Void
  ) -> ScheduledTimer {
    let due = MonotonicClock.now().nanoseconds + delayMs * 1_000_000
    return schedule(at: MonotonicTime(nanoseconds: due), action)
  }

  fileprivate func cancel(_ timer: ScheduledTimer) -> Bool {
    inbox.withLock { $0.timers.remove(timer.entry) }
  }

  /// Runs a closure on the loop's thread as soon as possible.
  package func execute(_ action: @escaping @Sendable () -> Void) {
    schedule(at: MonotonicTime(nanoseconds: 0), action)
  }

  /// Waits until a time, or until the task is cancelled.
  package func sleep(until due: MonotonicTime) async {
    let sleeper = Sleeper()
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        guard sleeper.begin(continuation) else { return continuation.resume() }
        sleeper.timer = schedule(at: due) { sleeper.finish() }
      }
    } onCancel: {
      sleeper.finish()
    }
  }
}

/// One sleeping task, woken by its timer or by its cancellation, whichever comes first.
private final class Sleeper: Sendable {
  private struct State {
    var continuation: UnsafeContinuation<Void, Never>?
    var timer: ScheduledTimer?
    var isOver = false
  }

  private let state = Mutex(State())

  var timer: ScheduledTimer? {
    get { state.withLock { $0.timer } }
    set {
      let isOver = state.withLock { state in
        state.timer = newValue
        return state.isOver
      }
      if isOver { newValue?.cancel() }
    }
  }

  /// False if the task was cancelled before it could fall asleep.
  func begin(_ continuation: UnsafeContinuation<Void, Never>) -> Bool {
    state.withLock { state in
      if state.isOver { return false }
      state.continuation = continuation
      return true
    }
  }

  func finish() {
    let (continuation, timer) = state.withLock { state in
      defer {
        state.isOver = true
        state.continuation = nil
      }
      return (state.continuation, state.timer)
    }
    timer?.cancel()
    continuation?.resume()
  }
}

// MARK: - The loop itself

extension EventLoop {
  private func run() {
    threadIdentity.store(UInt(bitPattern: Int(pthread_self())), ordering: .relaxed)
    var jobs: [QueuedJob] = []
    var events = EventBatch()
    while true {
      guard let timeoutMs = prepareToSleep() else { break }
      watches.wait(timeoutMs: timeoutMs, into: &events)
      wakeUps.wrappingAdd(1, ordering: .relaxed)
      updateNow()
      inbox.withLock { $0.isAsleep = false }
      watches.deliver(events, wakeUp: wakeUp.number)
      expireDeadlines()
      runTimers()
      runJobs(&jobs)
      noteRound()
    }
    watches.closeAll()
  }

  /// The time to sleep in milliseconds, -1 for ever; nil to end the loop.
  private func prepareToSleep() -> Int32? {
    inbox.withLock { inbox in
      if !inbox.jobs.isEmpty { return 0 }
      if inbox.isStopping {
        inbox.hasStopped = true
        return nil
      }
      inbox.isAsleep = true
      let timer = inbox.timers.earliest?.nanoseconds ?? Int64.max
      let due = min(timer, earliestDeadline.load(ordering: .sequentiallyConsistent))
      guard due != Int64.max else { return -1 }
      // Rounded up: a round that begins a moment early would have nothing to do.
      let waitMs = (due - MonotonicClock.now().nanoseconds + 999_999) / 1_000_000
      return Int32(clamping: max(0, waitMs))
    }
  }

  private func noteRound() {
    let tookUs = (MonotonicClock.now().nanoseconds - now.nanoseconds) / 1000
    rounds.withLock { $0.observe(tookUs) }
  }

  private func updateNow() {
    nowNanoseconds.store(MonotonicClock.now().nanoseconds, ordering: .relaxed)
  }

  private func runTimers() {
    while let entry = inbox.withLock({ $0.timers.popDue(at: now) }) {
      entry.action()
    }
  }

  /// Runs the jobs that are queued now; jobs that they queue wait until the sockets were looked at.
  private func runJobs(_ jobs: inout [QueuedJob]) {
    inbox.withLock { swap(&$0.jobs, &jobs) }
    let executor = asUnownedTaskExecutor()
    let serial = serialExecutor.asUnownedSerialExecutor()
    for queued in jobs {
      // A timeout that begins in this job must not include the time of the jobs before it.
      updateNow()
      if queued.isIsolated {
        queued.job.runSynchronously(isolatedTo: serial, taskExecutor: executor)
      } else {
        queued.job.runSynchronously(on: executor)
      }
    }
    jobs.removeAll(keepingCapacity: true)
  }
}

// MARK: - Descriptors

extension EventLoop {
  /// Begins to watch a descriptor, which must be in non-blocking mode.
  func watch(_ descriptor: consuming FileDescriptor) throws(SystemError) -> Watch {
    let number = descriptor.number
    let watch = Watch(descriptor, loop: self)
    try watches.add(watch, number: number)
    return watch
  }

  func unwatch(_ number: Int32) {
    watches.remove(number)
  }

  /// Makes sure that deadlines are checked when this one has passed.
  func note(deadline: MonotonicTime) {
    let new = deadline.nanoseconds
    if new >= earliestDeadline.load(ordering: .sequentiallyConsistent) { return }
    earliestDeadline.min(new, ordering: .sequentiallyConsistent)
    if isCurrentThread { return }
    let needsWake = inbox.withLock { inbox in
      defer { inbox.isAsleep = false }
      return inbox.isAsleep
    }
    if needsWake { wake() }
  }

  /// Wakes the sockets whose deadline has passed.
  ///
  /// Sockets carry their deadlines themselves, and the loop knows only a lower bound of them all.
  /// Most deadlines move on before they are reached. So setting one costs a comparison, and a scan
  /// over all sockets comes once per shortest timeout rather than once per read.
  private func expireDeadlines() {
    let now = now.nanoseconds
    guard earliestDeadline.load(ordering: .sequentiallyConsistent) <= now else { return }
    // Reset before the scan: a wait that begins meanwhile is seen by the scan, or lowers it again.
    earliestDeadline.store(Int64.max, ordering: .sequentiallyConsistent)
    let next = watches.expire(at: now)
    guard next != Int64.max else { return }
    let soonest = now + Self.deadlineGranularityMs * 1_000_000
    earliestDeadline.min(max(next, soonest), ordering: .sequentiallyConsistent)
  }
}

/// Runs actors on an event loop's thread, one job at a time.
package final class LoopSerialExecutor: SerialExecutor {
  // Set once, before the loop is handed to anyone, and owned by that loop.
  private let loop = Mutex<Unmanaged<EventLoop>?>(nil)

  fileprivate init() {}

  fileprivate func attach(to loop: EventLoop) {
    self.loop.withLock { $0 = Unmanaged.passUnretained(loop) }
  }

  /// Queues an actor's job; the runtime calls this, from any thread.
  package func enqueue(_ job: consuming ExecutorJob) {
    let loop = loop.withLock { $0?.takeUnretainedValue() }
    loop?.enqueue(QueuedJob(job: UnownedJob(job), isIsolated: true))
  }
}
