import EventLoop
import RelayCore

/// The clocks of this machine.
package enum Clocks {
  /// Both clocks, read at one moment.
  @Sendable
  package static func read() -> Now {
    Now(wall: WallClock.now(), monotonic: MonotonicClock.now())
  }
}
