#if PostgreSQL
import Glibc

/// A moment of the clock that only runs forward (`CLOCK_MONOTONIC`), at which a wait ends.
struct Deadline {
  private let atMs: Int64

  /// The moment that is so many milliseconds from now.
  init(inMs milliseconds: Int) {
    atMs = Self.nowMs() + Int64(max(0, milliseconds))
  }

  /// The milliseconds that are left; 0 when it is over.
  var remainingMs: Int { Int(max(0, atMs - Self.nowMs())) }

  /// Waits until a socket can be read or written.
  ///
  /// Trouble of the socket counts as well: who reads it then learns what it is.
  ///
  /// - Parameter events: `POLLIN`, `POLLOUT`, or both.
  /// - Returns: What happened; 0 if nothing did in time.
  func wait(for socket: Int32, events: Int32) -> Int32 {
    var watched = pollfd(fd: socket, events: Int16(events), revents: 0)
    while true {
      let count = poll(&watched, 1, Int32(clamping: remainingMs))
      if count > 0 { return Int32(watched.revents) }
      if count == 0 { return 0 }
      // A signal has interrupted it: what is left is waited for. Anything else is our mistake.
      precondition(errno == EINTR || errno == EAGAIN || errno == ENOMEM, "poll refused a socket")
      if remainingMs == 0 { return 0 }
    }
  }

  private static func nowMs() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
  }
}
#endif
