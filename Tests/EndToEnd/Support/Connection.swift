import Foundation
import Glibc

/// What a socket said, in words.
struct SocketError: Error, CustomStringConvertible {
  let operation: String
  let code: Int32

  var description: String { "\(operation): \(String(cString: strerror(code)))" }
}

/// The other end closed the connection before all was there.
struct ConnectionEnded: Error {
  /// What had come until then.
  let received: [UInt8]
}

/// A blocking TCP connection on loopback, with a time limit for every step.
///
/// Plain system calls instead of the relay's own sockets and parser: a mistake there must not hide
/// itself here.
// Sound: one thread at a time reads and writes; closing is guarded by the lock of `isOpen`.
final class Connection: @unchecked Sendable {
  private var buffer: [UInt8] = []
  private let descriptor: Int32
  private let isOpen = Monitor(true)

  /// Takes over a connected socket.
  init(descriptor: Int32, seconds: Int = 30) {
    self.descriptor = descriptor
    var limit = timeval(tv_sec: seconds, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var one: Int32 = 1
    setsockopt(
      descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
  }

  /// Connects to a port of this machine.
  ///
  /// - Parameter from: The last number of the address to come from, 127.0.0.x; nil for any.
  convenience init(port: UInt16, from: UInt8? = nil) throws {
    let descriptor = try Self.socket()
    if let from {
      let bound = withLoopback(port: 0, host: from) { Glibc.bind(descriptor, $0, $1) }
      guard bound == 0 else {
        let code = errno
        Glibc.close(descriptor)
        throw SocketError(operation: "bind to 127.0.0.\(from)", code: code)
      }
    }
    let result = withLoopback(port: port) { Glibc.connect(descriptor, $0, $1) }
    guard result == 0 else {
      let code = errno
      Glibc.close(descriptor)
      throw SocketError(operation: "connect to port \(port)", code: code)
    }
    self.init(descriptor: descriptor)
  }

  /// A new TCP socket that no child process inherits.
  static func socket() throws -> Int32 {
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = Glibc.socket(AF_INET, kind, 0)
    guard descriptor >= 0 else { throw SocketError(operation: "socket", code: errno) }
    return descriptor
  }

  deinit { close() }

  /// Ends the connection; a thread that reads from it sees its end.
  func close() {
    isOpen.change { isOpen in
      guard isOpen else { return }
      isOpen = false
      Glibc.shutdown(descriptor, Int32(SHUT_RDWR))
      Glibc.close(descriptor)
    }
  }

  /// Waits until the peer's kernel has all that was written, or the peer is gone.
  func awaitArrival() {
    var unacknowledged: Int32 = 0
    var watched = pollfd(fd: descriptor, events: 0, revents: 0)
    while ioctl(descriptor, UInt(TIOCOUTQ), &unacknowledged) == 0, unacknowledged > 0,
      poll(&watched, 1, 1) == 0
    {}
  }

  /// Wakes whoever reads, and leaves the descriptor to be closed by its owner.
  func shutDown() {
    isOpen.change { isOpen in
      if isOpen { Glibc.shutdown(descriptor, Int32(SHUT_RDWR)) }
    }
  }

  /// Ends this side; the other one can still be read.
  func endOutput() { Glibc.shutdown(descriptor, Int32(SHUT_WR)) }

  /// Waits for something to read, or for the end; false once the time is up.
  func hasInput(withinMs: Int) -> Bool {
    var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&watched, 1, Int32(withinMs)) > 0
  }

  /// Waits until something can be written again, or the time is up.
  func awaitRoom(withinMs: Int) {
    var watched = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    poll(&watched, 1, Int32(withinMs))
  }

  /// Writes as much as can be written without waiting, and returns how much that was.
  func writeSome(_ bytes: ArraySlice<UInt8>) throws -> Int {
    let count = bytes.withUnsafeBytes {
      Glibc.send(
        descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    }
    if count < 0, errno == EAGAIN { return 0 }
    guard count >= 0 else { throw SocketError(operation: "send", code: errno) }
    return count
  }

  /// Ends the connection with a reset instead of an orderly end.
  func reset() {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
    isOpen.change { isOpen in
      guard isOpen else { return }
      isOpen = false
      Glibc.close(descriptor)
    }
  }

  /// Writes all of the bytes.
  func write(_ bytes: [UInt8]) throws {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw SocketError(operation: "send", code: errno) }
      sent += count
    }
  }

  /// Reads what there is into the buffer; false at the end of the connection.
  private func fill() throws -> Bool {
    var chunk = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = Glibc.recv(descriptor, &chunk, chunk.count, 0)
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw SocketError(operation: "receive", code: errno) }
      buffer.append(contentsOf: chunk[..<count])
      return count > 0
    }
  }

  /// Reads up to and with a separator; nil if the connection ended before the first byte.
  func read(through separator: String) throws -> [UInt8]? {
    let separator = Array(separator.utf8)
    var searched = 0
    while true {
      if let end = buffer.firstRange(of: separator, from: searched) {
        defer { buffer.removeFirst(end) }
        return Array(buffer[..<end])
      }
      searched = max(0, buffer.count - separator.count)
      if try !fill() {
        if buffer.isEmpty { return nil }
        throw ConnectionEnded(received: buffer)
      }
    }
  }

  /// Reads exactly so many bytes.
  func read(count: Int) throws -> [UInt8] {
    while buffer.count < count {
      if try !fill() { throw ConnectionEnded(received: buffer) }
    }
    defer { buffer.removeFirst(count) }
    return Array(buffer[..<count])
  }

  /// Reads and drops so many bytes.
  func skip(count: Int) throws {
    var left = count - buffer.count
    buffer.removeFirst(min(count, buffer.count))
    while left > 0 {
      _ = try fill()
      guard !buffer.isEmpty else { throw ConnectionEnded(received: []) }
      let taken = min(left, buffer.count)
      buffer.removeFirst(taken)
      left -= taken
    }
  }

  /// Reads until the other end closes.
  func readToEnd() throws -> [UInt8] {
    while try fill() {}
    defer { buffer = [] }
    return buffer
  }
}

extension [UInt8] {
  /// The offset behind the first place where `pattern` stands, at or after `start`.
  fileprivate func firstRange(of pattern: [UInt8], from start: Int) -> Int? {
    guard count >= pattern.count, let first = pattern.first else { return nil }
    for index in start...Swift.max(start, count - pattern.count)
    where index + pattern.count <= count && self[index] == first
      && self[index..<(index + pattern.count)].elementsEqual(pattern)
    {
      return index + pattern.count
    }
    return nil
  }
}

/// The kernel's form of 127.0.0.1, or another address beside it, at a port.
func withLoopback<Result>(
  port: UInt16, host: UInt8 = 1, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
) -> Result {
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = port.bigEndian
  address.sin_addr.s_addr = (UInt32(0x7F00_0000) | UInt32(host)).bigEndian
  return withUnsafePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
    }
  }
}
