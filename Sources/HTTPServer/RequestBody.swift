import Synchronization

/// The reason that a body could not be read to its end; the server responds to each by itself,
/// except ``cutOff``.
package enum RequestBodyError: Error, Sendable, Equatable {
  /// Longer than the server's limit or the handler's own (413).
  case tooLarge
  /// Not framed properly (400).
  case malformed
  /// It did not continue in time (408).
  case timedOut
  /// The peer has gone; there is nobody to respond to.
  case disconnected
  /// The owner of the memory for it has cut it off; see ``RequestBody/cutOff()``.
  ///
  /// The handler responds to this one.
  case cutOff
}

/// The source of the part of a body that did not arrive with the head.
protocol BodySource: AnyObject, Sendable {
  /// The next piece, never empty; nil at the end.
  func readBody() async throws(RequestBodyError) -> [UInt8]?

  /// Sends a response that another one follows.
  func sendInterim(_ head: [UInt8]) async

  /// Makes ``readBody()`` fail, even one that is waiting; may be called from any thread.
  func cutOffBody()

  /// Makes ``readBody()`` fail once it has brought what has come by now; may be called from any
  /// thread.
  func endBodyEarly()
}

/// A request's body, read piece by piece by one task at a time.
///
/// The part that arrived together with the head is here already. For the usual small body that is
/// all of it, and nothing suspends. `100 Continue` is sent at the first read that has to wait. Once
/// the handler has returned, the part that it has not read is gone.
package final class RequestBody: Sendable {
  private struct State {
    var buffered: [UInt8]?
    var failure: RequestBodyError?
    /// Whether the handler has returned, so that it may no longer use the connection.
    var isRevoked = false
  }

  private let state: Mutex<State>
  private let source: (any BodySource)?

  /// The length in bytes, if the sender has stated it; nil for a chunked body.
  package let knownLength: Int64?

  /// Makes a body that is all in memory.
  package init(_ bytes: [UInt8]) {
    state = Mutex(State(buffered: bytes.isEmpty ? nil : bytes))
    source = nil
    knownLength = Int64(bytes.count)
  }

  init(knownLength: Int64?, source: any BodySource) {
    state = Mutex(State())
    self.source = source
    self.knownLength = knownLength
  }

  /// The empty body; one instance serves every request without a body.
  static let none = RequestBody([])

  /// The reason that reading has failed, for the server's response; nil if it has not failed, or
  /// with ``RequestBodyError/cutOff``.
  package var failure: RequestBodyError? { state.withLock { $0.failure } }

  /// Takes the whole body at once, if all of it came with the head; nil if a part may have to be
  /// waited for.
  package func takeWhole() -> [UInt8]? {
    source == nil ? takeBuffered() ?? [] : nil
  }

  /// The next piece of the body, never empty; nil at the end.
  package func read() async throws(RequestBodyError) -> [UInt8]? {
    if let bytes = takeBuffered() { return bytes }
    guard let source else { return nil }
    if state.withLock({ $0.isRevoked }) { throw fail(.disconnected) }
    do throws(RequestBodyError) {
      return try await source.readBody()
    } catch {
      throw fail(error)
    }
  }

  /// The whole body, if it is no longer than a limit.
  ///
  /// A body with a stated length beyond the limit is refused before any of it is read.
  ///
  /// - Parameter byteCountMax: The handler's own limit; the server's limit applies as well.
  package func collect(upTo byteCountMax: Int) async throws(RequestBodyError) -> [UInt8] {
    if let knownLength, knownLength > byteCountMax { throw fail(.tooLarge) }
    if let whole = takeWhole() { return whole }
    var bytes: [UInt8] = []
    if let knownLength { bytes.reserveCapacity(min(Int(knownLength), 1 << 20)) }
    while let piece = try await read() {
      guard piece.count <= byteCountMax - bytes.count else { throw fail(.tooLarge) }
      if bytes.isEmpty { bytes = piece } else { bytes.append(contentsOf: piece) }
    }
    return bytes
  }

  /// Sends an interim response (RFC 9110 section 15.2) while the body is still coming in.
  ///
  /// Called by the task that reads the body. It sends nothing if all of the body came with the
  /// head: then the response itself is about to be sent.
  ///
  /// - Parameter fields: Names and values, which must be well formed.
  package func sendInterim(
    _ status: Int, _ reason: StaticString, _ fields: [(name: StaticString, value: String)]
  ) async {
    guard let source, !state.withLock({ $0.isRevoked }) else { return }
    var head = "HTTP/1.1 \(status) \(reason)\r\n"
    for field in fields { head += "\(field.name): \(field.value)\r\n" }
    await source.sendInterim(Array((head + "\r\n").utf8))
  }

  /// Whether all of it came with the head, so that no read has to wait.
  package var isAtHand: Bool { source == nil }

  /// Gives up the part that has not come yet.
  ///
  /// Reading fails with ``RequestBodyError/cutOff``, even if it is waiting now. May be called from
  /// any thread; does nothing once the handler has returned.
  package func cutOff() {
    guard let source else { return }
    // Under the lock, so that it cannot hit the next request of the connection.
    state.withLock { if !$0.isRevoked { source.cutOffBody() } }
  }

  /// Gives up the part that has not come yet, and keeps what has.
  ///
  /// Reading fails with ``RequestBodyError/cutOff`` once it would have to wait. May be called from
  /// any thread; does nothing once the handler has returned.
  package func endEarly() {
    guard let source else { return }
    state.withLock { if !$0.isRevoked { source.endBodyEarly() } }
  }

  /// Keeps a body that outlives its handler from reading bytes of the next request.
  func revoke() {
    guard source != nil else { return }
    state.withLock { $0.isRevoked = true }
  }

  private func takeBuffered() -> [UInt8]? {
    state.withLock { state in
      defer { state.buffered = nil }
      return state.buffered
    }
  }

  private func fail(_ error: RequestBodyError) -> RequestBodyError {
    if error != .cutOff { state.withLock { $0.failure = error } }
    return error
  }
}
