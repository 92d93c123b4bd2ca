import Synchronization

/// The worker whose task serves a connection now, if any does.
///
/// A cancellation applies to later workers too.
struct ServingTask: ~Copyable, Sendable {
  /// Not private: the compiler of Swift 6.3 fails at that in a type that cannot be copied.
  struct State {
    fileprivate var worker: Worker?
    fileprivate var isCancelled = false
  }

  private let state = Mutex(State())

  /// Notes that a worker begins to serve the connection.
  func begin(_ worker: Worker) {
    let isCancelled = state.withLock { state in
      precondition(state.worker == nil, "two workers would serve one connection")
      state.worker = worker
      return state.isCancelled
    }
    if isCancelled { worker.cancel() }
  }

  /// Notes that the worker leaves the connection.
  ///
  /// - Returns: Whether its task may serve others: not if it was or is about to be cancelled.
  func end() -> Bool {
    state.withLock { state in
      state.worker = nil
      return !state.isCancelled
    }
  }

  /// Cancels the task, and those that follow; may be called from any thread.
  func cancel() {
    // Not under the lock, since a cancelled task may do anything. A worker that leaves meanwhile
    // does not serve others, so this cannot hit the wrong connection.
    let worker = state.withLock { state in
      state.isCancelled = true
      return state.worker
    }
    worker?.cancel()
  }
}
