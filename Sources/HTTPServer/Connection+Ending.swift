import Cryptography
import EventLoop
import RelayCore
import Synchronization

/// How others than its task end a connection.
extension Connection {
  /// Closes at once if no request is in flight; on the loop's thread, while the server drains.
  func closeIfIdle() {
    // On this thread the task is parked now, if there is one, and cannot be between its check and
    // its wait.
    if isWaitingForRequest.load(ordering: .relaxed), !hasUnreadRequest { stream.close() }
  }

  /// Whether something lies unread where the next request is waited for.
  var hasUnreadRequest: Bool { state.isIdle && !isShakingHands && socket.hasUnread }

  private var isShakingHands: Bool {
    if case .plain = stream { tls != nil } else { false }
  }

  /// Whether the client has shown a certificate that its listener accepts no more, though it did.
  ///
  /// From any thread.
  func hasLostTrust() -> Bool {
    guard let tls, let shown = standing.withLock({ $0 }) else { return false }
    let current = tls.current
    if shown.context === current { return false }
    if shown.chain.refusal(by: current) != nil { return true }
    standing.withLock { $0 = ClientStanding(chain: shown.chain, context: current) }
    return false
  }

  /// Serves nothing but the request in flight; on the loop's thread.
  ///
  /// - Returns: Whether that has no end of its own, so that it has to be cut off.
  func endSoon() -> Bool {
    endsSoon.store(true, ordering: .sequentiallyConsistent)
    closeIfIdle()
    return isStreaming.load(ordering: .sequentiallyConsistent)
  }

  /// Has its task cancelled when the peer has ended its side, whatever the connection is doing.
  ///
  /// That is how a handler learns that nobody waits for its answer, which it would otherwise see
  /// only when it writes.
  func cancelWhenPeerEnds() {
    socket.onInputEnd { [self] in serving.cancel() }
  }

  /// Cuts the connection, whatever it is doing, and cancels its task; from any thread.
  func cutOff() {
    serving.cancel()
    abort()
  }

  /// Cuts the connection, whatever it is doing; from any thread.
  func abort() {
    socket.close()
  }

  // MARK: After the answer

  /// Gets past a body that its handler left; false to close.
  func skipBody() async -> Bool {
    while true {
      switch state.nextSkip(now: context.loop.now) {
      case .end: return true
      case .read(let deadline): await fill(until: deadline)
      case .sendContinue, .piece: continue
      case .failed:
        await linger()
        return false
      }
    }
  }

  /// Ends this side, and reads on for a while before the socket is closed.
  ///
  /// Closing while the peer still sends would make the kernel answer with a reset, which can
  /// overtake the last answer and erase it at the peer (RFC 9112 section 9.6).
  func linger() async {
    guard state.needsLinger else { return }
    releaseBuffer()
    stream.shutdownWrites()
    let deadline = MonotonicClock.now().adding(milliseconds: state.limits.lingerTimeoutMs)
    await socket.discardInput(until: deadline)
  }
}
