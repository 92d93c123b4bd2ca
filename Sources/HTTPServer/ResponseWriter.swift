import EventLoop
import Glibc
import Synchronization

/// Sends the bytes of a streamed response.
package final class ResponseWriter: Sendable {
  private let send: @Sendable ([UInt8]) async throws(SystemError) -> Void
  private let abort: @Sendable () -> Void
  private let hasEnded = Atomic<Bool>(false)

  init(
    _ send: @escaping @Sendable ([UInt8]) async throws(SystemError) -> Void,
    abort: @escaping @Sendable () -> Void
  ) {
    self.send = send
    self.abort = abort
  }

  /// Cuts the connection, so that a ``write(_:)`` that waits for a slow peer throws.
  ///
  /// May be called from any thread; does nothing once the stream has ended.
  package func cut() {
    if !hasEnded.load(ordering: .relaxed) { abort() }
  }

  /// Sends bytes at once; suspends while the peer is slow to take them.
  ///
  /// - Throws: ``SystemError`` if the peer has gone, or takes nothing for
  ///   ``HTTPLimits/writeStallTimeoutMs``. The stream's closure then has nothing left to do.
  package func write(_ bytes: [UInt8]) async throws(SystemError) {
    guard !hasEnded.load(ordering: .relaxed) else {
      throw SystemError(code: ECANCELED, operation: "write")
    }
    guard !bytes.isEmpty else { return }  // An empty chunk would end the body.
    try await send(bytes)
  }

  /// Keeps a writer that outlives its stream from writing into the next response.
  func end() {
    hasEnded.store(true, ordering: .relaxed)
  }
}
