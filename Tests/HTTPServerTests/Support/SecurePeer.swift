import COpenSSL
import Cryptography
import EventLoop
import Foundation
import Glibc
import HTTPServer
import RelayCore

/// A server with one loop, which listens with TLS and without.
struct SecureServer {
  let loop: EventLoop
  let server: HTTPServer
  let secure: SocketAddress
  let plain: SocketAddress
  private let files: PairFiles

  init(
    _ limits: HTTPLimits = HTTPLimits(),
    handler: @escaping @Sendable (HTTPRequest) async -> HTTPResponse = TestServer.echo
  ) throws {
    loop = try EventLoop(name: "test")
    files = try PairFiles()
    server = HTTPServer(
      limits: limits, loops: [loop], handler: TestServer.Handler(body: handler))
    let context = try TLSContext(
      loading: TLSSettings(certificate: files.certificate, key: files.key))
    guard
      case .tcp(let secure) = try server.bind(
        .tcp(.loopback(port: 0)), number: 1, tls: TLSCredentials(context)),
      case .tcp(let plain) = try server.bind(.tcp(.loopback(port: 0)), number: 0)
    else { throw SecurePeer.Failure(description: "no address") }
    self.secure = secure
    self.plain = plain
  }

  func stop() async {
    await server.drain(until: MonotonicClock.now().adding(milliseconds: 2000))
    loop.stop()
  }
}

/// A certificate that signs itself, and its key.
private final class PairFiles: Sendable {
  private let path = NSTemporaryDirectory() + "waystation-pair-\(UUID().uuidString)"
  var certificate: String { path + "/certificate.pem" }
  var key: String { path + "/key.pem" }

  init() throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
      "-days", "2", "-subj", "/CN=relay", "-keyout", key, "-out", certificate,
    ]
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw SecurePeer.Failure(description: "openssl req failed")
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}

// Sound: each peer is used by one test's one task, on one thread after the other.
/// The client's side of a TLS 1.3 connection, over a socket that blocks.
///
/// It can do what no honest client does.
final class SecurePeer: @unchecked Sendable {
  /// Something that a test takes for granted did not work.
  struct Failure: Error, CustomStringConvertible { let description: String }

  private let number: Int32
  private let ssl: OpaquePointer

  /// Connects and shakes hands; blocks.
  init(to address: SocketAddress) throws {
    number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var place = sockaddr_in()
    place.sin_family = sa_family_t(AF_INET)
    place.sin_port = address.port.bigEndian
    place.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let descriptor = number
    let status = withUnsafePointer(to: &place) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0, let context = SSL_CTX_new(TLS_client_method()),
      let ssl = SSL_new(context)
    else { throw Failure(description: "cannot connect") }
    SSL_CTX_free(context)
    self.ssl = ssl
    SSL_set_fd(ssl, number)
    guard SSL_connect(ssl) == 1 else { throw Failure(description: "no handshake") }
  }

  deinit {
    SSL_free(ssl)
    close(number)
  }

  /// Makes records without sending them: so many changes of keys, before each byte of a text.
  func records(_ text: String, keyChangesBeforeEach count: Int) throws -> [UInt8] {
    guard let memory = BIO_new(BIO_s_mem()), let wire = SSL_get_wbio(ssl) else {
      throw Failure(description: "no memory")
    }
    BIO_up_ref(wire)
    SSL_set0_wbio(ssl, memory)
    for byte in text.utf8 {
      for _ in 0..<count {
        SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED)
        SSL_do_handshake(ssl)
      }
      var byte = byte
      SSL_write(ssl, &byte, 1)
    }
    var bytes = [UInt8](repeating: 0, count: BIO_ctrl_pending(memory))
    BIO_read(memory, &bytes, Int32(bytes.count))
    SSL_set0_wbio(ssl, wire)
    return bytes
  }

  /// Sends bytes as they are, past TLS; blocks.
  ///
  /// - Returns: False where the other end has gone.
  func sendRaw(_ bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { return false }
      sent += count
    }
    return true
  }

  func write(_ text: String) { SSL_write(ssl, text, Int32(text.utf8.count)) }

  /// Reads to the end, and ends this side, which the server waits for; blocks.
  ///
  /// - Returns: What came, and whether the end was announced (`close_notify`).
  func readToEnd() -> (text: String, isAnnounced: Bool) {
    var all: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = SSL_read(ssl, &piece, Int32(piece.count))
      if count > 0 {
        all += piece[..<Int(count)]
        continue
      }
      let isAnnounced = SSL_get_error(ssl, count) == SSL_ERROR_ZERO_RETURN
      shutdown(number, Int32(SHUT_WR))
      return (String(decoding: all, as: UTF8.self), isAnnounced)
    }
  }
}

/// Runs what blocks on a thread of its own.
func onThread<Result: Sendable>(
  _ work: @escaping @Sendable () throws -> Result
) async throws -> Result {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: .init(catching: work)) }
  }
}
