import Foundation
import Glibc

/// What an upstream does with one request.
enum Behaviour: Sendable {
  /// Answers, after a while.
  case answer(Int, fields: [WireField] = [], body: [UInt8] = [], delayMs: Int = 0)
  /// Answers with exactly these bytes, and closes the connection.
  case bytes(String)
  /// Cuts the connection instead of answering.
  case cut
  /// Keeps the connection open and never answers.
  case never
}

/// An upstream within the test: it records what reaches it and does as it is told.
final class TestUpstream: Sendable {
  /// What is under way, for threads to see.
  private struct State {
    var listener: Int32?
    var connections: [ObjectIdentifier: Connection] = [:]
    var received: [WireRequest] = []
    var connectionCount = 0
    /// Grows with each stop, so that whoever delays an answer learns of it.
    var stops = 0
  }

  /// Where it listens; the same after it was stopped and started again.
  var port: UInt16 { reservedPort.number }
  /// Kept while it is stopped: another upstream would otherwise be given its port.
  private let reservedPort: ReservedPort
  private let state: Monitor<State>
  private let behave: Monitor<@Sendable (WireRequest) -> Behaviour>

  /// The base URL.
  var url: String { "http://127.0.0.1:\(port)" }

  /// Starts an upstream on a free port.
  ///
  /// - Parameter behave: Decides for each request, on a thread that may block.
  init(_ behave: @escaping @Sendable (WireRequest) -> Behaviour = { _ in .answer(200) }) throws {
    reservedPort = try ReservedPort()
    let (listener, _) = try Self.listen(port: reservedPort.number)
    state = Monitor(State(listener: listener))
    self.behave = Monitor(behave)
    acceptOnThread(listener)
  }

  deinit { Self.stop(state) }

  /// Changes what it does from now on.
  func behave(_ behave: @escaping @Sendable (WireRequest) -> Behaviour) {
    self.behave.change { $0 = behave }
  }

  /// Says something on each of its connections that nobody has asked for, and waits until it has
  /// reached the other side's kernel.
  func sayUnasked(_ bytes: [UInt8]) async throws {
    let connections = state.read { Array($0.connections.values) }
    try await onThread {
      for connection in connections {
        try connection.write(bytes)
        connection.awaitArrival()
      }
    }
  }

  /// Goes away: nothing listens, and every connection is cut.
  func stop() { Self.stop(state) }

  private static func stop(_ state: Monitor<State>) {
    let connections = state.change { state in
      state.stops += 1
      if let listener = state.listener {
        // Wakes the thread that accepts, which then closes it.
        Glibc.shutdown(listener, Int32(SHUT_RDWR))
      }
      return Array(state.connections.values)
    }
    for connection in connections { connection.shutDown() }
    _ = state.block(seconds: 10) { $0.listener == nil ? true : nil }
  }

  /// Comes back, on the same port.
  func start() throws {
    let (listener, _) = try Self.listen(port: port)
    state.change { $0.listener = listener }
    acceptOnThread(listener)
  }

  /// What has arrived so far, in order.
  var received: [WireRequest] { state.read(\.received) }

  /// How many connections have been made so far.
  var connectionCount: Int { state.read(\.connectionCount) }

  /// Waits until nobody is connected any more, and all that came has been answered.
  func isLeft() async throws {
    let _: Bool = try await state.wait("end of all connections") {
      $0.connections.isEmpty ? true : nil
    }
  }

  /// Waits until so many requests have arrived, and returns all that have.
  @discardableResult
  func received(count: Int, seconds: Double = 20) async throws -> [WireRequest] {
    try await received("\(count) requests at the upstream", seconds: seconds) {
      $0.count >= count
    }
  }

  /// Waits until what has arrived is enough.
  @discardableResult
  func received(
    _ what: String, seconds: Double = 20,
    where isEnough: @escaping @Sendable ([WireRequest]) -> Bool
  ) async throws -> [WireRequest] {
    do {
      return try await state.wait(what, seconds: seconds) {
        isEnough($0.received) ? $0.received : nil
      }
    } catch is TimeLimitExceeded {
      let targets = received.suffix(40).map { "\($0.method) \($0.target)" }
      throw TimeLimitExceeded(
        description: "after \(seconds) s still not \(what); \(received.count) came: \(targets)")
    }
  }

  static func listen(port: UInt16) throws -> (Int32, UInt16) {
    let listener = try Connection.socket()
    var one: Int32 = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
    guard withLoopback(port: port, { Glibc.bind(listener, $0, $1) }) == 0,
      Glibc.listen(listener, 1024) == 0
    else {
      let code = errno
      Glibc.close(listener)
      throw SocketError(operation: "listen on port \(port)", code: code)
    }
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) {
      _ = $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.getsockname(listener, $0, &length)
      }
    }
    return (listener, UInt16(bigEndian: address.sin_port))
  }

  private func acceptOnThread(_ listener: Int32) {
    // The thread holds the parts and not the upstream, so that dropping the upstream ends it.
    let (state, behave) = (state, behave)
    let stops = state.read(\.stops)
    Thread.detachNewThread {
      while true {
        let descriptor = Glibc.accept(listener, nil, nil)
        if descriptor < 0 && (errno == EINTR || errno == ECONNABORTED) { continue }
        guard descriptor >= 0 else { break }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        let connection = Connection(descriptor: descriptor, seconds: 120)
        let isListening = state.change { state in
          // Accepted while it went away: `stop` has not seen this one.
          guard state.stops == stops else { return false }
          state.connections[ObjectIdentifier(connection)] = connection
          state.connectionCount += 1
          return true
        }
        guard isListening else { continue }
        Thread.detachNewThread { Self.serve(connection, state, behave) }
      }
      Glibc.close(listener)
      state.change { $0.listener = nil }
    }
  }

  private static func serve(
    _ connection: Connection, _ state: Monitor<State>,
    _ behave: Monitor<@Sendable (WireRequest) -> Behaviour>
  ) {
    // A peer that goes away in the middle is what these tests are about: nothing to be told.
    while let request = try? connection.readRequest() {
      // Before the request can be seen: a test that has seen it and changes what the upstream does
      // means those after it.
      let decide = behave.read { $0 }
      let stops = state.change { state in
        state.received.append(request)
        return state.stops
      }
      guard carryOut(decide(request), request, connection, state, stops: stops) else { break }
    }
    connection.close()
    _ = state.change { $0.connections.removeValue(forKey: ObjectIdentifier(connection)) }
  }

  /// Returns whether the connection goes on.
  private static func carryOut(
    _ behaviour: Behaviour, _ request: WireRequest, _ connection: Connection,
    _ state: Monitor<State>, stops: Int
  ) -> Bool {
    switch behaviour {
    case .bytes(let bytes):
      try? connection.write(Array(bytes.utf8))
      return false
    case .cut:
      connection.reset()
      return false
    case .never:
      _ = state.block(seconds: 120) { $0.stops != stops ? true : nil }
      return false
    case .answer(let status, let fields, let body, let delayMs):
      if delayMs > 0 {
        let stopped = state.block(seconds: Double(delayMs) / 1000) {
          $0.stops != stops ? true : nil
        }
        if stopped != nil { return false }
      }
      var head = "HTTP/1.1 \(status) Status\r\n"
      for field in fields { head += "\(field.name): \(field.value)\r\n" }
      if status != 204 { head += "Content-Length: \(body.count)\r\n" }
      let sentBody = request.method == "HEAD" ? [] : body
      return (try? connection.write(Array((head + "\r\n").utf8) + sentBody)) != nil
    }
  }
}
