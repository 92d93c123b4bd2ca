import Cryptography
import EventLoop
import Glibc
import RelayCore

// Sound: one task at a time uses it, the connection's own. While that task is suspended and so
// cannot, the loop's thread may close it.
/// A connection's bytes over TLS: carries out the calls of ``ConnectionStream`` by a session.
final class SecureStream: @unchecked Sendable {
  /// The most bytes of one record (RFC 8446 section 5.1): more is not worth copying together.
  private static let recordBytesMax = 16_384

  /// The context of the session.
  let context: TLSContext
  private let socket: Socket
  private let session: TLSSession
  /// Whether a read may find something before the socket reports anything.
  private var mayHaveInput = false
  /// The condition for continuing to read; nil if the last read found something.
  private var readNeeds: Need?
  /// Whether `close_notify` may still be sent.
  private var maySayEnd = false

  /// The condition that a step of the session waits for.
  private enum Need {
    case input, output
    /// Others on the loop have had their turn.
    case turn
  }

  init(_ socket: Socket, _ context: TLSContext) {
    self.context = context
    self.socket = socket
    session = TLSSession(
      context,
      over: TLSChannel(
        receive: { [socket] buffer in
          switch Result(catching: { () throws(SystemError) in try socket.tryRead(into: buffer) }) {
          case .success(let count?): count == 0 ? .ended : .moved(count)
          case .success(nil): .mustWait
          case .failure: .failed
          }
        },
        send: { [socket] bytes in
          let none = UnsafeRawBufferPointer(start: nil, count: 0)
          switch Result(catching: { () throws(SystemError) in try socket.tryWrite(bytes, none) }) {
          case .success(let count?): return .moved(count)
          case .success(nil): return .mustWait
          case .failure: return .failed
          }
        }))
  }

  /// The negotiated version of TLS, such as `TLSv1.3`.
  var version: String { session.version }

  /// The client's verified certificate, once the handshake is complete.
  var peerChain: PeerChain? { session.peerChain }

  /// Completes the handshake.
  ///
  /// - Returns: The reason that it failed; nil if it is complete.
  /// - Throws: ``SystemError`` if the time was up, or this side closed the socket.
  func handshake(until deadline: MonotonicTime) async throws(SystemError) -> TLSFailure? {
    while true {
      switch session.handshake() {
      case .done:
        maySayEnd = true
        // The client may have sent its first request with the end of its handshake.
        mayHaveInput = session.hasBufferedInput
        // In TLS 1.3 the client's last message gets no answer, and its request may wait for the
        // acknowledgement.
        socket.acknowledge()
        return nil
      case .needsInput: try await wait(for: .input, until: deadline)
      case .needsOutput: try await wait(for: .output, until: deadline)
      case .heldBack: try await wait(for: .turn, until: deadline)
      case .ended: return .truncated
      case .failed(let failure): return failure
      }
    }
  }

  /// Whether nothing can be read before the socket reports something.
  var isSilent: Bool {
    guard !mayHaveInput else { return false }
    switch readNeeds {
    case .input, nil: return !socket.mayRead
    case .output, .turn: return false
    }
  }

  /// Calls an action once when the socket may have something for the session; see
  /// ``ConnectionStream/onInput(until:_:)``.
  func onInput(until deadline: MonotonicTime, _ action: @escaping @Sendable () -> Void) -> Bool {
    isSilent && socket.onInput(until: deadline, action)
  }

  func waitUntilReadable(until deadline: MonotonicTime) async throws(SystemError) {
    if mayHaveInput { return }
    guard let readNeeds else {
      try await socket.waitUntilReadable(until: deadline)
      return session.beginTurn()
    }
    try await wait(for: readNeeds, until: deadline)
  }

  /// Waits after a step that could not complete.
  private func wait(for need: Need, until deadline: MonotonicTime) async throws(SystemError) {
    // A peer that keeps sending useless bytes would let no wait last until its deadline.
    guard MonotonicClock.now() < deadline else {
      throw SystemError(code: ETIMEDOUT, operation: "TLS")
    }
    switch need {
    case .input: try await socket.waitUntilReadable(until: deadline)
    case .output: try await socket.waitUntilWritable(until: deadline)
    // Not for the socket: it may never report the bytes again that it still has.
    case .turn: await Task.yield()
    }
    session.beginTurn()
  }

  func tryRead(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int? {
    mayHaveInput = false
    readNeeds = nil
    switch session.read(into: buffer) {
    case .done(let count):
      mayHaveInput = session.hasBufferedInput
      return count
    case .ended: return 0
    case .needsInput: readNeeds = .input
    case .needsOutput: readNeeds = .output
    case .heldBack: readNeeds = .turn
    case .failed(let failure): throw broken(failure)
    }
    return nil
  }

  func write(_ first: [UInt8], _ second: [UInt8], stallMs: Int64) async throws(SystemError) {
    if second.isEmpty {
      try await write(first, stallMs)
    } else if first.count + second.count <= Self.recordBytesMax {
      try await write(first + second, stallMs)
    } else {
      try await write(first, stallMs)
      try await write(second, stallMs)
    }
  }

  private func write(_ bytes: [UInt8], _ stallMs: Int64) async throws(SystemError) {
    var sent = 0
    while sent < bytes.count {
      let outcome = bytes.span.withUnsafeBytes { all in
        session.write(UnsafeRawBufferPointer(rebasing: all[sent...]))
      }
      switch outcome {
      case .done(let count): sent += count
      case .needsOutput:
        try await socket.waitUntilWritable(
          until: MonotonicClock.now().adding(milliseconds: stallMs))
      // Writing needs input only in a renegotiation, which is off.
      case .needsInput, .heldBack, .ended: throw broken(.broken)
      case .failed(let failure): throw broken(failure)
      }
    }
  }

  private func broken(_ failure: TLSFailure) -> SystemError {
    maySayEnd = false
    return SystemError(code: ECONNRESET, operation: "TLS", subject: failure.reason)
  }

  func shutdownWrites() {
    sendCloseNotify()
    socket.shutdownWrites()
  }

  func close() {
    sendCloseNotify()
    socket.close()
  }

  private func sendCloseNotify() {
    guard maySayEnd else { return }
    maySayEnd = false
    session.sendCloseNotify()
  }
}
