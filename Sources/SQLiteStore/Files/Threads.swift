import Glibc
import RelayCore
import Synchronization

/// A value that threads share and wait for: a mutex and a condition variable.
///
/// `Synchronization.Mutex` has no condition to wait for, and a waiting thread must cost nothing.
// Sound: `state` is only touched between lock and unlock of `mutex`, and both pthread objects stay
// at one address from init to deinit, as POSIX requires.
final class Monitor<State: Sendable>: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var state: State

  /// Shares `state`.
  init(_ state: State) {
    self.state = state
    pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(condition, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  /// Reads the state, or changes it in a way for which no thread waits: it wakes none.
  func access<Result>(_ body: (inout State) -> Result) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body(&state)
  }

  /// Wakes every waiting thread, after the state was changed by ``access(_:)``.
  func wakeAll() { pthread_cond_broadcast(condition) }

  /// Changes the state, and wakes one waiting thread.
  func update<Result>(_ body: (inout State) -> Result) -> Result {
    pthread_mutex_lock(mutex)
    let result = body(&state)
    pthread_mutex_unlock(mutex)
    pthread_cond_signal(condition)
    return result
  }

  /// Changes the state, and wakes every waiting thread.
  func updateWakingAll(_ body: (inout State) -> Void) {
    pthread_mutex_lock(mutex)
    body(&state)
    pthread_mutex_unlock(mutex)
    pthread_cond_broadcast(condition)
  }

  /// Waits until `body` returns a result.
  ///
  /// - Returns: The result of `body`, or nil once `deadline` has passed.
  func wait<Result>(
    until deadline: MonotonicTime? = nil, _ body: (inout State) -> Result?
  ) -> Result? {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while true {
      if let result = body(&state) { return result }
      guard let deadline else {
        pthread_cond_wait(condition, mutex)
        continue
      }
      var time = timespec(
        tv_sec: Int(deadline.nanoseconds / 1_000_000_000),
        tv_nsec: Int(deadline.nanoseconds % 1_000_000_000))
      if pthread_cond_timedwait(condition, mutex, &time) == ETIMEDOUT { return body(&state) }
    }
  }
}

/// A queue of jobs for one or more threads, first in, first out.
final class WorkQueue<Job: Sendable>: Sendable {
  private struct State {
    var jobs: [Job] = []
    var taken = 0
    var isClosed = false
  }

  private let monitor = Monitor(State())

  /// Adds a job.
  ///
  /// - Returns: false if the queue has been closed; the job will not be done then.
  func push(_ job: Job) -> Bool {
    monitor.update { state in
      guard !state.isClosed else { return false }
      state.jobs.append(job)
      return true
    }
  }

  /// Waits for the next job; nil once the queue has been closed and all jobs are done.
  func next() -> Job? {
    let job: Job?? = monitor.wait { state in
      if state.taken < state.jobs.count {
        let job = state.jobs[state.taken]
        state.taken += 1
        if state.taken == state.jobs.count || state.taken > 1024 {
          state.jobs.removeFirst(state.taken)
          state.taken = 0
        }
        return .some(job)
      }
      return state.isClosed ? .some(nil) : nil
    }
    return job ?? nil
  }

  /// Closes the queue; queued jobs are still done.
  func close() {
    monitor.updateWakingAll { $0.isClosed = true }
  }
}

/// Passes a value that is not `Sendable` to the one thread that uses it from then on.
// Sound: the maker gives the value up when it puts it in here, and `take()` returns it once. So at
// every moment one thread has it.
final class Handover<Value: ~Copyable>: @unchecked Sendable {
  private var value: Value?
  private let isTaken = Atomic(false)

  /// Puts the value in; the caller must not use it any more.
  init(_ value: consuming Value) { self.value = consume value }

  /// Takes the value out, once.
  func take() -> Value {
    let wasTaken = isTaken.exchange(true, ordering: .acquiringAndReleasing)
    guard !wasTaken, let taken = value.take() else { preconditionFailure("handed over once") }
    return taken
  }
}
