#if PostgreSQL
import EventLoop
import RelayCore
import Synchronization

/// Finds out which relay has the store after one that has given it up.
final class Succession: Sendable {
  private enum State {
    case unknown([CheckedContinuation<Successor?, Never>])
    case known(Successor?)
  }

  private let state = Mutex(State.unknown([]))

  /// Looks until another relay has the store, but no longer than ``LeaseLimits/successionMs``.
  ///
  /// Blocks its thread.
  ///
  /// - Parameter seat: One that was left; its connection is looked by.
  func look(by seat: Seat, _ limits: LeaseLimits) {
    let deadline = MonotonicClock.now().adding(milliseconds: limits.successionMs)
    let never = Monitor(())
    var found: Successor?
    // Without the database nobody else is seen, nor can anybody take the store.
    while let standing = try? seat.standing() {
      found = standing.first.map { Successor(address: $0.address) }
      guard found == nil, MonotonicClock.now() < deadline, (try? seat.hasOthers()) == true else {
        break
      }
      let next = MonotonicClock.now().adding(milliseconds: limits.handoverLookMs)
      _ = never.wait(until: next) { _ -> Void? in nil }
    }
    end(found)
  }

  private func end(_ found: Successor?) {
    let former = state.withLock { state in
      defer { state = .known(found) }
      return state
    }
    guard case .unknown(let waiters) = former else { return }
    for waiter in waiters { waiter.resume(returning: found) }
  }

  /// Waits until it is known.
  func wait() async -> Successor? {
    await withCheckedContinuation { continuation in
      let known: Successor?? = state.withLock { state in
        switch state {
        case .known(let found): return found
        case .unknown(let waiters):
          state = .unknown(waiters + [continuation])
          return nil
        }
      }
      if let known { continuation.resume(returning: known) }
    }
  }
}
#endif
