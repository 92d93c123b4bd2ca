import Cryptography
import EventLoop
import RelayCore
import Synchronization

/// An HTTP/1.1 server on a number of event loops.
///
/// One listener hands its connections to the loop with the fewest. With `SO_REUSEPORT` and a
/// listener on each loop, the kernel would spread them by a hash: unevenly when they are few and
/// long-lived, as devices' are, and a second relay could bind the address unnoticed.
package final class HTTPServer: Sendable {
  private struct Entry {
    let connection: ServerConnection
    let context: LoopContext
    let place: ConnectionCounts.Place
    let listener: Int
  }

  private struct State {
    var listeners: [Listener] = []
    var connections: [UInt64: Entry] = [:]
    var nextIdentity: UInt64 = 0
    var counts = ConnectionCounts()
    /// Figures by the listeners' numbers.
    var figures: [Int: ListenerFigures] = [:]
    var turnedAwayCount = 0
    var cutOffCount = 0
    var isDraining = false
    var waitsForEmpty: [UnsafeContinuation<Void, Never>] = []

    /// Takes a place for a connection, and counts it.
    mutating func admit(
      _ origin: RequestOrigin, in room: ConnectionRoom, limits: HTTPLimits
    ) throws(ConnectionCounts.Refusal) -> ConnectionCounts.Place {
      do throws(ConnectionCounts.Refusal) {
        let place = try counts.admit(origin.peer, in: room, limits: limits)
        figures[origin.listener, default: ListenerFigures()].accepted += 1
        figures[origin.listener]?.open += 1
        return place
      } catch {
        figures[origin.listener, default: ListenerFigures()].refused += 1
        throw error
      }
    }
  }

  /// The most connections beyond the limit that are answered at a time; more than that are just
  /// closed.
  static let turnedAwayMax = 256

  private let server: ServerContext
  private let contexts: [LoopContext]
  private let state = Mutex(State())

  /// Makes a server that is not bound yet.
  ///
  /// - Parameters:
  ///   - limits: Limits without faults; see ``HTTPLimits/validate()``.
  ///   - loops: At least one; connections are spread over them.
  ///   - problem: Makes the responses to the faults that the server finds by itself.
  ///   - handshakeFailed: Called with each failed TLS handshake, on a loop's thread.
  ///   - observeDelay: Called for some requests with the milliseconds that they lay unread only
  ///     because of others: how far behind the loops are.
  ///   - observeAnswer: Called with each response, on a loop's thread; has to be quick.
  ///   - exchanges: The keeper of an access log; nil for none.
  package init(
    limits: HTTPLimits = HTTPLimits(), loops: [EventLoop], handler: any RequestHandler,
    problem: @escaping @Sendable (ProtocolProblem) -> HTTPResponse = ProtocolProblem.response(to:),
    handshakeFailed: @escaping @Sendable (FailedHandshake) -> Void = { _ in },
    observeDelay: (@Sendable (Int64) -> Void)? = nil,
    observeAnswer: (@Sendable (AnsweredRequest) -> Void)? = nil,
    exchanges: (any ExchangeObserver)? = nil
  ) {
    precondition(!loops.isEmpty, "a server needs an event loop")
    precondition(limits.validate().isEmpty, "limits are checked before they are used")
    server = ServerContext(
      limits: limits, handler: handler, problem: problem, handshakeFailed: handshakeFailed,
      observeDelay: observeDelay, observeAnswer: observeAnswer, exchanges: exchanges)
    contexts = loops.map { LoopContext(loop: $0, bufferBytes: limits.readBufferBytes) }
  }

  /// Changes the limits for new connections; existing ones keep theirs.
  ///
  /// The size of read buffers does not change.
  package func setLimits(_ limits: HTTPLimits) {
    precondition(limits.validate().isEmpty, "limits are checked before they are used")
    var limits = limits
    limits.readBufferBytes = server.limits.readBufferBytes
    server.setLimits(limits)
  }

  /// The number of open connections.
  package var connectionCount: Int { state.withLock { $0.connections.count } }

  /// The connections of each listener that ever had one, by the listeners' numbers.
  package var figures: [Int: ListenerFigures] { state.withLock { $0.figures } }

  /// Begins to accept connections at an endpoint; may be called for several.
  ///
  /// - Parameters:
  ///   - number: The listener's number, which requests carry as ``RequestOrigin/listener``.
  ///   - mode: The permission bits of a Unix socket's file.
  ///   - inherited: The sockets from which an inherited one is taken.
  ///   - tls: The TLS credentials; nil for plain text.
  ///   - room: The room that its connections have.
  /// - Returns: The endpoint with the actual port.
  /// - Throws: ``SystemError`` with the endpoint as subject.
  package func bind(
    _ endpoint: Endpoint, number: Int, mode: UInt32 = 0o600,
    inherited: InheritedSockets = InheritedSockets(), tls: TLSCredentials? = nil,
    room: ConnectionRoom = .common
  ) throws(SystemError) -> Endpoint {
    let loop = contexts[0].loop
    let listener = try Listener(endpoint, mode: mode, inherited: inherited, on: loop)
    state.withLock { $0.listeners.append(listener) }
    Task(executorPreference: loop) { [self] in
      await accept(from: listener, number: number, tls: tls, room: room)
    }
    return listener.endpoint
  }

  /// Begins to accept connections at an address, as its only listener.
  ///
  /// - Returns: The address with the actual port.
  /// - Throws: ``SystemError`` with the address as subject.
  package func bind(_ address: SocketAddress) throws(SystemError) -> SocketAddress {
    guard case .tcp(let bound) = try bind(.tcp(address), number: 0) else { return address }
    return bound
  }

  /// Stops accepting; open connections stay open.
  package func stopAccepting() {
    let listeners = state.withLock { state in
      defer { state.listeners = [] }
      return state.listeners
    }
    for listener in listeners { listener.close() }
  }

  /// Stops accepting, closes idle connections at once, and lets the others finish their requests.
  ///
  /// Their responses say `Connection: close`. Connections that have not finished at the deadline
  /// are cut off, and their tasks cancelled.
  ///
  /// - Returns: The number of connections that were cut off.
  @discardableResult
  package func drain(until deadline: MonotonicTime) async -> Int {
    stopAccepting()
    server.isDraining.store(true, ordering: .sequentiallyConsistent)
    let entries = state.withLock { state in
      state.isDraining = true
      return Array(state.connections.values)
    }
    for entry in entries { entry.context.loop.execute { entry.connection.closeIfIdle() } }
    let timer = contexts[0].loop.schedule(at: deadline) { [self] in cutOff() }
    await waitUntilEmpty()
    timer.cancel()
    for context in contexts { context.workers.dismiss() }
    return state.withLock { $0.cutOffCount }
  }

  /// Verifies clients' certificates again where their listener's credentials were replaced since.
  ///
  /// A connection whose certificate is no longer accepted ends with the request in flight.
  ///
  /// It takes a fraction of a millisecond for each such client, on the caller's thread, which must
  /// not be a loop's.
  ///
  /// - Returns: The number of connections that are ended.
  package func endDistrusted() -> Int {
    let entries = state.withLock { Array($0.connections.values) }
    let distrusted = entries.filter { $0.connection.hasLostTrust() }
    for entry in distrusted {
      entry.context.loop.execute {
        if entry.connection.endSoon() { entry.connection.cutOff() }
      }
    }
    return distrusted.count
  }

  private func cutOff() {
    let entries = state.withLock { state in
      state.cutOffCount = state.connections.count
      return Array(state.connections.values)
    }
    for entry in entries { entry.connection.cutOff() }
  }

  private func waitUntilEmpty() async {
    await withUnsafeContinuation { continuation in
      let isEmpty = state.withLock { state in
        if !state.connections.isEmpty { state.waitsForEmpty.append(continuation) }
        return state.connections.isEmpty
      }
      if isEmpty { continuation.resume() }
    }
  }
}

