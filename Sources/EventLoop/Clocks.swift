import Glibc
import RelayCore

/// Readings of the clock that only runs forward (`CLOCK_MONOTONIC`); for deadlines.
package enum MonotonicClock {
  /// The time since an arbitrary start.
  package static func now() -> MonotonicTime {
    MonotonicTime(nanoseconds: nanoseconds(of: CLOCK_MONOTONIC))
  }
}

/// Readings of the calendar clock (`CLOCK_REALTIME`), which may be set back; never for deadlines.
package enum WallClock {
  /// The time since the Unix epoch.
  package static func now() -> WallTime {
    WallTime(millisecondsSinceEpoch: nanoseconds(of: CLOCK_REALTIME) / 1_000_000)
  }
}

private func nanoseconds(of clock: clockid_t) -> Int64 {
  var time = timespec()
  clock_gettime(clock, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
