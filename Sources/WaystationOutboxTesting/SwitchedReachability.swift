import Synchronization
import WaystationOutbox

/// A connection that a test switches.
public final class SwitchedReachability: Reachability {
  private struct State {
    var link: Link
    var continuations: [AsyncStream<Link>.Continuation] = []
  }

  private let state: Mutex<State>

  /// A connection as it is at first.
  public init(_ link: Link = .open) { state = Mutex(State(link: link)) }

  /// What it is now, and each change.
  public func changes() -> AsyncStream<Link> {
    let (stream, continuation) = AsyncStream.makeStream(of: Link.self)
    state.withLock { state in
      continuation.yield(state.link)
      state.continuations.append(continuation)
    }
    return stream
  }

  /// Switches it.
  public func set(_ link: Link) {
    state.withLock { state in
      state.link = link
      for continuation in state.continuations { continuation.yield(link) }
    }
  }
}
