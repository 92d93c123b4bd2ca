import CLinux
import Glibc
import RelayCore

/// A connected TCP or Unix stream socket on an event loop.
///
/// Each operation tries its system call first, and suspends the task only if it would have to wait.
/// At most one task reads and one writes at a time; ``close()`` may come from any thread, and wakes
/// waiting tasks. Releasing the last reference closes the socket.
package final class Socket: Sendable {
  private let watch: Watch

  /// Takes ownership of a connected, non-blocking socket.
  package init(
    adopting descriptor: consuming FileDescriptor, on loop: EventLoop
  ) throws(SystemError) {
    // Answers go out whole, so Nagle's algorithm could only hold them up.
    Self.setOption(descriptor.number, IPPROTO_TCP, TCP_NODELAY)
    watch = try loop.watch(descriptor)
  }

  private init(_ watch: Watch) {
    self.watch = watch
  }

  deinit {
    watch.close()
  }

  /// Whether the connection is gone in both directions; costs no system call.
  package var isHungUp: Bool { watch.isHungUp }

  /// Calls an action once when the peer has ended its side or is gone; at once if that is so
  /// already, and never if this side closes the socket first.
  ///
  /// Nobody has to read for that: earlier data of the peer may still be unread.
  ///
  /// - Parameter action: Called on the loop's thread, or on the caller's; must not block.
  package func onInputEnd(_ action: @escaping @Sendable () -> Void) {
    watch.onInputEnd(action)
  }

  /// Connects to an address.
  ///
  /// - Throws: ``SystemError``; ``SystemError/isTimeout`` if the deadline passed first.
  package static func connect(
    to address: SocketAddress, on loop: EventLoop, until deadline: MonotonicTime? = nil
  ) async throws(SystemError) -> Socket {
    let descriptor = FileDescriptor(
      adopting: try systemCall("socket") { waystation_socket(address.family) })
    let number = descriptor.number
    setOption(number, IPPROTO_TCP, TCP_NODELAY)
    let code = address.withKernelForm { Glibc.connect(number, $0, $1) == 0 ? 0 : errno }
    guard code == 0 || code == EINPROGRESS || code == EINTR else {
      throw SystemError(code: code, operation: "connect", subject: address.description)
    }
    let watch = try loop.watch(descriptor)
    try await finishConnecting(watch, to: address, isPending: code != 0, until: deadline)
    return Socket(watch)
  }

  /// Connects to a Unix socket.
  ///
  /// The kernel connects at once or fails, so this never waits.
  ///
  /// - Throws: ``SystemError``; `EAGAIN` if too many connections wait to be accepted (connect(2)).
  package static func connect(
    toUnix path: String, on loop: EventLoop
  ) throws(SystemError) -> Socket {
    let descriptor = FileDescriptor(
      adopting: try systemCall("socket") { waystation_socket(AF_UNIX) })
    let number = descriptor.number
    _ = try systemCall("connect", on: path) {
      path.withCString { waystation_connect_unix(number, $0, path.utf8.count) }
    }
    return Socket(try loop.watch(descriptor))
  }

  private static func finishConnecting(
    _ watch: Watch, to address: SocketAddress, isPending: Bool, until deadline: MonotonicTime?
  ) async throws(SystemError) {
    var isPending = isPending
    do throws(SystemError) {
      while isPending {
        // Only the question for the peer's name tells "still connecting" (ENOTCONN without an
        // error) from "done".
        isPending = try watch.withDescriptor("connect") { (number) throws(SystemError) -> Bool in
          try Self.isConnecting(number, address)
        }
        guard isPending else { return }
        watch.expectOutput()
        try Self.check(await watch.waitForOutput(until: deadline), "connect")
      }
    } catch {
      watch.close()
      throw SystemError(code: error.code, operation: "connect", subject: address.description)
    }
  }

  private static func isConnecting(
    _ number: Int32, _ address: SocketAddress
  ) throws(SystemError) -> Bool {
    var code: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    getsockopt(number, SOL_SOCKET, SO_ERROR, &code, &length)
    guard code == 0 else { throw SystemError(code: code, operation: "connect") }
    var storage = sockaddr_storage()
    length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let result = withUnsafeMutablePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(number, $0, &length) }
    }
    return result != 0
  }

  /// Waits until there is something to read, or the peer has ended its side.
  ///
  /// A silent connection can wait this way without a buffer.
  package func waitUntilReadable(until deadline: MonotonicTime? = nil) async throws(SystemError) {
    try Self.check(await watch.waitForInput(until: deadline), "recv")
  }

  /// Whether there is something to read, reported yet or not; costs a system call.
  package var hasUnread: Bool {
    let count = try? watch.withDescriptor("recv") { (number) throws(SystemError) -> Int in
      var byte: UInt8 = 0
      return recv(number, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
    }
    return count ?? 0 > 0
  }

  /// Ends a wait for something to read at once, the present one or the next, though there may be
  /// nothing to read.
  ///
  /// May be called from any thread.
  package func wakeReader() { watch.wakeReader() }

  /// Whether waiting for something to read would end at once.
  package var mayRead: Bool { watch.mayTake }

  /// Calls an action once when there is something to read, the peer has ended its side, the
  /// deadline has passed or the socket was closed.
  ///
  /// Such a wait costs no task.
  ///
  /// - Parameter action: Called on the loop's thread, or by the thread that closes; must not block.
  /// - Returns: False if there is nothing to wait for; the action is not called then.
  package func onInput(
    until deadline: MonotonicTime, _ action: @escaping @Sendable () -> Void
  ) -> Bool {
    watch.onInput(until: deadline, action)
  }

  /// Reads the available bytes, up to the buffer's size; nil if there are none yet, 0 at the end.
  package func tryRead(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int? {
    precondition(!buffer.isEmpty, "an empty buffer cannot tell the end from no room")
    return try watch.input("recv", full: buffer.count) { number in
      waystation_receive(number, buffer.baseAddress, buffer.count)
    }
  }

  /// Reads at least one byte, and at most `byteCountMax`; an empty array at the end.
  package func read(
    upTo byteCountMax: Int, until deadline: MonotonicTime? = nil
  ) async throws(SystemError) -> [UInt8] {
    while true {
      var count: Int?
      let bytes = try Self.array(capacity: byteCountMax) { (buffer) throws(SystemError) -> Int in
        count = try tryRead(into: buffer)
        return count ?? 0
      }
      if count != nil { return bytes }
      try await waitUntilReadable(until: deadline)
    }
  }

  /// Waits until the socket can send.
  package func waitUntilWritable(until deadline: MonotonicTime? = nil) async throws(SystemError) {
    try Self.check(await watch.waitForOutput(until: deadline), "sendmsg")
  }

  /// Sends as much of two buffers, in order, as the kernel takes at once.
  ///
  /// - Returns: The number of bytes taken; nil if the kernel takes none now.
  package func tryWrite(
    _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer
  ) throws(SystemError) -> Int? {
    try watch.output("sendmsg", full: first.count + second.count) { number in
      waystation_send(number, first.baseAddress, first.count, second.baseAddress, second.count)
    }
  }

  /// Sends two buffers, such as a head and a body, without copying them together.
  ///
  /// - Parameters:
  ///   - sent: The number of their bytes that were sent before.
  ///   - stallMs: The longest time that the peer may take no bytes; nil for no limit.
  /// - Throws: ``SystemError``; `EPIPE` or `ECONNRESET` if the peer has gone.
  package func write(
    _ first: [UInt8], _ second: [UInt8] = [], from sent: Int = 0, stallMs: Int64? = nil
  ) async throws(SystemError) {
    var sent = sent
    let total = first.count + second.count
    while sent < total {
      if let count = try tryWrite(first, second, from: sent) {
        sent += count
      } else {
        let deadline = stallMs.map {
          MonotonicTime(nanoseconds: MonotonicClock.now().nanoseconds + $0 * 1_000_000)
        }
        try await waitUntilWritable(until: deadline)
      }
    }
  }

  /// Sends as much of two buffers, in order, as the kernel takes at once.
  ///
  /// - Parameter sent: The number of their bytes that were sent before; not all.
  /// - Returns: The number of bytes taken; nil if the kernel takes none now.
  package func tryWrite(
    _ first: [UInt8], _ second: [UInt8], from sent: Int
  ) throws(SystemError) -> Int? {
    try first.span.withUnsafeBytes { (head) throws(SystemError) -> Int? in
      try second.span.withUnsafeBytes { (body) throws(SystemError) -> Int? in
        let headLeft = UnsafeRawBufferPointer(rebasing: head[min(sent, head.count)...])
        let bodyLeft = UnsafeRawBufferPointer(rebasing: body[max(0, sent - head.count)...])
        return headLeft.isEmpty
          ? try tryWrite(bodyLeft, UnsafeRawBufferPointer(start: nil, count: 0))
          : try tryWrite(headLeft, bodyLeft)
      }
    }
  }

  /// Acknowledges received bytes at once (`TCP_QUICKACK`, tcp(7)), when there is nothing to answer
  /// yet: a peer with Nagle's algorithm sends no more before that.
  package func acknowledge() {
    try? watch.withDescriptor("setsockopt") { (number) throws(SystemError) in
      Self.setOption(number, IPPROTO_TCP, TCP_QUICKACK)
    }
  }

  /// Tells the peer that nothing more will come; reading can continue.
  package func shutdownWrites() {
    try? watch.withDescriptor("shutdown") { (number) throws(SystemError) in
      _ = Glibc.shutdown(number, Int32(SHUT_WR))
    }
  }

  /// The time since the last data came in, read or not, in milliseconds, as coarse as the kernel's
  /// clock tick; nil if this is no TCP connection (`tcpi_last_data_recv`, tcp(7)).
  package var msSinceData: Int64? {
    let milliseconds = try? watch.withDescriptor("getsockopt") {
      (number) throws(SystemError) in waystation_ms_since_data(number)
    }
    return milliseconds.flatMap { $0 >= 0 ? $0 : nil }
  }

  /// Closes the socket, from any thread; a task that waits on it gets ``SystemError/isClosed``.
  package func close() {
    watch.close()
  }

  private static func check(
    _ outcome: WaitOutcome, _ operation: StaticString
  ) throws(SystemError) {
    switch outcome {
    case .ready: return
    case .timedOut: throw SystemError(code: ETIMEDOUT, operation: operation)
    case .closed: throw SystemError(code: ECANCELED, operation: operation)
    }
  }

  /// An array filled in place: `Array`'s own initialiser cannot carry a typed throw.
  private static func array(
    capacity: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(SystemError) -> Int
  ) throws(SystemError) -> [UInt8] {
    var failure: SystemError?
    let bytes = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
      do throws(SystemError) {
        count = try fill(UnsafeMutableRawBufferPointer(buffer))
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return bytes
  }

  /// Switches an option on; if it cannot be set, that only costs speed.
  static func setOption(_ number: Int32, _ level: some BinaryInteger, _ option: Int32) {
    var on: Int32 = 1
    setsockopt(number, Int32(level), option, &on, socklen_t(MemoryLayout<Int32>.size))
  }
}
