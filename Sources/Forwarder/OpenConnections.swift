import CCurl
import Glibc

/// The open sockets of libcurl by local port, and which of them have carried a request.
///
/// Just before a request is written, libcurl reports the local port of its connection
/// (CURLOPT_PREREQFUNCTION(3)), but not the socket: CURLINFO_ACTIVESOCKET(3) is about the handle's
/// last transfer. So sockets are noted as they are made, and forgotten as they are closed.
///
/// It lives on the thread of the handles whose connections these are.
final class OpenConnections {
  /// A connection.
  final class Connection {
    let descriptor: Int32
    /// Whether a request was written on it.
    var hasCarriedRequest = false
    /// The upstream of the last request; nil if it was not given.
    var target: UpstreamTarget?

    init(descriptor: Int32) { self.descriptor = descriptor }
  }

  private let unsentBytesMax: Int?
  /// The connections by local port; two connections to two peers may have the same one.
  private var byPort: [Int32: [Connection]] = [:]
  private var ports: [Int32: Int32] = [:]
  /// Sockets that had no port yet at the last look.
  private var unbound: [Int32] = []

  /// Makes an empty table.
  ///
  /// - Parameter unsentBytesMax: The most bytes that the kernel takes for each connection before it
  ///   has sent the earlier ones; nil for its default.
  init(unsentBytesMax: Int? = nil) { self.unsentBytesMax = unsentBytesMax }

  /// Notes a new socket; it need not be connected yet.
  func add(_ descriptor: Int32) {
    if let unsentBytesMax { waystation_limit_unsent(descriptor, Int32(clamping: unsentBytesMax)) }
    unbound.append(descriptor)
  }

  /// Forgets a socket that is about to be closed.
  func remove(_ descriptor: Int32) {
    guard let port = ports.removeValue(forKey: descriptor) else {
      unbound.removeAll { $0 == descriptor }
      return
    }
    byPort[port]?.removeAll { $0.descriptor == descriptor }
    if byPort[port]?.isEmpty == true { byPort[port] = nil }
  }

  /// The connection with a local port; nil if none is known, or if there are several.
  ///
  /// - Parameter localPort: The port as libcurl reports it: 0 or less for a Unix socket.
  func connection(localPort: Int32) -> Connection? {
    bindAll()
    guard let found = byPort[max(localPort, 0)], found.count == 1 else { return nil }
    return found[0]
  }

  /// Notes that a request is written on a connection, or on each if several have this port.
  func noteRequest(localPort: Int32, to target: UpstreamTarget? = nil) {
    bindAll()
    for connection in byPort[max(localPort, 0)] ?? [] {
      connection.hasCarriedRequest = true
      connection.target = target
    }
  }

  /// Ends a connection that has been silent for so long, so that libcurl finds it dead; none if it
  /// is not clear which one it is.
  func end(localPort: Int32, ifSilentForMs silenceMs: Int64) {
    guard let found = connection(localPort: localPort), found.hasBeenSilent(forMs: silenceMs) else {
      return
    }
    found.end()
  }

  /// Ends the connections of replaced upstreams.
  ///
  /// - Parameter busyPorts: The local ports of connections that still carry requests; they are left
  ///   alone.
  func endRetired(except busyPorts: Set<Int32>) {
    for (port, connections) in byPort where !busyPorts.contains(port) {
      for connection in connections where connection.target?.isRetired == true { connection.end() }
    }
  }

  private func bindAll() {
    guard !unbound.isEmpty else { return }
    unbound.removeAll { descriptor in
      guard let port = Self.localPort(of: descriptor) else { return false }
      ports[descriptor] = port
      byPort[port, default: []].append(Connection(descriptor: descriptor))
      return true
    }
  }

  /// The local port; 0 for a Unix socket; nil if the socket has none yet.
  private static func localPort(of descriptor: Int32) -> Int32? {
    var address = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutablePointer(to: &address) { storage -> Int32? in
      let isKnown = storage.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        getsockname(descriptor, $0, &length) == 0
      }
      guard isKnown else { return nil }
      if Int32(storage.pointee.ss_family) == AF_UNIX { return 0 }
      // The port is at the same place in both families' addresses.
      let port = storage.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
        UInt16(bigEndian: $0.pointee.sin_port)
      }
      return port == 0 ? nil : Int32(port)
    }
  }
}

extension OpenConnections.Connection {
  /// The error of the kernel's count, in milliseconds: it counts by ticks.
  private static let toleranceMs: Int64 = 10

  /// Whether nothing has come on it for so long.
  func hasBeenSilent(forMs silenceMs: Int64) -> Bool {
    let measuredMs = waystation_silence_ms(descriptor)
    return measuredMs >= 0 && measuredMs + Self.toleranceMs >= silenceMs
  }

  /// Ends it for both sides; libcurl closes it.
  func end() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// The input on it that nobody has read.
  ///
  /// Looking takes nothing out of the socket. An error counts as its end.
  var arrival: ConnectionInspection.Arrival {
    var byte: UInt8 = 0
    let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
    if count > 0 { return .bytes }
    return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? .nothing : .end
  }
}
