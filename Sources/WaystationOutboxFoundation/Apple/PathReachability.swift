#if canImport(Network)
import Dispatch
import Network
import WaystationOutbox

/// What the system knows of the connection, by `NWPathMonitor`.
///
/// A network that costs, or is to be spared by the user's wish, is `Link.constrained`.
public struct PathReachability: Reachability {
  /// The system's knowledge.
  public init() {}

  /// What is known now, and then each change.
  public func changes() -> AsyncStream<Link> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let monitor = NWPathMonitor()
      monitor.pathUpdateHandler = { continuation.yield(Link($0)) }
      continuation.onTermination = { _ in monitor.cancel() }
      monitor.start(queue: DispatchQueue(label: "waystation.outbox.path"))
    }
  }
}

extension Link {
  /// What a path means.
  ///
  /// A path that needs a connection first, such as a VPN, may be there once somebody sends.
  init(_ path: NWPath) {
    self =
      path.status == .unsatisfied
      ? .offline : path.isExpensive || path.isConstrained ? .constrained : .open
  }
}
#endif
