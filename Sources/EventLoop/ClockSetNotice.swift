import CLinux
import Glibc
import RelayCore

/// Hears from the kernel that the machine's time of day has jumped: somebody has set it, or the
/// machine has slept (`TFD_TIMER_CANCEL_ON_SET`, timerfd_create(2)).
///
/// A process that has nothing to do is not woken for that, and reads no clock to find out.
package final class ClockSetNotice: Sendable {
  private let watch: Watch

  /// Begins to listen.
  ///
  /// - Throws: Where the system has no descriptor left.
  package init(on loop: EventLoop) throws(SystemError) {
    let number = try systemCall("timerfd_create") { waystation_clock_timer() }
    let timer = FileDescriptor(adopting: number)
    try Self.begin(timer.number)
    watch = try loop.watch(timer)
  }

  deinit {
    watch.close()
  }

  /// Waits until it has jumped once more; false once closed.
  package func next() async -> Bool {
    while true {
      do throws(SystemError) {
        if try watch.input("read", full: 0, Self.read) != nil {
          try watch.withDescriptor("timerfd_settime", Self.begin)
          return true
        }
      } catch {
        return false
      }
      if await watch.waitForInput(until: nil) == .closed { return false }
    }
  }

  /// Listens no longer.
  package func close() {
    watch.close()
  }

  private static func begin(_ timer: Int32) throws(SystemError) {
    do throws(SystemError) {
      _ = try systemCall("timerfd_settime") { waystation_cancel_on_set(timer) }
    } catch  where error.code == ECANCELED {
      // It has jumped since it was read last, which is about to be told anyway.
    }
  }

  /// Tells a jump as if it were so many rings of the timer.
  private static func read(_ timer: Int32) -> Int {
    var count: UInt64 = 0
    let result = Glibc.read(timer, &count, MemoryLayout<UInt64>.size)
    return result == -1 && errno == ECANCELED ? MemoryLayout<UInt64>.size : result
  }
}
