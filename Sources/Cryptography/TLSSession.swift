import COpenSSL

/// The result of one step of a TLS session.
package enum TLSOutcome: Sendable, Equatable {
  /// It is done; if bytes were read or written, their number.
  case done(Int)
  /// The peer will send no more (`close_notify`).
  case ended
  /// The same call can continue once bytes have come.
  case needsInput
  /// The same call can continue once bytes can be sent.
  case needsOutput
  /// The session has used up its share for now; the same call can continue after
  /// ``TLSSession/beginTurn()``.
  case heldBack
  /// The session is over.
  case failed(TLSFailure)
}

/// The reason that a TLS session is over.
package enum TLSFailure: Error, Sendable, Equatable {
  /// The connection broke, as the channel reported.
  case broken
  /// The connection ended without `close_notify`: earlier data may lack its end (RFC 8446 section
  /// 6.1).
  case truncated
  /// The peer speaks HTTP without TLS.
  case plainHTTP
  /// The peer sends record after record without data: key updates, warnings or empty records.
  case flooded
  /// A rule was broken, or a certificate refused; in OpenSSL's words.
  case refused(String)

  /// The reason, as a part of a sentence.
  package var reason: String {
    switch self {
    case .broken: "the connection broke"
    case .truncated: "the connection ended without close_notify"
    case .plainHTTP: "plain HTTP was sent"
    case .flooded: "too many records without data were sent"
    case .refused(let reason): reason
    }
  }
}

/// The server's side of one TLS connection.
///
/// It never waits, and one task at a time uses it.
package struct TLSSession: ~Copyable {
  private let ssl: OpaquePointer
  private let channel: TLSChannel

  /// Makes a session whose handshake has not begun.
  package init(_ context: TLSContext, over channel: TLSChannel) {
    // Fails only when memory has run out, which nothing can mend.
    guard let ssl = SSL_new(context.pointer) else { preconditionFailure("SSL_new failed") }
    self.ssl = ssl
    self.channel = channel
    let bio = channel.makeBIO()
    // One reference is enough where both directions have the same BIO (SSL_set_bio(3)).
    SSL_set_bio(ssl, bio, bio)
    SSL_set_accept_state(ssl)
    channel.countRecords(of: ssl)
  }

  deinit { SSL_free(ssl) }

  /// Begins a turn: the session may again receive some 64 KiB, or 128 records, before it is
  /// ``TLSOutcome/heldBack``.
  ///
  /// To be called after each wait, and once others have had their turn.
  package func beginTurn() { channel.allowance.beginTurn() }

  /// Continues the handshake; `.done(0)` once it is complete.
  package func handshake() -> TLSOutcome {
    OpenSSLErrors.clear()
    let result = SSL_do_handshake(ssl)
    guard result == 1 else { return outcome(of: result) }
    channel.allowance.connect()
    return .done(0)
  }

  /// Reads bytes that were or can be decrypted.
  ///
  /// A peer that sends many records without data is refused (``TLSFailure/flooded``).
  package func read(into buffer: UnsafeMutableRawBufferPointer) -> TLSOutcome {
    guard channel.allowance.isLeft else { return .heldBack }
    OpenSSLErrors.clear()
    var count = 0
    let result = SSL_read_ex(ssl, buffer.baseAddress, buffer.count, &count)
    guard result == 1 else { return outcome(of: result) }
    channel.allowance.noteData()
    return .done(count)
  }

  /// Encrypts and sends as much as the channel takes at once.
  ///
  /// If it needs input or output, the same bytes have to be handed over again; they may have moved
  /// in memory.
  package func write(_ bytes: UnsafeRawBufferPointer) -> TLSOutcome {
    OpenSSLErrors.clear()
    var count = 0
    let result = SSL_write_ex(ssl, bytes.baseAddress, bytes.count, &count)
    return result == 1 ? .done(count) : outcome(of: result)
  }

  /// Tells the peer that nothing more will be sent (`close_notify`), as far as that goes without
  /// waiting.
  ///
  /// Not allowed after a ``TLSOutcome/failed(_:)``, and not before the handshake is complete.
  package func sendCloseNotify() {
    OpenSSLErrors.clear()
    _ = SSL_shutdown(ssl)
    OpenSSLErrors.clear()
  }

  /// Whether bytes were received that no ``read(into:)`` has taken: the socket reports them no
  /// more.
  package var hasBufferedInput: Bool { SSL_has_pending(ssl) == 1 }

  /// The negotiated version, such as `TLSv1.3`: SSL_get_version(3).
  package var version: String { String(cString: SSL_get_version(ssl)) }

  /// The client's certificate; nil if it sent none, or it was not verified.
  package var peerChain: PeerChain? {
    guard let pointer = SSL_get1_peer_certificate(ssl) else { return nil }
    let certificate = Certificate(adopting: pointer)
    guard SSL_get_verify_result(ssl) == Int(X509_V_OK) else { return nil }
    return PeerChain(
      certificate, others: SSL_get_peer_cert_chain(ssl),
      validUntilSeconds: Certificate.validUntilSeconds(SSL_get0_verified_chain(ssl)))
  }

  private func outcome(of result: Int32) -> TLSOutcome {
    if channel.allowance.isOverdrawn { return .failed(.flooded) }
    return switch SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ: channel.allowance.bytesLeft > 0 ? .needsInput : .heldBack
    case SSL_ERROR_WANT_WRITE: .needsOutput
    case SSL_ERROR_ZERO_RETURN: .ended
    case SSL_ERROR_SSL: .failed(failure)
    default: .failed(.broken)
    }
  }

  private var failure: TLSFailure {
    switch OpenSSLErrors.reasonCode {
    case SSL_R_UNEXPECTED_EOF_WHILE_READING: return .truncated
    case SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST: return .plainHTTP
    default: break
    }
    let reason = OpenSSLErrors.takeReason()
    let verified = SSL_get_verify_result(ssl)
    guard verified != Int(X509_V_OK), let text = X509_verify_cert_error_string(verified) else {
      return .refused(reason)
    }
    return .refused("\(reason): \(String(cString: text))")
  }
}
