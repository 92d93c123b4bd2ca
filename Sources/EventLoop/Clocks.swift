import CLinux
import Glibc
import RelayCore
import Synchronization

/// Readings of the clock that only runs forward (`CLOCK_MONOTONIC`), for deadlines.
package enum MonotonicClock {
  /// The time since an arbitrary start.
  package static func now() -> MonotonicTime {
    MonotonicTime(nanoseconds: nanoseconds(of: CLOCK_MONOTONIC))
  }
}

/// Readings of the time of day, which may be set back; not for deadlines.
package enum WallClock {
  /// Is told of a step of the machine's clock.
  package typealias Observer = @Sendable (SettledTime.Step) -> Void

  private struct State: Sendable {
    var settled = SettledTime()
    var observer: Observer?
  }

  /// The machine has one clock, so the process has one view of it.
  private static let state = Mutex(State())

  /// The relay's time of day; see ``SettledTime``.
  package static func now() -> WallTime { read().time }

  /// The time from which new deadlines count; see ``SettledTime/deadlineStart(_:elapsedMs:)``.
  package static func deadlineStart() -> WallTime { read().deadlineStart }

  /// Both, for a call that comes just now.
  package static func arrival() -> ArrivalTime { read() }

  private static func read() -> ArrivalTime {
    let (times, step, observer) = state.withLock { state in
      let machine = machine()
      let elapsedMs = elapsedMs()
      let (time, step) = state.settled.read(machine, elapsedMs: elapsedMs)
      let start = state.settled.deadlineStart(machine, elapsedMs: elapsedMs)
      let times = ArrivalTime(time: time, deadlineStart: start)
      return (times, step, step == nil ? nil : state.observer)
    }
    if let step { observer?(step) }
    return times
  }

  /// The time of the machine's clock (`CLOCK_REALTIME`), right or wrong.
  package static func machine() -> WallTime {
    WallTime(millisecondsSinceEpoch: nanoseconds(of: CLOCK_REALTIME) / 1_000_000)
  }

  /// Sets the time that a step ahead has to last before it counts, in milliseconds.
  package static func settle(afterMs milliseconds: Int64) {
    state.withLock { $0.settled.settleMs = milliseconds }
  }

  /// The time that a step ahead has to last before it counts, in milliseconds.
  package static var settleMs: Int64 { state.withLock { $0.settled.settleMs } }

  /// Why the machine's clock is not followed now, in words; nil while it is.
  package static var doubt: String? { state.withLock { $0.settled.doubt } }

  /// The time of day minus the time since the machine was started, in milliseconds.
  package static var offsetMs: Int64 {
    state.withLock { $0.settled.offsetMs } ?? machine().millisecondsSinceEpoch - elapsedMs()
  }

  /// Continues with the offset of another process since the machine was started.
  package static func resume(offsetMs: Int64) {
    state.withLock { $0.settled.resume(offsetMs: offsetMs) }
  }

  /// Notes a time of day that is known to have been reached before this process began.
  package static func resume(from known: WallTime) {
    _ = now()
    state.withLock { $0.settled.resume(from: known, elapsedMs: elapsedMs()) }
  }

  /// Reports steps of the clock from now on, to one observer at a time.
  ///
  /// It is called on whichever thread reads the clock, so it must neither wait nor take a lock that
  /// may be held while a clock is read.
  package static func observe(_ observer: Observer?) {
    state.withLock { $0.observer = observer }
  }

  /// The time since the machine was started, in milliseconds.
  ///
  /// Nobody sets this clock, and it goes on while the machine sleeps.
  package static func elapsedMs() -> Int64 { nanoseconds(of: CLOCK_BOOTTIME) / 1_000_000 }
}

private func nanoseconds(of clock: clockid_t) -> Int64 {
  var time = timespec()
  clock_gettime(clock, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
