import Cryptography
import EventLoop
import Forwarder
import RelayCore
import Synchronization

/// Which relay has the store, as far as a spare knows: where requests are passed on to.
final class Leader: Sendable {
  /// How long a connection to it may take, in milliseconds.
  static let connectTimeoutMs = 2_000
  /// The time from one reading of the certificates to the next, in milliseconds.
  static let readingMs: Int64 = 1_000

  private struct State {
    var own: String?
    var address: String?
    var target: UpstreamTarget?
    var readAt: MonotonicTime?
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
  /// - Returns: The relay to which nothing is passed on any more; nil if that has not changed.
  func note(_ wait: StoreWait) -> UpstreamTarget? {
    // The relay that has the store may reach the database all the same.
    guard case .another(let address) = wait else { return nil }
    let (former, isNew) = state.withLock { state -> (UpstreamTarget?, Bool) in
      let place = address == state.own ? nil : address
      state.reason = Self.reason(without: address)
      guard place != state.address else { return (nil, false) }
      defer { (state.address, state.target) = (place, nil) }
      return (state.target, true)
    }
    if isNew { read() }
    return former
  }

  /// Another relay is to have the store, and it is not known yet which one.
  func forget() {
    state.withLock { state in
      (state.address, state.target) = (nil, nil)
      state.reason = "no other relay has taken the store yet"
    }
  }

  private static func reason(without address: String?) -> String {
    address == nil
      ? "the relay that has the store has no listener for relays (\"for\": \"relays\")"
      : "the store is held under this relay's own address: it had it before it was started again,"
        + " or another relay has the same \"advertise\""
  }

  /// Reads the certificates again, since they may have been renewed; not more often than once a
  /// second.
  func refresh() {
    let now = MonotonicClock.now()
    let isDue = state.withLock { state in
      guard state.readAt.map({ now.milliseconds(since: $0) >= Self.readingMs }) ?? true else {
        return false
      }
      state.readAt = now
      return true
    }
    if isDue { read() }
  }

  /// Reads the certificates; those that cannot be used are not taken.
  private func read() {
    guard let address = state.withLock({ $0.address }) else { return }
    do {
      let target = try target(at: address)
      state.withLock { if $0.address == address { $0.target = target } }
    } catch {
      state.withLock { if $0.address == address { $0.reason = "\(error)" } }
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
