import RelayCore
import Synchronization

/// The timer of an ``Alarm`` on an event loop: a later setting replaces the one before it, which
/// leaves the loop.
package final class AlarmTimer: Sendable {
  private struct State {
    var lastNumber: UInt64 = 0
    var timer: ScheduledTimer?
  }

  private let state = Mutex(State())

  /// Starts without a timer.
  package init() {}

  /// Sets the timer, from any thread, unless a later setting has superseded it meanwhile.
  ///
  /// - Parameter ring: Called on the loop's thread; must not block. It calls ``Alarm/rang(_:)``.
  package func set(
    _ setting: Alarm.Setting, on loop: EventLoop, _ ring: @escaping @Sendable () -> Void
  ) {
    let earlier = state.withLock { state -> ScheduledTimer? in
      guard setting.number > state.lastNumber else { return nil }
      state.lastNumber = setting.number
      defer { state.timer = loop.schedule(at: setting.due, ring) }
      return state.timer
    }
    earlier?.cancel()
  }

  /// Cancels the timer, unless it has fired.
  package func cancel() {
    let timer = state.withLock { state in
      defer { state.timer = nil }
      return state.timer
    }
    timer?.cancel()
  }
}
