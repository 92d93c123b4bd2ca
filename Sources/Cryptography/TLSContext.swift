import COpenSSL
import Synchronization

/// A server's certificate, key and rules, loaded and checked, from which TLS sessions are made.
///
/// In all settings there is no renegotiation, no compression, no early data, and no session
/// resumption. So there are no ticket keys to be kept secret and changed, and each connection's
/// client certificate is verified against the present authorities and lists.
///
/// Sound: `@unchecked Sendable`, since nothing changes an `SSL_CTX` after its initialiser, its
/// references are counted atomically, and any thread may make sessions from it
/// (openssl-threads(7)).
package final class TLSContext: @unchecked Sendable {
  /// The suites for TLS 1.2: forward secrecy and AEAD only (RFC 9325 section 4.2), as TLS 1.3 has
  /// anyway.
  private static let suites = "ECDHE+AESGCM:ECDHE+CHACHA20"
  /// At least 112 bits of security, so no RSA key below 2048 bits (SSL_CTX_set_security_level(3)).
  private static let securityLevel: Int32 = 2
  /// The most authorities between a client's certificate and a root.
  private static let chainLengthMax: Int32 = 8

  let pointer: OpaquePointer
  /// The certificate's own facts.
  package let facts: CertificateFacts
  /// The time by which the first of the revocation lists has to be renewed, in seconds since the
  /// Unix epoch; nil if there is no list.
  ///
  /// After that, clients of its authority are turned away.
  package let revocationsDueSeconds: Int64?
  /// Whether users other than the key file's owner and group may read it.
  package let isKeyReadableByEveryone: Bool

  /// Reads the files, and checks that they fit together.
  ///
  /// It does not look at the clock: an expired certificate is loaded, and its ``facts`` say so.
  ///
  /// - Throws: The fault, and the file that has it.
  package init(loading settings: TLSSettings) throws(TLSLoadError) {
    let chain = try PEMFile(reading: settings.certificate)
    let certificates = try chain.certificates()
    let keyFile = try PEMFile(reading: settings.key)
    facts = certificates[0].facts
    isKeyReadableByEveryone = keyFile.isReadableByEveryone
    // Fails only when memory has run out, which nothing can mend.
    guard let pointer = SSL_CTX_new(TLS_server_method()) else {
      preconditionFailure("SSL_CTX_new: \(OpenSSLErrors.takeReason())")
    }
    self.pointer = pointer
    let lists = try Self.revocationLists(settings)
    revocationsDueSeconds = lists.compactMap(\.dueSeconds).min()
    Self.setRules(pointer, settings)
    try Self.use(certificates, of: chain, in: pointer)
    try Self.use(keyFile, with: chain, in: pointer)
    if let clients = settings.clients { try Self.verify(clients, lists, in: pointer) }
  }

  deinit { SSL_CTX_free(pointer) }

  private static func setRules(_ pointer: OpaquePointer, _ settings: TLSSettings) {
    waystation_tls_harden(pointer)
    SSL_CTX_set_security_level(pointer, securityLevel)
    let oldest = settings.oldestVersion == .tls13 ? TLS1_3_VERSION : TLS1_2_VERSION
    let status = waystation_tls_set_oldest_version(pointer, oldest)
    precondition(status == 1, "OpenSSL was built without TLS 1.2 or 1.3")
    precondition(SSL_CTX_set_cipher_list(pointer, suites) == 1, "OpenSSL has none of the suites")
    SSL_CTX_set_alpn_select_cb(
      pointer,
      { _, chosen, length, offered, count, _ in ALPN.select(chosen, length, offered, count) },
      nil)
  }

  /// Sets the certificate that is shown, and its chain.
  static func use(
    _ certificates: [Certificate], of file: PEMFile, in pointer: OpaquePointer
  ) throws(TLSLoadError) {
    OpenSSLErrors.clear()
    guard SSL_CTX_use_certificate(pointer, certificates[0].pointer) == 1 else {
      throw file.failure("its certificate cannot be used: \(OpenSSLErrors.takeReason())")
    }
    for certificate in certificates.dropFirst() {
      guard waystation_tls_add_to_chain(pointer, certificate.pointer) == 1 else {
        throw file.failure("its chain cannot be used: \(OpenSSLErrors.takeReason())")
      }
    }
  }

  /// Sets the key of the certificate that was set before.
  static func use(
    _ file: PEMFile, with chain: PEMFile, in pointer: OpaquePointer
  ) throws(TLSLoadError) {
    let key = try file.privateKey()
    defer { EVP_PKEY_free(key) }
    guard X509_check_private_key(SSL_CTX_get0_certificate(pointer), key) == 1 else {
      OpenSSLErrors.clear()
      throw file.failure(
        "is not the key of the first certificate in \(chain.path); name the pair that belongs"
          + " together")
    }
    guard SSL_CTX_use_PrivateKey(pointer, key) == 1 else {
      throw file.failure("its key cannot be used: \(OpenSSLErrors.takeReason())")
    }
  }

  private static func revocationLists(
    _ settings: TLSSettings
  ) throws(TLSLoadError) -> [RevocationList] {
    guard let path = settings.clients?.revocations else { return [] }
    return try PEMFile(reading: path).revocationLists()
  }

  private static func verify(
    _ clients: TLSSettings.Clients, _ lists: [RevocationList], in pointer: OpaquePointer
  ) throws(TLSLoadError) {
    let store = SSL_CTX_get_cert_store(pointer)
    let file = try PEMFile(reading: clients.authorities)
    for authority in try file.certificates() {
      guard X509_STORE_add_cert(store, authority.pointer) == 1,
        SSL_CTX_add_client_CA(pointer, authority.pointer) == 1
      else {
        throw file.failure("its certificates cannot be used: \(OpenSSLErrors.takeReason())")
      }
    }
    _ = waystation_tls_trust_partial_chains(pointer)
    for list in lists where X509_STORE_add_crl(store, list.pointer) != 1 {
      throw TLSLoadError(
        path: clients.revocations ?? "",
        reason: "its lists cannot be used: \(OpenSSLErrors.takeReason())")
    }
    if !lists.isEmpty { _ = waystation_tls_check_revocation(pointer) }
    SSL_CTX_set_verify_depth(pointer, chainLengthMax)
    let mode =
      clients.isRequired ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT : SSL_VERIFY_PEER
    SSL_CTX_set_verify(pointer, mode, nil)
  }
}

