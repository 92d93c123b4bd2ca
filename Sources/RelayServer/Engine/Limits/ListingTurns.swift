import RelayCore
import Synchronization

/// Lets a few listings at a time read and write a piece, in the order in which they ask.
///
/// A listing of long rows takes hundreds of times as long as another request. With all of them at
/// once on the readers and the event loops, everybody else would wait until all are done.
package final class ListingTurns: Sendable {
  private struct State {
    var free: Int
    var waiting = Deque<UnsafeContinuation<Void, Never>>()
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
  package func begin() async {
    await withUnsafeContinuation { continuation in
      let isFree = state.withLock { state in
        guard state.free > 0 else {
          state.waiting.append(continuation)
          return false
        }
        state.free -= 1
        return true
      }
      if isFree { continuation.resume() }
    }
  }

  /// Gives a turn back, to whoever has waited for the longest.
  package func end() {
    let next = state.withLock { state in
      let next = state.waiting.popFirst()
      if next == nil { state.free += 1 }
      return next
    }
    next?.resume()
  }
}
