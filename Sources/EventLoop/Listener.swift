import CLinux
import Glibc
import RelayCore
import Synchronization

/// A connection that was just accepted and is not on any loop yet.
package struct AcceptedConnection: ~Copyable, Sendable {
  private let descriptor: FileDescriptor
  /// The other end's address.
  package let peer: PeerAddress
  /// This end's address; nil for a Unix socket.
  package let local: SocketAddress.Host?

  fileprivate init(
    _ descriptor: consuming FileDescriptor, from peer: PeerAddress, to local: SocketAddress.Host?
  ) {
    self.descriptor = descriptor
    self.peer = peer
    self.local = local
  }

  /// Gives the connection to a loop, which need not be the listener's.
  package consuming func socket(on loop: EventLoop) throws(SystemError) -> Socket {
    try Socket(adopting: descriptor, on: loop)
  }
}

/// A listening TCP or Unix socket on an event loop.
package final class Listener: Sendable {
  private let watch: Watch
  private let loop: EventLoop
  /// A spare open descriptor; see ``turnAwayOne()``.
  private let reserve: Mutex<FileDescriptor?>

  /// The endpoint with the actual port.
  package let endpoint: Endpoint
  /// The file of a Unix socket.
  private let file: UnixSocketFile?

  /// The pause when the process is out of descriptors, during which connections stay in the
  /// backlog.
  package static let exhaustedPauseMs: Int64 = 100

  /// Begins to listen at an address and port, or on a Unix socket.
  ///
  /// `SO_REUSEADDR` lets a restarted relay take its address back at once. `SO_REUSEPORT` is not
  /// set: with it a second relay could bind the same address unnoticed.
  ///
  /// - Parameters:
  ///   - mode: The permission bits of a Unix socket's file; users who may write to it may connect.
  ///   - inherited: The sockets from which an inherited one is taken.
  ///   - backlog: The number of connections that may wait to be accepted; the kernel caps it.
  /// - Throws: `EADDRINUSE`, `EADDRNOTAVAIL`, `EACCES`, with the endpoint as subject; and see
  ///   ``InheritedSockets/take(_:)``.
  package init(
    _ endpoint: Endpoint, mode: UInt32 = 0o600,
    inherited: InheritedSockets = InheritedSockets(), on loop: EventLoop, backlog: Int32 = 4096
  ) throws(SystemError) {
    let descriptor = try Self.socket(for: endpoint, inherited)
    let number = descriptor.number
    switch endpoint {
    case .tcp(let address):
      self.endpoint = .tcp(try Self.listen(number, at: address, backlog: backlog))
      file = nil
    case .unix(let path):
      self.endpoint = endpoint
      file = try UnixSocketFile(binding: number, to: path, mode: mode, backlog: backlog)
    case .inherited:
      self.endpoint = try Endpoint(boundBy: number, subject: endpoint.description)
      // The file of a Unix socket belongs to the process that made it and goes on listening.
      file = nil
    }
    self.loop = loop
    reserve = Mutex(Self.openReserve())
    watch = try loop.watch(descriptor)
  }

  private static func socket(
    for endpoint: Endpoint, _ inherited: InheritedSockets
  ) throws(SystemError) -> FileDescriptor {
    let family: Int32
    switch endpoint {
    case .tcp(let address): family = address.family
    case .unix: family = AF_UNIX
    case .inherited(let name): return try inherited.take(name)
    }
    return FileDescriptor(
      adopting: try systemCall("socket", on: endpoint.description) { waystation_socket(family) })
  }

  /// Begins to listen at an address and port.
  package convenience init(
    _ address: SocketAddress, on loop: EventLoop, backlog: Int32 = 4096
  ) throws(SystemError) {
    try self.init(.tcp(address), on: loop, backlog: backlog)
  }

  /// The bound address with the actual port; must not be called for a Unix socket.
  package var address: SocketAddress {
    guard case .tcp(let address) = endpoint else {
      preconditionFailure("a Unix socket has no address and port")
    }
    return address
  }

  private static func listen(
    _ number: Int32, at address: SocketAddress, backlog: Int32
  ) throws(SystemError) -> SocketAddress {
    try bind(number, to: address)
    _ = try systemCall("listen", on: address.description) { Glibc.listen(number, backlog) }
    return try boundAddress(number) ?? address
  }

  private static func bind(_ number: Int32, to address: SocketAddress) throws(SystemError) {
    Socket.setOption(number, SOL_SOCKET, SO_REUSEADDR)
    if address.family == AF_INET6 {
      // "[::]:80" means IPv6 only; for both families there are two listeners.
      Socket.setOption(number, IPPROTO_IPV6, IPV6_V6ONLY)
    }
    _ = try systemCall("bind", on: address.description) {
      address.withKernelForm { Glibc.bind(number, $0, $1) }
    }
  }

  /// Finds out whether one could listen at an endpoint now; nobody can connect meanwhile, and
  /// nothing is left behind.
  ///
  /// - Throws: What `init` would throw, as far as that can be seen.
  package static func attempt(
    _ endpoint: Endpoint, inherited: InheritedSockets
  ) throws(SystemError) {
    switch endpoint {
    case .tcp(let address):
      let descriptor = try socket(for: endpoint, inherited)
      let number = descriptor.number
      try bind(number, to: address)
      withExtendedLifetime(descriptor) {}
    case .unix(let path): try UnixSocketFile.checkPlace(path)
    case .inherited(let name): try inherited.check(name)
    }
  }

  deinit {
    close()
  }

  /// Waits for the next connection; nil once the listener has been closed.
  ///
  /// If the process or the machine has no descriptor left, it closes one waiting connection, so
  /// that its sender notices and does not hang, and pauses for ``exhaustedPauseMs``.
  package func accept() async -> AcceptedConnection? {
    while true {
      var storage = sockaddr_storage()
      do throws(SystemError) {
        // Every accepted number is below Int32.max: there may always be one more connection.
        let number = try watch.input("accept4", full: 0) { waystation_accept($0, &storage) }
        if let number {
          let descriptor = FileDescriptor(adopting: number)
          guard let peer = PeerAddress(storage) else { continue }
          let local = localHost(of: descriptor.number)
          return AcceptedConnection(descriptor, from: peer, to: local)
        }
        if await watch.waitForInput(until: nil) == .closed { return nil }
      } catch {
        switch error.code {
        case ECANCELED: return nil
        case EMFILE, ENFILE, ENOBUFS, ENOMEM: await pauseWhenExhausted()
        default: continue  // This one connection failed before it was accepted: accept(2).
        }
      }
    }
  }

  /// Stops listening, from any thread; connections that still wait in the backlog are reset.
  ///
  /// The file of a Unix socket is removed first, so that later clients find none.
  package func close() {
    file?.remove()
    watch.close()
  }

  private func pauseWhenExhausted() async {
    turnAwayOne()
    let now = MonotonicClock.now().nanoseconds
    await loop.sleep(
      until: MonotonicTime(nanoseconds: now + Self.exhaustedPauseMs * 1_000_000))
  }

  /// Closes the spare descriptor for a moment, to take one connection off the backlog and close it.
  private func turnAwayOne() {
    reserve.withLock { reserve in
      reserve = nil
      var storage = sockaddr_storage()
      let number = try? watch.input("accept4", full: 0) { waystation_accept($0, &storage) }
      if let number { _ = FileDescriptor(adopting: number) }
      reserve = Self.openReserve()
    }
  }

  private static func openReserve() -> FileDescriptor? {
    let number = waystation_socket(AF_INET)
    return number >= 0 ? FileDescriptor(adopting: number) : nil
  }

  /// This end's address on a connection; the kernel is asked only if the listener has several.
  private func localHost(of connection: Int32) -> SocketAddress.Host? {
    guard case .tcp(let address) = endpoint else { return nil }
    guard address.isUnspecified else { return address.host }
    return (try? Self.boundAddress(connection))?.host
  }

  private static func boundAddress(_ number: Int32) throws(SystemError) -> SocketAddress? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    _ = try systemCall("getsockname") {
      withUnsafeMutablePointer(to: &storage) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          getsockname(number, $0, &length)
        }
      }
    }
    return SocketAddress(storage)
  }
}
