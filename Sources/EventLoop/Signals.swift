import CLinux
import Glibc
import RelayCore

/// Signals, received as values on an event loop instead of interrupting threads.
package final class Signals: Sendable {
  private let watch: Watch

  /// Blocks signals, so that they interrupt no thread.
  ///
  /// New threads inherit this, so it comes first in `main`, before any other thread exists.
  package static func block(_ signals: [Int32]) {
    var set = Self.set(signals)
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Lets signals through to this thread again; those that have come meanwhile arrive.
  package static func unblock(_ signals: [Int32]) {
    var set = Self.set(signals)
    pthread_sigmask(SIG_UNBLOCK, &set, nil)
  }

  /// Begins to receive signals that were blocked with ``block(_:)``.
  package init(_ signals: [Int32], on loop: EventLoop) throws(SystemError) {
    var set = Self.set(signals)
    let number = try systemCall("signalfd") { waystation_signalfd(&set) }
    watch = try loop.watch(FileDescriptor(adopting: number))
  }

  deinit {
    watch.close()
  }

  /// Waits for the next signal, and returns its number; nil once closed.
  package func next() async -> Int32? {
    while true {
      var info = signalfd_siginfo()
      let size = MemoryLayout<signalfd_siginfo>.size
      do throws(SystemError) {
        if try watch.input("read", full: 0, { Glibc.read($0, &info, size) }) != nil {
          return Int32(info.ssi_signo)
        }
      } catch {
        return nil
      }
      if await watch.waitForInput(until: nil) == .closed { return nil }
    }
  }

  /// Stops receiving; the signals stay blocked.
  package func close() {
    watch.close()
  }

  private static func set(_ signals: [Int32]) -> sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in signals { sigaddset(&set, signal) }
    return set
  }
}
