import EventLoop
import RelayCore
import Synchronization

/// Sees to steps of the machine's clock: logs them, has whatever waits for a time of day looked at
/// again, and notes for the next process where the clock stood.
///
/// A step is noticed by whoever reads the clock. So that one is at once, and one ahead counts in
/// time, though nobody does, it is read when the kernel says that it jumped, and when a step ahead
/// has lasted.
final class ClockWatch: Sendable {
  private let dispatcher: Dispatcher
  private let file: ClockFile?
  private let loop: EventLoop
  private let log: Log
  private let notice: ClockSetNotice?
  /// Reads the clock once a step ahead has lasted.
  private let settling = Mutex<ScheduledTimer?>(nil)

  /// Takes up the clock, before anything is stamped with it.
  ///
  /// - Parameter latestTime: The latest time that the store knows of.
  init(_ configuration: Configuration, dispatcher: Dispatcher, latestTime: WallTime?) {
    self.dispatcher = dispatcher
    loop = dispatcher.loop
    log = dispatcher.log
    file = configuration.clockFile("clock")
    notice = Self.listen(on: loop, log)
    WallClock.settle(afterMs: Int64(configuration.clock.settleSeconds) * 1000)
    // The clock may be read by whoever holds a lock: what follows comes later, by the loop.
    WallClock.observe { [weak self] step in
      self?.loop.schedule(afterMs: 0) { [weak self] in self?.see(step) }
    }
    if let offset = file?.offsetMs() { WallClock.resume(offsetMs: offset) }
    let now = WallClock.now()
    if let latestTime { note(latestTime, now) }
    file?.note(offsetMs: WallClock.offsetMs)
    if let notice { followJumps(notice) }
  }

  private static func listen(on loop: EventLoop, _ log: Log) -> ClockSetNotice? {
    do throws(SystemError) {
      return try ClockSetNotice(on: loop)
    } catch {
      log.warning(
        "the kernel does not tell when the clock is set, which is noticed within a minute then",
        ("error", .text(error.description)))
      return nil
    }
  }

  private func followJumps(_ notice: ClockSetNotice) {
    Task(executorPreference: loop) { [weak self] in
      while await notice.next() {
        // Tells of a step by itself; and where it is none, the machine has slept.
        _ = WallClock.now()
        self?.lookAgain(afterStepOfMs: 0)
      }
    }
  }

  private func note(_ latestTime: WallTime, _ now: WallTime) {
    WallClock.resume(from: latestTime)
    let behindMs = latestTime.milliseconds(since: now)
    guard behindMs > SettledTime.toleranceMs else { return }
    log.warning(
      "the clock shows a time before the latest in the store",
      ("seconds", .integer(behindMs / 1000)))
  }

  /// The relay ends.
  func stop() {
    WallClock.observe(nil)
    notice?.close()
    settle(afterMs: nil)
    file?.note(offsetMs: WallClock.offsetMs)
  }

  private func see(_ step: SettledTime.Step) {
    log(step)
    switch step {
    case .ahead: settle(afterMs: WallClock.settleMs)
    case .takenBack, .implausible: settle(afterMs: nil)
    case .believed(let milliseconds): lookAgain(afterStepOfMs: milliseconds)
    case .back(let milliseconds): lookAgain(afterStepOfMs: -milliseconds)
    }
    guard step.counts else { return }
    settle(afterMs: nil)
    // A disk that stands still must not stop the loop.
    Task.detached { [file] in file?.note(offsetMs: WallClock.offsetMs) }
  }

  /// Has whatever waits for a time of day looked at, which the clock may show now.
  ///
  /// - Parameter milliseconds: By how much it was set ahead, or back if negative.
  private func lookAgain(afterStepOfMs milliseconds: Int64) {
    dispatcher.apply { state, now in
      state.scheduler.clockWasSet(byMs: milliseconds, now: now)
    }
    dispatcher.deadlines.repeatEarliest()
  }

  /// Has the clock read after so many milliseconds, and at no other time that was set before.
  private func settle(afterMs milliseconds: Int64?) {
    let timer = milliseconds.map { loop.schedule(afterMs: $0) { _ = WallClock.now() } }
    let earlier = settling.withLock { settling in
      defer { settling = timer }
      return settling
    }
    earlier?.cancel()
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
