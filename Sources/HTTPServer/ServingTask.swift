import Synchronization

/// Which worker's task serves a connection just now, if any does.
///
/// What cancels it goes for those that follow, too.
struct ServingTask: ~Copyable, Sendable {
  /// Not private: the compiler of Swift 6.3 fails at that in a type that cannot be copied.
  struct State {
    fileprivate var worker: Worker?
    fileprivate var isCancelled = false
  }

  private let state = Mutex(State())

  /// A worker begins to serve the connection.
  func begin(_ worker: Worker) {
    let isCancelled = state.withLock { state in
      precondition(state.worker == nil, "two workers would serve one connection")
      state.worker = worker
      return state.isCancelled
    }
    if isCancelled { worker.cancel() }
  }

  /// The worker leaves the connection.
  ///
  /// - Returns: Whether its task may serve others: not if it was cancelled, or is about to be.
  func end() -> Bool {
    state.withLock { state in
      state.worker = nil
      return !state.isCancelled
    }
  }

  /// Cancels the task, and those that follow; from any thread.
  func cancel() {
    // Not under the lock, since who is told of it may do anything. A worker that leaves meanwhile
    // does not go on to others, so that this cannot hit the wrong one.
    let worker = state.withLock { state in
      state.isCancelled = true
      return state.worker
    }
    worker?.cancel()
  }
}
