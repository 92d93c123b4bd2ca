import EventLoop
import Glibc
import Synchronization

/// The signals that tell the program to stop.
///
/// The first SIGTERM or SIGINT asks it to; the second ends it at once.
///
/// One task at a time may wait.
final class StopSignals: Sendable {
  private struct State {
    var isRequested = false
    var waiter: UnsafeContinuation<Void, Never>?
  }

  /// The signals that stop the program; a SIGHUP is passed on instead.
  private static let stopping = [SIGTERM, SIGINT]

  private let signals: Signals
  private let loop: EventLoop
  private let state = Mutex(State())

  /// Blocks all of them in every thread.
  ///
  /// To be called before the first other thread starts. In the relay they are blocked by then, and
  /// those that have come wait: see `CStart`.
  ///
  /// SIGPIPE is ignored: a peer that has gone shows as the result of a write, not as a signal.
  static func block(withHangUp: Bool = false) {
    _ = signal(SIGPIPE, SIG_IGN)
    Signals.block(stopping + (withHangUp ? [SIGHUP] : []))
  }

  /// Lets them and SIGHUP through, in a command that `CStart` has taken for the relay.
  static func letThrough() { Signals.unblock(stopping + [SIGHUP]) }

  /// Begins to listen for signals that ``block(withHangUp:)`` has blocked.
  ///
  /// - Parameter onHangUp: The action at a SIGHUP; nil if it was not blocked.
  init(on loop: EventLoop, onHangUp: (@Sendable () -> Void)? = nil) throws(SystemError) {
    self.loop = loop
    signals = try Signals(Self.stopping + (onHangUp == nil ? [] : [SIGHUP]), on: loop)
    Task(executorPreference: loop) { [self] in
      while let signal = await signals.next() {
        if signal == SIGHUP { onHangUp?() } else { stop() }
      }
    }
  }

  /// Waits for the first signal to stop; returns at once if it has come already.
  ///
  /// - Parameter limitMs: The longest wait; nil for as long as it takes.
  /// - Returns: Whether the signal has come.
  @discardableResult
  func requested(withinMs limitMs: Int64? = nil) async -> Bool {
    let timer = limitMs.map { loop.schedule(afterMs: $0) { self.wake() } }
    await withUnsafeContinuation { continuation in
      let isRequested = state.withLock { state in
        if !state.isRequested { state.waiter = continuation }
        return state.isRequested
      }
      if isRequested { continuation.resume() }
    }
    timer?.cancel()
    return state.withLock { $0.isRequested }
  }

  private func wake() {
    let waiter = state.withLock { state in
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }

  private func stop() {
    let isSecond = state.withLock { state in
      defer { state.isRequested = true }
      return state.isRequested
    }
    // Not `exit`, which would run clean-up code beside threads that are still at work.
    if isSecond { _exit(ExitCode.failed.rawValue) }
    wake()
  }
}
