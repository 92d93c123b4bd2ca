import EventLoop
import RelayCore
import Synchronization

/// Wakes those who wait for a change, or lets them go on after a while.
final class ChangeBell: Sendable {
  private struct State {
    var waiters: [UInt64: UnsafeContinuation<Void, Never>] = [:]
    var lastID: UInt64 = 0
    /// How often it was rung.
    var strokes: UInt64 = 0
  }

  private let state = Mutex(State())
  private let loop: EventLoop

  /// - Parameter loop: The loop that keeps the time.
  init(on loop: EventLoop) { self.loop = loop }

  /// How often it was rung: what was seen before this was asked may have changed since.
  var strokes: UInt64 { state.withLock { $0.strokes } }

  /// Something has changed.
  func ring() {
    let waiters = state.withLock { state in
      state.strokes += 1
      defer { state.waiters = [:] }
      return state.waiters
    }
    for waiter in waiters.values { waiter.resume() }
  }

  /// Waits until it was rung more often than that, but no longer than for some milliseconds.
  func wait(after strokes: UInt64, atMostMs milliseconds: Int64) async {
    await withUnsafeContinuation { continuation in
      let id = state.withLock { state -> UInt64? in
        guard state.strokes == strokes else { return nil }
        state.lastID += 1
        state.waiters[state.lastID] = continuation
        return state.lastID
      }
      guard let id else { return continuation.resume() }
      _ = loop.schedule(afterMs: milliseconds) { [self] in
        state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
      }
    }
  }
}
