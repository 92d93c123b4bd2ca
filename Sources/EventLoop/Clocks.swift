import CLinux
import Glibc
import RelayCore
import Synchronization

/// Readings of the clock that only runs forward (`CLOCK_MONOTONIC`); for deadlines.
package enum MonotonicClock {
  /// The time since an arbitrary start.
  package static func now() -> MonotonicTime {
    MonotonicTime(nanoseconds: nanoseconds(of: CLOCK_MONOTONIC))
  }
}

/// Readings of the time of day, which may be set back; never for deadlines.
package enum WallClock {
  /// What is told of a step of the machine's clock.
  package typealias Observer = @Sendable (SettledTime.Step) -> Void

  private struct State: Sendable {
    var settled = SettledTime()
    var observer: Observer?
  }

  /// The machine has one clock, so the process has one view of it.
  private static let state = Mutex(State())

  /// The time since the Unix epoch as the relay goes by it; see ``SettledTime``.
  package static func now() -> WallTime { read().time }

  /// What deadlines count from that are so long after now; see
  /// ``SettledTime/deadlineStart(_:elapsedMs:)``.
  package static func deadlineStart() -> WallTime { read().deadlineStart }

  private static func read() -> (time: WallTime, deadlineStart: WallTime) {
    let (times, step, observer) = state.withLock { state in
      let machine = machine()
      let elapsedMs = elapsedMs()
      let (time, step) = state.settled.read(machine, elapsedMs: elapsedMs)
      let start = state.settled.deadlineStart(machine, elapsedMs: elapsedMs)
      return ((time, start), step, step == nil ? nil : state.observer)
    }
    if let step { observer?(step) }
    return times
  }

  /// What the machine's clock shows (`CLOCK_REALTIME`), be it right or wrong.
  package static func machine() -> WallTime {
    WallTime(millisecondsSinceEpoch: nanoseconds(of: CLOCK_REALTIME) / 1_000_000)
  }

  /// Sets how long a step ahead has to last before it counts, in milliseconds.
  package static func settle(afterMs milliseconds: Int64) {
    state.withLock { $0.settled.settleMs = milliseconds }
  }

  /// How long a step ahead has to last before it counts, in milliseconds.
  package static var settleMs: Int64 { state.withLock { $0.settled.settleMs } }

  /// By how much the time of day is ahead of the time since the machine was started, in
  /// milliseconds.
  package static var offsetMs: Int64 {
    state.withLock { $0.settled.offsetMs } ?? machine().millisecondsSinceEpoch - elapsedMs()
  }

  /// Goes on where another process of this start of the machine ended.
  package static func resume(offsetMs: Int64) {
    state.withLock { $0.settled.resume(offsetMs: offsetMs) }
  }

  /// A time of day is known to have been reached before this process began.
  package static func goOn(from known: WallTime) {
    _ = now()
    state.withLock { $0.settled.goOn(from: known, elapsedMs: elapsedMs()) }
  }

  /// Has steps of the clock told from now on, to one observer at a time.
  ///
  /// It is told on whichever thread reads the clock, so that it must neither wait nor take a lock
  /// that may be held while a clock is read.
  package static func observe(_ observer: Observer?) {
    state.withLock { $0.observer = observer }
  }

  /// The time since the machine was started, in milliseconds.
  ///
  /// Nobody sets it, and it goes on while the machine sleeps, when time passes as well.
  package static func elapsedMs() -> Int64 { nanoseconds(of: CLOCK_BOOTTIME) / 1_000_000 }
}

private func nanoseconds(of clock: clockid_t) -> Int64 {
  var time = timespec()
  clock_gettime(clock, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
