#if PostgreSQL
import EventLoop
import Foundation
import Glibc
import Synchronization

/// A proxy in front of the database, or of another server, that passes everything on, until it is
/// told to lose an answer, or everything, or to pass nothing on.
///
/// One thread a connection, plain blocking sockets.
package final class LossyProxy: Sendable {
  /// Where it listens, on loopback.
  package let port: UInt16
  private let listener: Int32
  private struct Link {
    /// Where to pass on to; nil while nobody listens there.
    var target: UInt16?
    var isCut = false
    /// Whether nothing is passed on, and nothing ended.
    var isSilent = false
    /// All is cut once a request with this has been passed on.
    var fatal: [UInt8]?
    var sockets: Set<Int32> = []
  }
  private let link: Monitor<Link>
  /// How many answers are still to be lost.
  private let lossesLeft = Atomic(0)
  private let lossCount = Atomic(0)

  /// How many answers have been lost.
  package var losses: Int { lossCount.load(ordering: .sequentiallyConsistent) }

  /// Listens in front of a port of the loopback.
  package convenience init(to target: UInt16) throws {
    try self.init()
    lead(to: target)
  }

  /// Listens in front of a port that is known later: see ``lead(to:)``.
  package init() throws {
    link = Monitor(Link())
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    self.listener = listener
    var address = Self.loopback(0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && getsockname(listener, $0, &length) == 0
      }
    }
    guard isBound, listen(listener, 64) == 0 else { throw POSIXError(.EADDRNOTAVAIL) }
    port = UInt16(bigEndian: address.sin_port)
    acceptOnThread()
  }

  private func acceptOnThread() {
    Thread.detachNewThread {
      while case let client = accept(self.listener, nil, nil), client >= 0 {
        Thread.detachNewThread { self.serve(client) }
      }
    }
  }

  /// Passes on to another port of the loopback what connects from now on.
  package func lead(to target: UInt16) { link.update { $0.target = target } }

  /// Cuts all connections, and takes no more, for good.
  package func stop() {
    cut()
    shutdown(listener, Int32(SHUT_RDWR))
  }

  /// Cuts all connections, and each new one at once, until ``mend()``.
  package func cut() {
    link.updateWakingAll { link in
      (link.isCut, link.isSilent) = (true, false)
      for socket in link.sockets { shutdown(socket, Int32(SHUT_RDWR)) }
    }
  }

  /// Becomes a black hole until ``mend()`` or ``cut()``.
  ///
  /// Nothing arrives at either end, and no connection ends. What was sent into it arrives after
  /// ``mend()``.
  package func fallSilent() { link.update { $0.isSilent = true } }

  /// Passes the next request on in which there is a text, and cuts everything before its answer.
  package func cut(behind text: String) {
    link.update { $0.fatal = Array(text.utf8) }
  }

  /// Whether everything is cut.
  package var isCut: Bool { link.access { $0.isCut } }

  private func isFatal(_ bytes: [UInt8]) -> Bool {
    guard let fatal = link.access({ $0.fatal }) else { return false }
    guard bytes.indices.contains(where: { bytes[$0...].starts(with: fatal) }) else { return false }
    link.update { $0.fatal = nil }
    return true
  }

  /// Passes on again what comes from now on, and what it has held back.
  package func mend() { link.updateWakingAll { ($0.isCut, $0.isSilent) = (false, false) } }

  /// Loses the answers to the next requests, after the database has given them: one a connection,
  /// which is cut then.
  package func loseAnswers(_ count: Int) {
    lossesLeft.store(count, ordering: .sequentiallyConsistent)
  }

  /// Waits as long as it is a black hole; nil if nobody listens behind it.
  private func awaitedTarget() -> UInt16? {
    link.wait { link -> UInt16?? in link.isSilent ? nil : .some(link.target) } ?? nil
  }

  private func serve(_ client: Int32) {
    let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = Self.loopback(awaitedTarget() ?? 0)
    let isConnected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    let isPassedOn = link.update { link in
      if !link.isCut { link.sockets.formUnion([client, server]) }
      return !link.isCut
    }
    defer {
      // Whoever cuts must not meet another file under these numbers.
      link.update { $0.sockets.subtract([client, server]) }
      close(client)
      close(server)
    }
    guard isConnected, isPassedOn else { return }
    pass(between: client, and: server)
  }

  private func pass(between client: Int32, and server: Int32) {
    var places = [
      pollfd(fd: client, events: Int16(POLLIN), revents: 0),
      pollfd(fd: server, events: Int16(POLLIN), revents: 0),
    ]
    while poll(&places, 2, -1) > 0 {
      _ = awaitedTarget()
      if places[0].revents != 0 {
        var isFatal = false
        guard pass(from: client, to: server, seeing: { isFatal = self.isFatal($0) }) else { return }
        if isFatal {
          // The database has the whole of it once it answers.
          _ = poll(&places[1], 1, -1)
          return cut()
        }
      }
      if places[1].revents != 0 {
        guard !isToBeLost() else { return }
        if !pass(from: server, to: client) { return }
      }
    }
  }

  private func isToBeLost() -> Bool {
    guard lossesLeft.load(ordering: .sequentiallyConsistent) > 0 else { return false }
    lossesLeft.subtract(1, ordering: .sequentiallyConsistent)
    lossCount.add(1, ordering: .sequentiallyConsistent)
    return true
  }

  private func pass(
    from source: Int32, to target: Int32, seeing see: ([UInt8]) -> Void = { _ in }
  ) -> Bool {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = recv(source, &bytes, bytes.count, 0)
    guard count > 0 else { return false }
    var sent = 0
    while sent < count {
      let step = bytes.withUnsafeBytes { bytes in
        send(
          target, bytes.baseAddress.map { $0 + sent }, count - sent, Int32(MSG_NOSIGNAL))
      }
      guard step > 0 else { return false }
      sent += step
    }
    see(Array(bytes.prefix(count)))
    return true
  }

  private static func loopback(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = port.bigEndian
    return address
  }
}
#endif
