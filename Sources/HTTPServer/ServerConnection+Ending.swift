import Cryptography
import EventLoop
import RelayCore
import Synchronization

/// Ways in which a connection is ended by others than its task.
extension ServerConnection {
  /// Closes at once if no request is in flight; called on the loop's thread while the server
  /// drains.
  func closeIfIdle() {
    // On this thread the task, if there is one, is suspended now, and cannot be between its check
    // and its wait.
    if isWaitingForRequest.load(ordering: .relaxed), !hasUnreadRequest { stream.close() }
  }

  /// Whether unread bytes are there while the next request is awaited.
  var hasUnreadRequest: Bool { state.isIdle && !isShakingHands && socket.hasUnread }

  private var isShakingHands: Bool {
    if case .plain = stream { tls != nil } else { false }
  }

  /// Whether the client's certificate was accepted by its listener before and is not any more.
  ///
  /// May be called from any thread.
  func hasLostTrust() -> Bool {
    guard let tls, let shown = standing.withLock({ $0 }) else { return false }
    let current = tls.current
    if shown.context === current { return false }
    if shown.chain.refusal(by: current) != nil { return true }
    standing.withLock { $0 = VerifiedClientCertificate(chain: shown.chain, context: current) }
    return false
  }

  /// Makes the request in flight the last one; called on the loop's thread.
  ///
  /// - Returns: Whether its response has no end of its own, so that the connection has to be cut
  ///   off.
  func endSoon() -> Bool {
    endsSoon.store(true, ordering: .sequentiallyConsistent)
    closeIfIdle()
    return isStreaming.load(ordering: .sequentiallyConsistent)
  }

  /// Cancels the connection's task when the peer has ended its side, whatever the connection is
  /// doing.
  ///
  /// So a handler learns that nobody waits for its response, which it would otherwise notice only
  /// when writing.
  func cancelWhenPeerEnds() {
    socket.onInputEnd { [self] in serving.cancel() }
  }

  /// Cuts the connection, whatever it is doing, and cancels its task; may be called from any
  /// thread.
  func cutOff() {
    serving.cancel()
    abort()
  }

  /// Cuts the connection, whatever it is doing; may be called from any thread.
  func abort() {
    socket.close()
  }

  // MARK: After the response

  /// Gets past a body that its handler left; false means to close.
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

  /// Ends this side, and reads for a while before the socket is closed.
  ///
  /// If this side closed while the peer still sends, the kernel would send a reset, which can
  /// overtake the last response and erase it at the peer (RFC 9112 section 9.6).
  func linger() async {
    guard state.needsLinger else { return }
    releaseBuffer()
    stream.shutdownWrites()
    let deadline = MonotonicClock.now().adding(milliseconds: state.limits.lingerTimeoutMs)
    await socket.discardInput(until: deadline)
  }
}
