import RelayCore
import Synchronization

/// Counts refused credentials, so that the log tells of them now and then however many there are.
final class RefusalLog: Sendable {
  /// How long nothing more is logged, in milliseconds.
  static let pauseMs: Int64 = 10_000

  private struct State {
    var count = 0
    var quietUntil: MonotonicTime?
  }

  private let state = Mutex(State())

  init() {}

  /// Counts one more.
  ///
  /// - Returns: How many there were since the log was last told, if it is to be told now.
  func note(at now: MonotonicTime) -> Int? {
    state.withLock { state in
      state.count += 1
      if let until = state.quietUntil, now < until { return nil }
      state.quietUntil = now.adding(milliseconds: Self.pauseMs)
      defer { state.count = 0 }
      return state.count
    }
  }
}
