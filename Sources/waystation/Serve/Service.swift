import EventLoop
import RelayCore
import RelayServer
import Synchronization

/// The relay's side of a service manager that has started it.
final class Service: Sendable {
  /// The service manager to keep informed; nil if there is none.
  let manager: ServiceManager?
  /// The sockets that it has handed over.
  let sockets: InheritedSockets
  private let waiting: EventLoop
  private let isWatched = Atomic(false)

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
    watch(manager, over: loops)
  }

  /// Tells the service manager that the relay runs, though it has nothing to do yet.
  ///
  /// A spare may wait for months.
  func waits(for wait: StoreWait, loops: [EventLoop]) {
    // While it opens its store it may be that it is not ready before.
    guard let manager, wait != .opening else { return }
    let reason =
      switch wait {
      case .another: "a spare: another relay has the store"
      case .opening: "opening the store"
      case .unreachable: "waiting: the store cannot be reached"
      case .refused: "a spare: the store refuses it, as if its password was just changed"
      }
    manager.tell(.ready, .status(reason))
    watch(manager, over: loops)
  }

  private func watch(_ manager: ServiceManager, over loops: [EventLoop]) {
    guard let periodMs = manager.watchdogPeriodMs,
      !isWatched.exchange(true, ordering: .sequentiallyConsistent)
    else { return }
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
