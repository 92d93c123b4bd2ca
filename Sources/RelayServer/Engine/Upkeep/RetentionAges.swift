import EventLoop
import RelayCore
import Synchronization

/// The ages of what is kept, unaffected by steps of the machine's clock, and remembered over
/// restarts.
final class RetentionAges: Sendable {
  private let file: ClockFile?
  private let clock: Mutex<RetentionClock>

  /// Takes up what an earlier process has noted.
  ///
  /// - Parameter file: Where that is; nil to remember nothing over a restart.
  init(file: ClockFile? = nil) {
    self.file = file
    clock = Mutex(RetentionClock(offsetMs: file?.offsetMs(), steps: file?.steps() ?? []))
  }

  /// Looks at the clocks for the first time, so that any later step is seen.
  func begin(_ readClocks: @Sendable () -> Now) {
    let (isNews, present) = read(readClocks)
    if isNews { note(present) }
  }

  /// Looks at the clocks, and remembers what is new before anybody goes by it.
  ///
  /// - Parameter keptMsMax: The longest that anything is kept, in milliseconds.
  func look(_ readClocks: @Sendable () -> Now, keptMsMax: Int64) async -> RetentionClock {
    let (hasSeenStep, present) = read(readClocks)
    let hasForgotten = clock.withLock { $0.forgetSteps(keptMs: keptMsMax) }
    if hasSeenStep || hasForgotten {
      let latest = clock.withLock { $0 }
      // A disk that stands still must not stop the loop.
      await Task.detached { self.note(latest) }.value
    }
    return present
  }

  private func read(_ readClocks: @Sendable () -> Now) -> (isNews: Bool, RetentionClock) {
    // In this order: a process that is stopped in between sees a step ahead, which keeps things.
    let elapsedMs = WallClock.elapsedMs()
    let wall = readClocks().wall
    return clock.withLock { clock in
      let isNews = clock.look(at: wall, elapsedMs: elapsedMs)
      return (isNews, clock)
    }
  }

  private func note(_ clock: RetentionClock) {
    guard let offsetMs = clock.offsetMs else { return }
    file?.note(offsetMs: offsetMs, steps: clock.steps.steps)
  }
}
