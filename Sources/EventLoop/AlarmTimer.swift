import RelayCore
import Synchronization

/// The one timer of an ``Alarm`` on an event loop: the latest that was set takes the place of the
/// one before it, which leaves the loop.
package final class AlarmTimer: Sendable {
  private struct State {
    var lastNumber: UInt64 = 0
    var timer: ScheduledTimer?
  }

  private let state = Mutex(State())

  /// None is set yet.
  package init() {}

  /// Sets the timer, from any thread; what a later setting has superseded meanwhile is left out.
  ///
  /// - Parameter ring: Called on the loop's thread; must not block. It asks ``Alarm/rang(_:)``.
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

  /// Takes the timer back, unless it has rung.
  package func cancel() {
    let timer = state.withLock { state in
      defer { state.timer = nil }
      return state.timer
    }
    timer?.cancel()
  }
}
