import EventLoop

/// Sends the service manager's keep-alives.
///
/// Each has passed through all event loops first, so none is sent once one of them hangs.
///
/// It runs only if the service manager asks for it, so that an idle relay is not woken.
final class Watchdog: Sendable {
  private let manager: ServiceManager
  private let periodMs: Int64
  private let loops: [EventLoop]
  private let last: EventLoop

  /// Prepares to watch over loops.
  ///
  /// - Parameter last: The loop that notifies the service manager; it serves no senders.
  init(_ manager: ServiceManager, periodMs: Int64, over loops: [EventLoop], last: EventLoop) {
    self.manager = manager
    self.periodMs = periodMs
    self.loops = loops
    self.last = last
  }

  /// Begins; the watchdog runs for as long as the process does.
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
