import Cryptography
import EventLoop
import RelayCore
import Synchronization

extension ServerConnection {
  /// The response to plain HTTP on a TLS port; it is sent without TLS as well.
  ///
  /// Another relay knows it by its three fields: ``PlainTextRefusal``.
  private static let plainAnswer: [UInt8] = {
    let words = "\(PlainTextRefusal.ownWords)\n"
    let head =
      "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n"
      + "Content-Length: \(words.utf8.count)\r\nConnection: close\r\n\r\n"
    return Array((head + words).utf8)
  }()

  /// The version of TLS in use; nil for plain text.
  var tlsVersion: String? {
    if case .secure(let secured) = stream { secured.version } else { nil }
  }

  /// Completes the handshake; false if there is nobody to serve.
  func isReady(_ tls: TLSCredentials) async -> Bool {
    if server.isDraining.load(ordering: .relaxed) { return false }
    // Nothing is in flight yet, so a draining server need not wait for it.
    isWaitingForRequest.store(true, ordering: .relaxed)
    let secured = await secure(socket, with: tls)
    isWaitingForRequest.store(false, ordering: .relaxed)
    guard let secured else { return false }
    stream = .secure(secured)
    if let chain = secured.peerChain {
      origin = RequestOrigin(
        listener: origin.listener, peer: origin.peer, local: origin.local, certificate: chain.says)
      standing.withLock { $0 = VerifiedClientCertificate(chain: chain, context: secured.context) }
      // A reload during the handshake has not seen this certificate.
      if hasLostTrust() { return false }
    }
    // The time for the first head begins now, after the handshake.
    state = ConnectionState(limits: state.limits, now: context.loop.now)
    return true
  }

  /// Completes the handshake of a connection on a TLS listener.
  ///
  /// A connection that stays silent costs only a socket: its session is made when its first bytes
  /// have come.
  ///
  /// - Returns: The stream for its bytes from then on; nil if there is nobody to serve.
  private func secure(_ socket: Socket, with credentials: TLSCredentials) async -> SecureStream? {
    let number = server.handshakes.begin(self, from: origin.peer.placeSource)
    defer { server.handshakes.end(number) }
    let deadline = MonotonicClock.now().adding(milliseconds: server.limits.handshakeTimeoutMs)
    do throws(SystemError) {
      try await socket.waitUntilReadable(until: deadline)
      let stream = SecureStream(socket, credentials.current)
      guard let failure = try await stream.handshake(until: deadline) else { return stream }
      await refuse(socket, failure)
    } catch {
      if error.isTimeout { report("the handshake took too long") }
    }
    return nil
  }

  private func refuse(_ socket: Socket, _ failure: TLSFailure) async {
    // A peer that only checks whether the port is open is not worth a log line.
    if failure != .truncated, failure != .broken { report(failure.reason) }
    let lingerMs = server.limits.lingerTimeoutMs
    if failure == .plainHTTP {
      try? await socket.write(Self.plainAnswer, stallMs: lingerMs)
    }
    // The alert or the response is on its way: bytes that the peer has sent since must not erase
    // it.
    socket.shutdownWrites()
    await socket.discardInput(until: MonotonicClock.now().adding(milliseconds: lingerMs))
  }

  private func report(_ reason: String) {
    server.handshakeFailed(
      FailedHandshake(
        listener: origin.listener, peer: origin.peer.description, reason: reason))
  }
}
