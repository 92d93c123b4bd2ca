import EventLoop
import RelayCore

/// A connection's bytes, in plain text or over TLS.
enum ConnectionStream: Sendable {
  case plain(Socket)
  case secure(SecureStream)

  /// Waits until there may be something to read, or the peer has ended its side.
  @inline(__always)
  func waitUntilReadable(until deadline: MonotonicTime) async throws(SystemError) {
    switch self {
    case .plain(let socket): try await socket.waitUntilReadable(until: deadline)
    case .secure(let stream): try await stream.waitUntilReadable(until: deadline)
    }
  }

  /// Whether a read may be tried without waiting first.
  var mayReadAtOnce: Bool {
    switch self {
    case .plain(let socket): socket.mayRead
    // A session's turn begins with the wait.
    case .secure: false
    }
  }

  /// Whether nothing can be read before the socket reports something.
  var isSilent: Bool {
    switch self {
    case .plain(let socket): !socket.mayRead
    case .secure(let stream): stream.isSilent
    }
  }

  /// Calls an action once when there may be something to read, the peer has ended its side, the
  /// deadline has passed or the connection was closed.
  ///
  /// - Returns: False if there is nothing to wait for; the action is not called then.
  func onInput(until deadline: MonotonicTime, _ action: @escaping @Sendable () -> Void) -> Bool {
    switch self {
    case .plain(let socket): socket.onInput(until: deadline, action)
    case .secure(let stream): stream.onInput(until: deadline, action)
    }
  }

  /// Reads the available bytes; nil if there are none yet, 0 at the end.
  @inline(__always)
  func tryRead(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int? {
    switch self {
    case .plain(let socket): try socket.tryRead(into: buffer)
    case .secure(let stream): try stream.tryRead(into: buffer)
    }
  }

  /// Sends as much of two buffers, in order, as goes without waiting.
  ///
  /// - Returns: The number of bytes sent; 0 over TLS, where ``write(_:_:from:stallMs:)`` sends all.
  func writeAtOnce(_ first: [UInt8], _ second: [UInt8]) throws(SystemError) -> Int {
    switch self {
    case .plain(let socket): try socket.tryWrite(first, second, from: 0) ?? 0
    case .secure: 0
    }
  }

  /// Sends two buffers in order.
  ///
  /// - Parameters:
  ///   - sent: The number of their bytes that ``writeAtOnce(_:_:)`` has sent.
  ///   - stallMs: The longest time that the peer may take no bytes.
  @inline(__always)
  func write(
    _ first: [UInt8], _ second: [UInt8], from sent: Int, stallMs: Int64
  ) async throws(SystemError) {
    switch self {
    case .plain(let socket): try await socket.write(first, second, from: sent, stallMs: stallMs)
    case .secure(let stream): try await stream.write(first, second, stallMs: stallMs)
    }
  }

  /// Tells the peer that nothing more will come; reading can continue.
  func shutdownWrites() {
    switch self {
    case .plain(let socket): socket.shutdownWrites()
    case .secure(let stream): stream.shutdownWrites()
    }
  }

  /// Closes the connection; over TLS the peer is told first.
  ///
  /// Must be called from the connection's task, or on the loop's thread while that task is
  /// suspended or there is none.
  func close() {
    switch self {
    case .plain(let socket): socket.close()
    case .secure(let stream): stream.close()
    }
  }
}
