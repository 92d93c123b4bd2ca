import Foundation
import Glibc

/// A network between a device and a server, which a test takes away or makes a poor one, or which
/// cuts each connection.
final class NetworkLink: Sendable {
  /// What it does with what it is given, while it is there.
  enum Quality: Sendable {
    /// It passes everything on at once.
    case good
    /// It passes on a few bytes at a time.
    case slow
    /// It passes nothing on, and keeps its connections.
    case stalled
    /// It passes on what the device says, and loses what the server answers.
    case losingAnswers
  }

  private struct State {
    var listener: Int32?
    var open: Set<Int32> = []
    var cutCount = 0
    var lostCount = 0
    var quality = Quality.good
  }

  private let reservedPort: ReservedPort
  private let target: UInt16
  private let bytesMax: Int
  private let state = Monitor(State())

  /// Where devices find it.
  var port: UInt16 { reservedPort.number }
  /// The base URL for devices.
  var url: String { "http://127.0.0.1:\(port)" }
  /// How many connections it has cut for their bytes.
  var cutCount: Int { state.read(\.cutCount) }

  /// How many pieces of answers it has lost.
  var lostCount: Int { state.read(\.lostCount) }

  /// Begins to pass on.
  ///
  /// - Parameters:
  ///   - target: The server's port.
  ///   - bytesMax: The bytes from a device after which a connection is cut.
  init(to target: UInt16, cuttingAfter bytesMax: Int = .max) throws {
    reservedPort = try ReservedPort()
    self.target = target
    self.bytesMax = bytesMax
    try start()
  }

  deinit { Self.stop(state) }

  /// Is there, or is there again.
  func start() throws {
    let (listener, _) = try TestUpstream.listen(port: port)
    state.change { $0.listener = listener }
    let (state, target, bytesMax) = (state, target, bytesMax)
    Thread.detachNewThread {
      while true {
        let device = Glibc.accept(listener, nil, nil)
        if device < 0 && (errno == EINTR || errno == ECONNABORTED) { continue }
        guard device >= 0 else { break }
        _ = fcntl(device, F_SETFD, FD_CLOEXEC)
        Self.pass(device, to: target, bytesMax, state)
      }
      Glibc.close(listener)
      state.change { $0.listener = nil }
    }
  }

  /// Goes away, with all connections.
  func stop() { Self.stop(state) }

  /// Becomes a better or a worse one.
  ///
  /// Once it loses answers no more, its connections are cut: of a stream nothing can be missing.
  func become(_ quality: Quality) {
    state.change { state in
      if state.quality == .losingAnswers { Self.cut(state.open) }
      state.quality = quality
    }
  }

  private static func cut(_ descriptors: Set<Int32>) {
    for descriptor in descriptors { Glibc.shutdown(descriptor, Int32(SHUT_RDWR)) }
  }

  private static func stop(_ state: Monitor<State>) {
    state.read { state in
      if let listener = state.listener { Glibc.shutdown(listener, Int32(SHUT_RDWR)) }
      cut(state.open)
    }
    _ = state.block(seconds: 10) { $0.listener == nil ? true : nil }
  }

  private static func pass(
    _ device: Int32, to target: UInt16, _ bytesMax: Int, _ state: Monitor<State>
  ) {
    guard let server = try? Connection.socket() else { return }
    guard withLoopback(port: target, { Glibc.connect(server, $0, $1) }) == 0 else {
      Glibc.close(server)
      Glibc.close(device)
      return
    }
    state.change { $0.open.formUnion([device, server]) }
    // The thread that ends last closes both.
    let ended = Monitor(0)
    for (from, to, most) in [(device, server, bytesMax), (server, device, Int.max)] {
      Thread.detachNewThread {
        let isAnswer = from == server
        if copy(from, to, most, isAnswer, state) { state.change { $0.cutCount += 1 } }
        Glibc.shutdown(from, Int32(SHUT_RDWR))
        Glibc.shutdown(to, Int32(SHUT_RDWR))
        let isLast = ended.change { count in
          count += 1
          return count == 2
        }
        guard isLast else { return }
        state.change { state in
          state.open.subtract([device, server])
          Glibc.close(device)
          Glibc.close(server)
        }
      }
    }
  }

  /// What passes at a time where it is slow, and the pause after it.
  private static let (slowBytes, slowSeconds) = (1024, 0.004)

  /// Returns whether so many bytes have come.
  private static func copy(
    _ from: Int32, _ to: Int32, _ most: Int, _ isAnswer: Bool, _ state: Monitor<State>
  ) -> Bool {
    var left = most
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while left > 0 {
      let isSlow = state.read { $0.quality == .slow }
      let count = Glibc.recv(from, &buffer, min(isSlow ? slowBytes : buffer.count, left), 0)
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return false }
      if isSlow { _ = state.block(seconds: slowSeconds) { $0.quality == .slow ? nil : true } }
      let quality = state.block(seconds: 60) { state -> Quality? in
        state.quality == .stalled && state.listener != nil ? nil : state.quality
      }
      if isAnswer, quality == .losingAnswers {
        state.change { $0.lostCount += 1 }
        continue
      }
      var sent = 0
      while sent < count {
        let written = buffer[sent..<count].withUnsafeBytes {
          Glibc.send(to, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        if written < 0 && errno == EINTR { continue }
        guard written > 0 else { return false }
        sent += written
      }
      left -= count
    }
    return true
  }
}
