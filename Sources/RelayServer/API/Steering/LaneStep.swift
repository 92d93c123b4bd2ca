import Synchronization

/// One envelope's step of an operation that acts on lanes in their order.
///
/// It begins once the one before it in its lane has passed. That one passes when its change is on
/// its way to the disk, and changes get there in the order in which they set out: so a lane keeps
/// its order, and the changes of several steps still go into one commit.
final class LaneStep: Sendable {
  private struct State {
    var hasPassed = false
    var next: UnsafeContinuation<Void, Never>?
  }

  private let former: LaneStep?
  private let state = Mutex(State())

  /// - Parameter former: The step before it in its lane, which no other one follows; nil if it is
  ///   the first.
  init(after former: LaneStep?) { self.former = former }

  /// Waits until the one before it has passed.
  func begin() async {
    guard let former else { return }
    await withUnsafeContinuation { continuation in
      let hasPassed = former.state.withLock { state in
        if !state.hasPassed { state.next = continuation }
        return state.hasPassed
      }
      if hasPassed { continuation.resume() }
    }
  }

  /// Lets the one behind it begin; does nothing the second time.
  func pass() {
    let next = state.withLock { state in
      state.hasPassed = true
      defer { state.next = nil }
      return state.next
    }
    next?.resume()
  }
}
