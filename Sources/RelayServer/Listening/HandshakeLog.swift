import EventLoop
import HTTPServer
import RelayCore
import Synchronization

/// Tells of TLS handshakes that failed: one line in a while, however many fail.
///
/// Without it nobody could see why a device's certificate is refused; without the limit whoever
/// tries ports could fill the log.
final class HandshakeLog: Sendable {
  /// How long nothing more is logged after a line.
  static let pauseMs: Int64 = 1000

  private struct State {
    var quietUntil = MonotonicTime(nanoseconds: 0)
    var leftOutCount: Int64 = 0
  }

  private let log: Log
  private let state = Mutex(State())

  init(_ log: Log) { self.log = log }

  /// Logs a failure, or counts it for the next line.
  func tell(_ failure: FailedHandshake, at now: MonotonicTime) {
    let leftOut: Int64? = state.withLock { state in
      guard now >= state.quietUntil else {
        state.leftOutCount += 1
        return nil
      }
      defer {
        state = State(quietUntil: now.adding(milliseconds: Self.pauseMs))
      }
      return state.leftOutCount
    }
    guard let leftOut else { return }
    log.info(
      "TLS handshake failed", ("listener", .integer(Int64(failure.listener))),
      ("peer", .text(failure.peer)), ("reason", .text(failure.reason)),
      ("othersSinceLastLine", .integer(leftOut)))
  }
}
