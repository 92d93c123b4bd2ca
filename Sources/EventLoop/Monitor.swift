import CLinux
import Glibc
import RelayCore

// Sound: `state` is only touched between lock and unlock of `mutex`, and both pthread objects stay
// at one address from init to deinit, as POSIX requires.
/// A value that threads share and wait for: a mutex and a condition variable.
///
/// `Synchronization.Mutex` has no condition to wait for, and a waiting thread must cost nothing.
package final class Monitor<State: Sendable>: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var state: State

  /// Shares `state`.
  package init(_ state: State) {
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
  package func access<Result>(_ body: (inout State) -> Result) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body(&state)
  }

  /// Wakes every waiting thread, after the state was changed by ``access(_:)``.
  package func wakeAll() { pthread_cond_broadcast(condition) }

  /// Changes the state, and wakes one waiting thread.
  package func update<Result>(_ body: (inout State) -> Result) -> Result {
    pthread_mutex_lock(mutex)
    let result = body(&state)
    pthread_mutex_unlock(mutex)
    pthread_cond_signal(condition)
    return result
  }

  /// Changes the state, and wakes every waiting thread.
  package func updateWakingAll(_ body: (inout State) -> Void) {
    pthread_mutex_lock(mutex)
    body(&state)
    pthread_mutex_unlock(mutex)
    pthread_cond_broadcast(condition)
  }

  /// Waits until `body` returns a result.
  ///
  /// - Returns: The result of `body`, or nil once `deadline` has passed.
  package func wait<Result>(
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