/// The application protocol, chosen in the handshake (RFC 7301).
private enum ALPN {
  /// `http/1.1` without its length byte.
  private static let http11 = Array("http/1.1".utf8)

  /// Chooses HTTP/1.1, or ends the handshake with `no_application_protocol` if only other protocols
  /// are offered.
  ///
  /// It is not called if the client offers no protocol at all.
  static func select(
    _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ length: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?, _ count: UInt32
  ) -> Int32 {
    guard let offered else { return SSL_TLSEXT_ERR_ALERT_FATAL }
    let list = UnsafeBufferPointer(start: offered, count: Int(count))
    var start = 0
    while start < list.count {
      let end = start + 1 + Int(list[start])
      // OpenSSL has checked the list's form; a length that leads beyond it is not trusted anyway.
      guard end <= list.count else { break }
      if list[(start + 1)..<end].elementsEqual(http11) {
        chosen?.pointee = offered + start + 1
        length?.pointee = UInt8(http11.count)
        return SSL_TLSEXT_ERR_OK
      }
      start = end
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL
  }
}

/// The context for new sessions; replaced as a whole when a certificate is renewed.
///
/// Existing sessions keep theirs to their end; their certificates can be verified again
/// (``PeerChain/refusal(by:)``).
package final class TLSCredentials: Sendable {
  private let context: Mutex<TLSContext>

  /// Starts with a context.
  package init(_ context: TLSContext) { self.context = Mutex(context) }

  /// The present context.
  package var current: TLSContext { context.withLock { $0 } }

  /// Makes new sessions use another context; may be called from any thread.
  package func replace(with context: TLSContext) { self.context.withLock { $0 = context } }
}
