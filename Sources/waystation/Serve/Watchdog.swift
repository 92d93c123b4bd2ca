import EventLoop

/// Gives the service manager its signs of life: each has gone round all event loops, so that there
/// is none once one of them stands still.
///
/// Runs only where the service manager asks for it: a relay that has nothing to do is not woken.
final class Watchdog: Sendable {
  private let manager: ServiceManager
  private let periodMs: Int64
  private let loops: [EventLoop]
  private let last: EventLoop

  /// Watches over loops.
  ///
  /// - Parameter last: Where the manager is told: none of those that serve.
  init(_ manager: ServiceManager, periodMs: Int64, over loops: [EventLoop], last: EventLoop) {
    self.manager = manager
    self.periodMs = periodMs
    self.loops = loops
    self.last = last
  }

  /// Begins; goes on for as long as the process does.
  func start() { ask(0) }

  private func ask(_ index: Int) {
    guard index < loops.count else {
      return last.execute {
        self.manager.tell(.alive)
        self.last.schedule(afterMs: self.periodMs) { self.ask(0) }
      }
    }
    loops[index].execute { self.ask(index + 1) }
  }
}
