import COpenSSL
import EventLoop
import Glibc
import Synchronization

/// The server's side of TLS for a ``RawConnection``, record by record as a test says.
///
/// Sound: `@unchecked Sendable`, since a context may be shared by sessions on several threads
/// (SSL_CTX_new(3)), and is not changed after it was made.
final class RawTLS: @unchecked Sendable {
  /// Which versions of TLS there are.
  enum Version: Int32, Sendable, CaseIterable {
    case tls12 = 0x0303
    case tls13 = 0x0304
  }

  /// One for all, since making it waits for a program; gone with the process.
  private static let folder = Result {
    let folder = try CertificateFolder()
    atexit { RawTLS.removeFolder() }
    return folder
  }

  private static func removeFolder() {
    guard case .success(let folder) = folder else { return }
    for file in [folder.certificate, folder.key] { unlink(file) }
    rmdir(folder.path)
  }

  let folder: CertificateFolder
  private let context: OpaquePointer
  private let tickets = Atomic<Int>(0)

  /// How many session tickets have been sent.
  var ticketCount: Int { tickets.load(ordering: .sequentiallyConsistent) }

  /// - Parameter speaksHTTP2: Whether it takes HTTP/2 where that is offered (ALPN).
  init(_ version: Version, speaksHTTP2: Bool = false) throws {
    folder = try Self.folder.get()
    guard let context = SSL_CTX_new(TLS_server_method()) else { throw Failure() }
    self.context = context
    let number = Int(version.rawValue)
    guard SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, number, nil) == 1,
      SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, number, nil) == 1,
      SSL_CTX_use_certificate_chain_file(context, folder.certificate) == 1,
      SSL_CTX_use_PrivateKey_file(context, folder.key, SSL_FILETYPE_PEM) == 1
    else { throw Failure() }
    if speaksHTTP2 {
      SSL_CTX_set_alpn_select_cb(
        context,
        { _, name, length, offered, offeredLength, _ in
          // The choice points into the client's list, which outlives this call.
          var index = 0
          while let offered, index < Int(offeredLength) {
            let size = Int(offered[index])
            if size == 2, offered[index + 1] == UInt8(ascii: "h"), offered[index + 2] == 0x32 {
              name?.pointee = offered + index + 1
              length?.pointee = 2
              return SSL_TLSEXT_ERR_OK
            }
            index += size + 1
          }
          return SSL_TLSEXT_ERR_NOACK
        }, nil)
    }
    SSL_CTX_set_msg_callback(context) { isSent, _, type, bytes, count, _, owner in
      let newSessionTicket: UInt8 = 4
      guard isSent == 1, type == SSL3_RT_HANDSHAKE, count > 0, let owner,
        bytes?.load(as: UInt8.self) == newSessionTicket
      else { return }
      Unmanaged<RawTLS>.fromOpaque(owner).takeUnretainedValue()
        .tickets.add(1, ordering: .sequentiallyConsistent)
    }
    SSL_CTX_ctrl(
      context, SSL_CTRL_SET_MSG_CALLBACK_ARG, 0, Unmanaged.passUnretained(self).toOpaque())
  }

  deinit { SSL_CTX_free(context) }

  /// OpenSSL would not have it.
  struct Failure: Error {}

  /// One connection's session; used by its thread alone.
  final class Session {
    private let tls: RawTLS
    private let ssl: OpaquePointer?

    /// Shakes hands; blocks.
    init(_ tls: RawTLS, socket: Int32) {
      // OpenSSL writes without MSG_NOSIGNAL, and a peer may be gone.
      Signals.block([SIGPIPE])
      self.tls = tls
      ssl = SSL_new(tls.context)
      SSL_set_fd(ssl, socket)
      SSL_accept(ssl)
    }

    deinit { SSL_free(ssl) }

    /// Whether HTTP/2 was settled on.
    var speaksHTTP2: Bool {
      var name: UnsafePointer<UInt8>?
      var count: UInt32 = 0
      SSL_get0_alpn_selected(ssl, &name, &count)
      return count == 2
    }

    func read(into buffer: inout [UInt8]) -> Int {
      Int(SSL_read(ssl, &buffer, Int32(buffer.count)))
    }

    /// Writes all in one record, as far as one holds it.
    func write(_ bytes: [UInt8]) -> Bool {
      SSL_write(ssl, bytes, Int32(bytes.count)) == Int32(bytes.count)
    }

    /// Sends a session ticket now (TLS 1.3).
    func sendTicket() {
      SSL_new_session_ticket(ssl)
      SSL_do_handshake(ssl)
    }
  }
}
