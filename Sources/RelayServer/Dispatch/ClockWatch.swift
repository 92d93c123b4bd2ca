import EventLoop
import RelayCore

/// Sees to steps of the machine's clock: logs them, has the scheduler keep its waits as long as
/// they were, and notes for the next process where the clock stood.
final class ClockWatch: Sendable {
  private let dispatcher: Dispatcher
  private let file: ClockFile
  private let loop: EventLoop
  private let log: Log

  /// Takes up the clock, before anything is stamped with it.
  ///
  /// - Parameter latestTime: The latest time that the store knows of.
  init(_ configuration: Configuration, dispatcher: Dispatcher, latestTime: WallTime?) {
    self.dispatcher = dispatcher
    loop = dispatcher.loop
    log = dispatcher.log
    file = ClockFile(path: configuration.data + "/clock")
    WallClock.settle(afterMs: Int64(configuration.clock.settleSeconds) * 1000)
    // The clock may be read by whoever holds a lock: what follows comes later, by the loop.
    WallClock.observe { [weak self] step in
      self?.loop.schedule(afterMs: 0) { [weak self] in self?.see(step) }
    }
    if let offset = file.offsetMs() { WallClock.resume(offsetMs: offset) }
    let now = WallClock.now()
    if let latestTime { note(latestTime, now) }
    file.note(offsetMs: WallClock.offsetMs)
  }

  private func note(_ latestTime: WallTime, _ now: WallTime) {
    WallClock.goOn(from: latestTime)
    let behindMs = latestTime.milliseconds(since: now)
    guard behindMs > SettledTime.toleranceMs else { return }
    log.warning(
      "the clock shows a time before the latest in the store",
      ("seconds", .integer(behindMs / 1000)))
  }

  /// The relay ends.
  func stop() {
    WallClock.observe(nil)
    file.note(offsetMs: WallClock.offsetMs)
  }

  private func see(_ step: SettledTime.Step) {
    log(step)
    if case .back(let milliseconds) = step {
      dispatcher.apply { state, _ in state.scheduler.clockWasSetBack(byMs: milliseconds) }
    }
    guard step.counts else { return }
    dispatcher.deadlines.repeatEarliest()
    // A disk that stands still must not stop the loop.
    Task.detached { [file] in file.note(offsetMs: WallClock.offsetMs) }
  }

  private func log(_ step: SettledTime.Step) {
    let seconds = { (milliseconds: Int64) in Log.Value.integer(milliseconds / 1000) }
    switch step {
    case .ahead(let milliseconds):
      log.warning(
        "the clock was set ahead, which does not count yet", ("seconds", seconds(milliseconds)))
    case .takenBack:
      log.warning("the clock is back where it was")
    case .believed(let milliseconds):
      log.warning("the clock was set ahead, and counts now", ("seconds", seconds(milliseconds)))
    case .back(let milliseconds):
      log.warning("the clock was set back", ("seconds", seconds(milliseconds)))
    case .implausible:
      log.warning("the clock shows a time that cannot be, and is not followed")
    }
  }
}
