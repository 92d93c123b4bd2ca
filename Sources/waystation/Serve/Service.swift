import EventLoop
import RelayServer

/// What a service manager has to do with a relay that it has started.
struct Service: Sendable {
  /// Who is told how the relay is; nil where nobody wants to know.
  let manager: ServiceManager?
  /// What it has handed over.
  let sockets: InheritedSockets
  private let waiting: EventLoop

  /// What variables tell of it.
  ///
  /// - Parameter waiting: Where it is told: a loop that does not serve.
  init(_ variables: [String: String], waiting: EventLoop) {
    manager = ServiceManager(environment: variables)
    sockets = InheritedSockets(environment: variables)
    self.waiting = waiting
  }

  /// The relay takes connections.
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
  /// How it stands, in a line.
  var standing: String {
    let places = "listening on " + addresses.joined(separator: ", ")
    guard let reload = lastReload, reload.result == .refused else { return places }
    return places + "; the configuration was refused: \(reload.problems.first ?? "")"
  }
}
