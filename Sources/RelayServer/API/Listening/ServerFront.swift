import EventLoop
import HTTPServer
import RelayCore
import Synchronization

/// The HTTP server that senders call, with its event loops and its listeners' certificates.
///
/// There is none until the relay listens.
final class ServerFront: Sendable {
  private struct Parts {
    var server: HTTPServer
    var loops: [EventLoop]
    var certificates: ListenerCertificates
    var endpoints: [Endpoint]
  }

  private let parts = Mutex<Parts?>(nil)

  /// The relay listens from now on.
  ///
  /// - Parameter endpoints: Where it does, in the order of the configuration.
  func open(
    _ server: HTTPServer, on loops: [EventLoop], _ certificates: ListenerCertificates,
    at endpoints: [Endpoint]
  ) {
    parts.withLock {
      $0 = Parts(
        server: server, loops: loops, certificates: certificates, endpoints: endpoints)
    }
  }

  /// The addresses of the listeners, with actual ports, in the order of the configuration.
  var endpoints: [Endpoint] { parts.withLock { $0?.endpoints ?? [] } }

  // MARK: - Certificates

  /// Loads the listeners' certificates again, and ends the connections of clients whose own are not
  /// accepted any more.
  ///
  /// - Returns: How many connections end, and what is wrong with the certificates that are not
  ///   taken.
  func reloadCertificates() -> (ended: Int, problems: [String]) {
    guard let parts = parts.withLock({ $0 }), !parts.certificates.isEmpty else { return (0, []) }
    let problems = parts.certificates.reload()
    return (parts.server.endDistrusted(), problems)
  }

  /// Returns the faults of the listeners' certificates at a moment, as sentences.
  func certificateProblems(at now: WallTime) -> [String] {
    parts.withLock { $0?.certificates }?.problems(at: now) ?? []
  }

  /// What the listeners' certificates and revocation lists are, and when each ends.
  var certificateEnds: [(what: String, endsAt: WallTime)] {
    parts.withLock { $0?.certificates }?.ends ?? []
  }

  // MARK: - Connections

  private var server: HTTPServer? { parts.withLock { $0?.server } }

  /// Holds connections that are made from now on to other limits.
  func setLimits(_ limits: HTTPLimits) { server?.setLimits(limits) }

  /// Takes no connection any more, and lets those that are answered finish.
  func drain(until deadline: MonotonicTime) async { _ = await server?.drain(until: deadline) }

  // MARK: - Figures

  /// The connections of each listener that ever had one, by the listeners' numbers.
  var connectionFigures: [Int: ListenerFigures] { server?.figures ?? [:] }

  /// The number of event loops that serve connections.
  var loopCount: Int { parts.withLock { $0?.loops.count ?? 0 } }

  /// The durations of the rounds of all event loops.
  var loopLag: Histogram {
    var lag = Histogram(.loopMicroseconds)
    for loop in parts.withLock({ $0?.loops ?? [] }) { lag.merge(loop.lag) }
    return lag
  }
}
