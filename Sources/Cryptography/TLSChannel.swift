import COpenSSL

/// The carrier of a TLS session's records: it moves bytes from and to somebody else's socket.
///
/// OpenSSL calls it from within a session's calls, on the caller's thread.
package final class TLSChannel {
  /// The result of moving bytes.
  package enum Transfer {
    /// The number of bytes moved, at least one.
    case moved(Int)
    /// The peer has ended its side; only when receiving.
    case ended
    /// Nothing can be moved now.
    case mustWait
    /// The connection is broken.
    case failed
  }

  fileprivate let receive: (UnsafeMutableRawBufferPointer) -> Transfer
  fileprivate let send: (UnsafeRawBufferPointer) -> Transfer
  /// Whether the peer has ended its side; tells OpenSSL an end from a broken connection.
  fileprivate var hasEnded = false
  /// The amount that may be received before the session is held back.
  var allowance = TLSAllowance()

  /// Makes a channel of two functions, neither of which may block.
  package init(
    receive: @escaping (UnsafeMutableRawBufferPointer) -> Transfer,
    send: @escaping (UnsafeRawBufferPointer) -> Transfer
  ) {
    self.receive = receive
    self.send = send
  }

  /// Makes a `BIO` that moves its bytes through this channel, which has to outlive it.
  func makeBIO() -> OpaquePointer {
    guard let bio = BIO_new(Self.method.pointer) else { preconditionFailure("BIO_new failed") }
    BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
    return bio
  }

  /// Counts the session's incoming records (SSL_CTX_set_msg_callback(3)).
  func countRecords(of ssl: OpaquePointer) {
    SSL_set_msg_callback(ssl) { isSent, _, kind, _, _, ssl, channel in
      guard isSent == 0, kind == SSL3_RT_HEADER, let channel else { return }
      Unmanaged<TLSChannel>.fromOpaque(channel).takeUnretainedValue().takeRecord(of: ssl)
    }
    waystation_tls_set_message_argument(ssl, Unmanaged.passUnretained(self).toOpaque())
  }

  private func takeRecord(of ssl: OpaquePointer?) {
    allowance.takeRecord()
    // OpenSSL does not ask for what is in its own buffer, but stops there if the peer has ended.
    if allowance.isOverdrawn { SSL_set_shutdown(ssl, SSL_RECEIVED_SHUTDOWN) }
  }

  /// The callbacks of every such `BIO` (BIO_meth_new(3)), made once.
  private static let method = ChannelMethod()

  fileprivate static func of(_ bio: OpaquePointer?) -> TLSChannel? {
    BIO_get_data(bio).map { Unmanaged<TLSChannel>.fromOpaque($0).takeUnretainedValue() }
  }
}

// Sound: never changed once it is made, and kept until the process ends.
private struct ChannelMethod: @unchecked Sendable {
  let pointer: OpaquePointer

  init() {
    guard let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "channel") else {
      preconditionFailure("BIO_meth_new failed")
    }
    pointer = method
    BIO_meth_set_create(method) { bio in
      BIO_set_init(bio, 1)
      return 1
    }
    BIO_meth_set_ctrl(method) { bio, command, _, _ in
      switch command {
      // Everything is sent at once, so there is never anything to flush.
      case BIO_CTRL_FLUSH: 1
      case BIO_CTRL_EOF: TLSChannel.of(bio)?.hasEnded == true ? 1 : 0
      default: 0
      }
    }
    BIO_meth_set_read(method) { bio, bytes, count in
      guard let bytes, count > 0, let channel = TLSChannel.of(bio) else { return -1 }
      waystation_bio_no_retry(bio)
      if channel.allowance.isOverdrawn { return -1 }
      let room = min(Int(count), channel.allowance.bytesLeft)
      guard room > 0 else {
        waystation_bio_retry_read(bio)
        return -1
      }
      switch channel.receive(UnsafeMutableRawBufferPointer(start: bytes, count: room)) {
      case .moved(let count):
        channel.allowance.take(bytes: count)
        return Int32(count)
      case .ended:
        channel.hasEnded = true
        return 0
      case .failed: return -1
      case .mustWait:
        waystation_bio_retry_read(bio)
        return -1
      }
    }
    BIO_meth_set_write(method) { bio, bytes, count in
      guard let bytes, count > 0, let channel = TLSChannel.of(bio) else { return -1 }
      waystation_bio_no_retry(bio)
      switch channel.send(UnsafeRawBufferPointer(start: bytes, count: Int(count))) {
      case .moved(let count): return Int32(count)
      case .ended, .failed: return -1
      case .mustWait:
        waystation_bio_retry_write(bio)
        return -1
      }
    }
  }
}
