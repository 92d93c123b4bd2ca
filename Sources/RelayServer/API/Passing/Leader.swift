import Cryptography
import Forwarder
import RelayCore
import Synchronization

/// Which relay has the store, as far as a spare knows: where requests are passed on to.
final class Leader: Sendable {
  /// How long a connection to it may take, in milliseconds.
  static let connectTimeoutMs = 2_000

  private struct State {
    var own: String?
    var address: String?
    var target: UpstreamTarget?
    var reason = "it is not known yet which relay has the store"
  }

  private let listener: ListenerConfiguration
  private let state = Mutex(State())

  /// Knows of none yet.
  ///
  /// - Parameter listener: This relay's own listener for relays, whose certificate it shows.
  init(_ listener: ListenerConfiguration) { self.listener = listener }

  /// The relay to pass requests on to, or why there is none.
  var place: (target: UpstreamTarget?, reason: String) {
    state.withLock { ($0.target, $0.reason) }
  }

  /// Notes where other relays reach this one.
  func note(ownAddress: String?) { state.withLock { $0.own = ownAddress } }

  /// Notes what the start waits for.
  ///
  /// - Returns: Whether requests go elsewhere from now on.
  func note(_ wait: StoreWait) -> Bool {
    switch wait {
    case .another(let address?):
      guard address != state.withLock({ $0.own }) else {
        return turn(
          to: nil,
          "the store is held under this relay's own address: it had it before it was started again,"
            + " or another relay has the same \"advertise\"")
      }
      return turn(to: address)
    case .another(nil):
      return turn(
        to: nil, "the relay that has the store has no listener for relays (\"for\": \"relays\")")
    case .unreachable, .refused:
      // The relay that has the store may reach it all the same.
      return false
    }
  }

  /// Reads the certificates again, since they may have been renewed.
  func refresh() {
    guard let address = state.withLock({ $0.address }) else { return }
    _ = turn(to: address)
  }

  private func turn(to address: String?, _ reason: String = "") -> Bool {
    var (target, reason): (UpstreamTarget?, String) = (nil, reason)
    if let address {
      do {
        target = try self.target(at: address)
      } catch {
        reason = "\(error)"
      }
    }
    return state.withLock { state in
      let former = state.address
      (state.address, state.target, state.reason) = (address, target, reason)
      return former != address
    }
  }

  private func target(at address: String) throws -> UpstreamTarget {
    guard let tls = listener.tls, let clients = tls.clientCertificates else {
      preconditionFailure("a listener for relays is checked to have certificates")
    }
    return try UpstreamTarget(
      name: "relay", url: try UpstreamURL("https://\(address)"),
      connectTimeoutMs: Self.connectTimeoutMs, attemptTimeoutMs: nil,
      // Of no effect: how long a request may take is the other relay's affair.
      idleTimeoutMs: .max, offersHTTP2: false,
      certificates: try UpstreamTarget.CertificateAuthorities(reading: clients.authorities),
      oldestVersion: tls.minVersion.version,
      identity: try ClientIdentity(certificate: tls.certificate, key: tls.key))
  }
}
