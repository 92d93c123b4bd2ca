import COpenSSL

// Sound: certificates do not change once they were read, and their references are counted
// atomically, as are those of the list's elements (openssl-threads(7)).
/// A client's verified certificate, with the certificates it sent to vouch for it.
///
/// They are enough to verify it again later, against other authorities and revocation lists.
package final class PeerChain: @unchecked Sendable {
  private let certificate: Certificate
  /// The further certificates that the client sent; nil for none.
  private let others: OpaquePointer?

  /// The identity in the certificate.
  package let says: PeerCertificate

  init(_ certificate: Certificate, others: OpaquePointer?, validUntilSeconds: Int64) {
    self.certificate = certificate
    self.others = others.flatMap { X509_chain_up_ref($0) }
    says = certificate.peer(validUntilSeconds: validUntilSeconds)
  }

  deinit { waystation_certificates_free(others) }

  /// The reason that a context's authorities and lists do not accept it now, in OpenSSL's words;
  /// nil if they do.
  ///
  /// It is verified by the rules of a handshake, and by this machine's clock. May be called from
  /// any thread.
  package func refusal(by context: TLSContext) -> String? {
    guard let verification = X509_STORE_CTX_new() else {
      preconditionFailure("X509_STORE_CTX_new failed")
    }
    defer {
      X509_STORE_CTX_free(verification)
      OpenSSLErrors.clear()
    }
    OpenSSLErrors.clear()
    guard
      X509_STORE_CTX_init(
        verification, SSL_CTX_get_cert_store(context.pointer), certificate.pointer, others) == 1
    else { preconditionFailure("X509_STORE_CTX_init: \(OpenSSLErrors.takeReason())") }
    // As in a server's handshake: for clients' certificates, by the context's own rules.
    let isPrepared =
      X509_STORE_CTX_set_default(verification, "ssl_client") == 1
      && X509_VERIFY_PARAM_set1(
        X509_STORE_CTX_get0_param(verification), SSL_CTX_get0_param(context.pointer)) == 1
    precondition(isPrepared, "the rules of verification cannot be set")
    X509_VERIFY_PARAM_set_auth_level(
      X509_STORE_CTX_get0_param(verification), SSL_CTX_get_security_level(context.pointer))
    if X509_verify_cert(verification) == 1 { return nil }
    let code = X509_STORE_CTX_get_error(verification)
    return X509_verify_cert_error_string(Int(code)).map { String(cString: $0) } ?? "error \(code)"
  }
}
