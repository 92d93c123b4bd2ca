#if PostgreSQL
import RelayCore
import Synchronization

/// Holds results of reads back until everybody was told of the commits that they may have seen.
///
/// A reader's connection sees a commit before the writer has its answer. A page of the line that
/// shows what the scheduler has not been told of yet would have it counted wrong.
final class CommitGate: Sendable {
  /// Is called with whether everybody was told.
  typealias Waiter = @Sendable (_ isTold: Bool) -> Void

  private struct State: Sendable {
    /// Whether a transaction may be committed that nobody was told of.
    var isOpen = false
    var waiters: [Waiter] = []
  }

  private let state = Mutex(State())

  /// Notes that a transaction is about to be sent: from now on readers may see it.
  func begin() { state.withLock { $0.isOpen = true } }

  /// Notes that everybody was told of it, or that it was not made.
  func end() { letGo(isTold: true) }

  /// Notes that nobody knows for how long that will not be known: whoever waits gives up.
  func giveUp() { letGo(isTold: false) }

  private func letGo(isTold: Bool) {
    let waiters = state.withLock { state in
      if isTold { state.isOpen = false }
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter(isTold) }
  }

  /// Calls `resume` once everybody was told of all that can have been read by now.
  func whenTold(_ resume: @escaping Waiter) {
    let isTold = state.withLock { state in
      if state.isOpen { state.waiters.append(resume) }
      return !state.isOpen
    }
    if isTold { resume(true) }
  }
}
#endif