// MARK: - Connections

extension HTTPServer {
  private func accept(
    from listener: Listener, number: Int, tls: TLSCredentials?, room: ConnectionRoom
  ) async {
    while let accepted = await listener.accept() {
      let context = leastBusyContext()
      let origin = RequestOrigin(
        listener: number, peer: accepted.peer, local: accepted.local)
      // If the loop cannot watch another descriptor, the connection is closed right here.
      guard let socket = try? accepted.socket(on: context.loop) else {
        continue
      }
      let connection = ServerConnection(socket, from: origin, tls, server, context)
      if let refusal = begin(connection, origin, in: room, on: context) {
        // A response would need a handshake, which a refused connection does not get.
        if tls == nil {
          turnAway(socket, origin, refusal, on: context.loop)
        } else {
          socket.close()
        }
      }
      // A flood of connections must not keep existing ones from their turn.
      await Task.yield()
    }
  }

  private func leastBusyContext() -> LoopContext {
    var best = contexts[0]
    for context in contexts.dropFirst()
    where context.connectionCount.load(ordering: .relaxed)
      < best.connectionCount.load(ordering: .relaxed)
    {
      best = context
    }
    return best
  }

  /// Begins to serve a connection, or returns why not.
  private func begin(
    _ connection: ServerConnection, _ origin: RequestOrigin, in room: ConnectionRoom,
    on context: LoopContext
  ) -> ConnectionCounts.Refusal? {
    let identity: UInt64
    do throws(ConnectionCounts.Refusal) {
      identity = try state.withLock { (state) throws(ConnectionCounts.Refusal) in
        guard !state.isDraining else { throw .draining }
        let place = try state.admit(origin, in: room, limits: server.limits)
        state.nextIdentity += 1
        state.connections[state.nextIdentity] = Entry(
          connection: connection, context: context, place: place, listener: origin.listener)
        return state.nextIdentity
      }
    } catch {
      return error
    }
    context.connectionCount.wrappingAdd(1, ordering: .relaxed)
    connection.begin { [self] in end(identity, on: context) }
    connection.cancelWhenPeerEnds()
    return nil
  }

  private func end(_ identity: UInt64, on context: LoopContext) {
    context.connectionCount.wrappingSubtract(1, ordering: .relaxed)
    let waiting = state.withLock { state -> [UnsafeContinuation<Void, Never>] in
      if let entry = state.connections.removeValue(forKey: identity) {
        state.counts.release(entry.place)
        state.figures[entry.listener]?.open -= 1
      }
      guard state.connections.isEmpty else { return [] }
      defer { state.waitsForEmpty = [] }
      return state.waitsForEmpty
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Tells a connection beyond the limit to come back later; bounded in number and time.
  private func turnAway(
    _ socket: Socket, _ origin: RequestOrigin, _ refusal: ConnectionCounts.Refusal,
    on loop: EventLoop
  ) {
    let isAnswered = state.withLock { state in
      guard state.turnedAwayCount < Self.turnedAwayMax else { return false }
      state.turnedAwayCount += 1
      return true
    }
    guard isAnswered else { return socket.close() }
    Task(executorPreference: loop) { [self] in
      await ServerConnection.refuse(
        socket, from: origin, refusal.words(server.limits), server, contexts[0])
      state.withLock { $0.turnedAwayCount -= 1 }
    }
  }
}
