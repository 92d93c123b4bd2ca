import EventLoop
import RelayServer

/// The relay's side of a service manager that has started it.
struct Service: Sendable {
  /// The service manager to keep informed; nil if there is none.
  let manager: ServiceManager?
  /// The sockets that it has handed over.
  let sockets: InheritedSockets
  private let waiting: EventLoop

  /// Reads the service manager's variables.
  ///
  /// - Parameter waiting: The loop that notifies the service manager; it serves no senders.
  init(_ variables: [String: String], waiting: EventLoop) {
    manager = ServiceManager(environment: variables)
    sockets = InheritedSockets(environment: variables)
    self.waiting = waiting
  }

  /// Tells the service manager that the relay takes connections.
  func started(_ relay: Relay, loops: [EventLoop]) {
    guard let manager else { return }
    if !manager.tell(.ready, .status(relay.standing)) {
      relay.log.warning("the service manager could not be told that the relay runs")
    }
    guard let periodMs = manager.watchdogPeriodMs else { return }
    Watchdog(manager, periodMs: periodMs, over: loops, last: waiting).start()
  }
}

extension Relay {
  /// The relay's addresses, and a refused reload, in one line.
  var standing: String {
    let places = "listening on " + addresses.joined(separator: ", ")
    guard let reload = lastReload, reload.result == .refused else { return places }
    return places + "; the configuration was refused: \(reload.problems.first ?? "")"
  }
}
