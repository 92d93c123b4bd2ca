import RelayCore
import Synchronization

/// Lets a few listings at a time read and write a piece, in the order in which they ask.
///
/// A listing of long rows takes hundreds of times as long as another request. With all of them at
/// once on the readers and the event loops, everybody else would wait until all are done.
package final class ListingTurns: Sendable {
  private struct State {
    var free: Int
    var waiting = Deque<UnsafeContinuation<Result<Void, StoreError>, Never>>()
  }

  /// The number of turns at once: fewer than the store has readers, so that one is always free to
  /// look up a single envelope.
  package static let atOnceMax = 1

  private let state: Mutex<State>

  /// Makes turns of which `atOnceMax` can be held at once.
  package init(atOnceMax: Int = ListingTurns.atOnceMax) { state = Mutex(State(free: atOnceMax)) }

  /// The number of those that wait for a turn.
  package var waitingCount: Int { state.withLock { $0.waiting.count } }

  /// Waits for a turn; it is given back by ``end()``.
  ///
  /// - Throws: What ``refuse(_:)`` was told: there is no turn to give back then.
  package func begin() async throws(StoreError) {
    let result: Result<Void, StoreError> = await withUnsafeContinuation { continuation in
      let isFree = state.withLock { state in
        guard state.free > 0 else {
          state.waiting.append(continuation)
          return false
        }
        state.free -= 1
        return true
      }
      if isFree { continuation.resume(returning: .success(())) }
    }
    try result.get()
  }

  /// Tells all who wait that they would wait in vain, and why; turns that are held go on.
  package func refuse(_ error: StoreError) {
    var waiting = state.withLock { state in
      defer { state.waiting = Deque() }
      return state.waiting
    }
    while let continuation = waiting.popFirst() { continuation.resume(returning: .failure(error)) }
  }

  /// Gives a turn back, to whoever has waited for the longest.
  package func end() {
    let next = state.withLock { state in
      let next = state.waiting.popFirst()
      if next == nil { state.free += 1 }
      return next
    }
    next?.resume(returning: .success(()))
  }
}
