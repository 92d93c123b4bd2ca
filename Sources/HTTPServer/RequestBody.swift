import Synchronization

/// Why a body could not be read to its end; the server answers each by itself, but for ``cutOff``.
package enum RequestBodyError: Error, Sendable, Equatable {
  /// Longer than the server's limit or the handler's own (413).
  case tooLarge
  /// Not properly framed (400).
  case malformed
  /// It did not go on in time (408).
  case timedOut
  /// The peer has gone; there is nobody to answer.
  case disconnected
  /// Whoever lends the memory for it has cut it off; see ``RequestBody/cutOff()``. The handler
  /// answers that one.
  case cutOff
}

/// Where the part of a body comes from that had not arrived with the head.
protocol BodySource: AnyObject, Sendable {
  /// The next piece, never empty; nil at the end.
  func readBody() async throws(RequestBodyError) -> [UInt8]?

  /// Has ``readBody()`` fail, also one that waits just now; from any thread.
  func cutOffBody()
}

/// A request's body, pulled piece by piece by one task at a time.
///
/// What had arrived together with the head is here already; for the usual small body, that is all
/// of it, and nothing suspends. `100 Continue` goes out at the first read that has to wait. Once
/// the handler has returned, what it has not read is gone.
package final class RequestBody: Sendable {
  private struct State {
    var buffered: [UInt8]?
    var failure: RequestBodyError?
    /// The handler has returned: the connection is no longer lent to it.
    var isRevoked = false
  }

  private let state: Mutex<State>
  private let source: (any BodySource)?

  /// The length in bytes, where the sender has stated it; nil for a chunked body.
  package let knownLength: Int64?

  /// A body that is all at hand.
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

  /// No body at all; one instance serves every request without one.
  static let none = RequestBody([])

  /// Why reading has failed, if it has, and the server is to say so.
  package var failure: RequestBodyError? { state.withLock { $0.failure } }

  /// The whole body, taken at once, where all of it had come with the head; nil where some of it
  /// may have to be waited for.
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
  /// A body that states its length is refused before any of it is read.
  ///
  /// - Parameter byteCountMax: The handler's own limit; the server's own holds as well.
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

  /// Whether all of it had come with the head, so that nothing has to be waited for.
  package var isAtHand: Bool { source == nil }

  /// Gives up what has not come yet.
  ///
  /// Reading fails with ``RequestBodyError/cutOff``, also where it waits just now. From any thread;
  /// does nothing once the handler has returned.
  package func cutOff() {
    guard let source else { return }
    // Under the lock, so that it cannot hit the next request of the connection.
    state.withLock { if !$0.isRevoked { source.cutOffBody() } }
  }

  /// Keeps a body that outlives its handler from reading what belongs to the next request.
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
