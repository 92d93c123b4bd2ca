import CLinux
import Glibc
import RelayCore

/// Notices of the kernel that the machine's time of day has jumped: somebody has set it, or the
/// machine has slept (`TFD_TIMER_CANCEL_ON_SET`, timerfd_create(2)).
///
/// So a process that has nothing to do need not wake up and read the clock to find out.
package final class ClockSetNotice: Sendable {
  private let watch: Watch

  /// Begins to listen.
  ///
  /// - Throws: ``SystemError`` if the system has no descriptor left.
  package init(on loop: EventLoop) throws(SystemError) {
    let number = try systemCall("timerfd_create") { waystation_clock_timer() }
    let timer = FileDescriptor(adopting: number)
    try Self.begin(timer.number)
    watch = try loop.watch(timer)
  }

  deinit {
    watch.close()
  }

  /// Waits for the next jump; false once closed.
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

  /// Stops listening.
  package func close() {
    watch.close()
  }

  private static func begin(_ timer: Int32) throws(SystemError) {
    do throws(SystemError) {
      _ = try systemCall("timerfd_settime") { waystation_cancel_on_set(timer) }
    } catch  where error.code == ECANCELED {
      // It has jumped since it was last read, which is reported anyway.
    }
  }

  /// Reports a jump as if the timer had fired.
  private static func read(_ timer: Int32) -> Int {
    var count: UInt64 = 0
    let result = Glibc.read(timer, &count, MemoryLayout<UInt64>.size)
    return result == -1 && errno == ECANCELED ? MemoryLayout<UInt64>.size : result
  }
}
